/** Guards: which agents Dibs can block, what they wrote unguarded, and everything that `dibs doctor` finds. */
import { api, data } from "../../api/client";
import { useResource } from "../../api/resource";
import { useRights } from "../../api/rights";
import { ask } from "../../ui/actions";
import { AgentName, Age, Badge, Empty, Panel, Show } from "../../ui/parts";
import { counted } from "../../ui/text";
import { found } from ".";
import { type Finding, Findings } from "./findings";

type Hook = { event: string; file: string; refuses: boolean };
type Setup = { agent: string; installed: boolean; version: string | null; hooks: Hook[]; mcp: string[]; guarded: string; accepted: string | null; note: string };
type Member = { agent: string; guarded: string | boolean | null; unguarded_writes: number; last_write: number | null; refused: number; foreign: number };

export function GuardsPanel() {
  const { human, why } = useRights();
  const doctor = useResource("doctor", () => data(api.GET("/api/v1/doctor")), { on: [], every: 120 });
  const repair = () =>
    ask({
      title: "Repair what can be repaired?",
      text: "Dibs repairs its own files, hooks, and store. It changes none of your work.",
      button: "Repair",
      run: async () => {
        await api.POST("/api/v1/doctor", {});
        doctor.refresh();
      },
      done: "Repaired what can be repaired",
    });
  const actions = (
    <button type="button" disabled={!human} title={why} onClick={repair}>
      Repair
    </button>
  );
  return (
    <>
      <Panel title="Problems" actions={actions}>
        <Show of={doctor}>
          {(shown) => (
            <>
              <p>
                <Badge tone={shown.well ? "good" : "bad"}>{shown.well ? "healthy" : "needs attention"}</Badge>
              </p>
              <Findings findings={shown.findings as Finding[]} />
              <p class="muted">
                To test that every guard blocks, run <code>dibs doctor --prove</code>.
              </p>
            </>
          )}
        </Show>
      </Panel>
      <Show of={doctor}>
        {(shown) => (
          <>
            <Crew crew={shown.crew as Member[]} />
            <Agents agents={shown.agents as Setup[]} />
          </>
        )}
      </Show>
    </>
  );
}

function Crew({ crew }: { crew: readonly Member[] }) {
  return (
    <Panel title="Agents in this project" count={crew.length}>
      {crew.length === 0 && <p class="muted">No agent has written anything yet.</p>}
      <ul class="rows">
        {crew
          .filter((one) => found(one.agent))
          .map((one) => (
            <li key={one.agent} class="guard-row">
              <AgentName id={one.agent} />
              <GuardState guarded={one.guarded} />
              <span class="muted">
                {counted(one.unguarded_writes, "unguarded write")} · {one.refused} blocked · {one.foreign} in files of others
                {one.last_write && (
                  <>
                    {" "}
                    · last write <Age at={one.last_write} />
                  </>
                )}
              </span>
            </li>
          ))}
      </ul>
    </Panel>
  );
}

function Agents({ agents }: { agents: readonly Setup[] }) {
  return (
    <Panel title="Coding agents on this machine" count={agents.length}>
      {agents.length === 0 && (
        <Empty title="No coding agent is set up" command="dibs init">
          To install the guards into the agents that you use, run:
        </Empty>
      )}
      <ul class="rows">
        {agents
          .filter((one) => found(one.agent, one.note))
          .map((one) => (
            <li key={one.agent} class="guard-row">
              <strong>{one.agent}</strong> <span class="muted">{one.installed ? (one.version ?? "") : "not installed"}</span>
              <GuardState guarded={one.guarded} />
              <span class="muted">
                {counted(one.hooks.length, "hook")}{one.accepted ? ` · accepted: ${one.accepted}` : ""} {one.note && `· ${one.note}`}
              </span>
            </li>
          ))}
      </ul>
    </Panel>
  );
}

function GuardState({ guarded }: { guarded: string | boolean | null }) {
  const words = guarded === true ? "guarded" : guarded === false ? "not guarded" : (guarded ?? "unknown");
  return <Badge tone={/^(guarded|yes|full)/.test(words) ? "good" : words === "unknown" ? "neutral" : "warn"}>{words}</Badge>;
}
