/** An agent that Dibs runs: its state, its restarts and crashes, and the buttons that end it. */
import { api } from "../../api/client";
import { useRights } from "../../api/rights";
import { now, span } from "../../time";
import { ask } from "../../ui/actions";
import { Age, Badge, FilePath, Show } from "../../ui/parts";
import { TaskName } from "../../ui/task";
import { counted, visible } from "../../ui/text";
import { type Crash, type CrewMember, isOver, printed, useCrashes } from "./data";

type Tone = "neutral" | "good" | "warn" | "bad" | "info";
const TONES: Record<string, Tone> = { starting: "info", working: "good", stopping: "warn", crashed: "bad", stopped: "bad", failed: "bad" };

export function MemberBadge({ member: { state } }: { member: CrewMember }) {
  return <Badge tone={TONES[state] ?? "neutral"}>{state}</Badge>;
}

/** Return what is to say about an agent's run, in the order of its importance. */
export function runFacts(member: CrewMember): string[] {
  const { state, since, restarts, restart_at: again, cause, tokens } = member;
  const age = span(now.value - since);
  const time = isOver(member) ? `${state} ${age} ago` : `${state} for ${age}`;
  return [
    again && state === "crashed" ? `starts again in ${span(again - now.value)}` : time,
    restarts ? counted(restarts, "restart") : "",
    cause && `${["exited", "failed"].includes(state) ? "reason" : "last crash"}: ${visible(cause)}`,
    tokens ? counted(tokens, "token") : "",
  ].filter(Boolean);
}

/** The second line of an agent's row. */
export function MemberLine({ member }: { member: CrewMember }) {
  return (
    <div class="crew-run">
      <p class="muted">{runFacts(member).join(" · ")}</p>
      {!isOver(member) && (
        <div class="buttons">
          <MemberButtons member={member} small="small" />
        </div>
      )}
    </div>
  );
}

export function MemberButtons({ member: { agent, state }, small = "" }: { member: CrewMember; small?: string }) {
  const { act, human, why } = useRights();
  const stopping = state === "stopping";
  const stop = () =>
    ask({
      title: `Stop ${agent}`,
      text: "This ends its processes and those of its subagents, then releases their claims. Its work stays in its working tree. Its task returns to the board, where another agent may take it.",
      fields: [{ name: "reason", label: "Reason" }],
      button: "Stop",
      danger: true,
      run: ({ reason = "" }) => api.POST("/api/v1/crew/stop", { body: { agents: [agent], reason } }),
      done: `stopping ${agent}`,
    });
  const restart = () =>
    ask({
      title: `Restart ${agent}`,
      text: "This ends its processes and starts it again with the same task, claims, and working tree. Its subagents go on.",
      fields: [{ name: "reason", label: "Reason" }],
      button: "Restart",
      run: ({ reason = "" }) => api.POST("/api/v1/crew/restart", { body: { agents: [agent], reason } }),
      done: `restarting ${agent}`,
    });
  return (
    <>
      <button type="button" class={small} disabled={!act || stopping} title={act ? undefined : why} aria-label={`Stop ${agent}`} onClick={stop}>
        Stop
      </button>
      <button type="button" class={small} disabled={!human || stopping} title={human ? undefined : why} aria-label={`Restart ${agent}`} onClick={restart}>
        Restart
      </button>
    </>
  );
}

export function MemberFacts({ member: { restarts, cause, tokens, tree, branch } }: { member: CrewMember }) {
  return (
    <>
      <dt>Restarts</dt>
      <dd>{restarts}</dd>
      {cause && (
        <>
          <dt>Last crash</dt>
          <dd>{visible(cause)}</dd>
        </>
      )}
      {tokens > 0 && (
        <>
          <dt>Tokens</dt>
          <dd>{tokens.toLocaleString()}</dd>
        </>
      )}
      {tree && (
        <>
          <dt>Works in</dt>
          <dd>
            <span class="path">{visible(tree, 4096)}</span> {branch && <span class="muted">branch {visible(branch)}</span>}
          </dd>
        </>
      )}
    </>
  );
}

export function Crashes({ id }: { id: string }) {
  const crashes = useCrashes(id);
  return (
    <Show of={crashes}>
      {(found) =>
        found.length > 0 && (
          <>
            <h3>
              Crashes <span class="count">{found.length}</span>
            </h3>
            <ul class="rows crashes">
              {found.map((crash) => (
                <CrashLine key={crash.at} crash={crash} />
              ))}
            </ul>
          </>
        )
      }
    </Show>
  );
}

function CrashLine({ crash: { at, cause, tasks, claims, output } }: { crash: Crash }) {
  const patterns = claims.filter((pattern) => !tasks.some((task) => pattern === `task:${task}`));
  return (
    <li>
      <strong>{visible(cause)}</strong> <span class="muted small-text"><Age at={at} /></span>
      {tasks.length + patterns.length > 0 && (
        <p>
          It held{" "}
          {tasks.map((task) => (
            <span key={task}>
              <TaskName id={task} />{" "}
            </span>
          ))}
          {patterns.map((pattern) => (
            <span key={pattern}>
              <FilePath path={pattern} />{" "}
            </span>
          ))}
        </p>
      )}
      {output && (
        <details>
          <summary>Last output</summary>
          <pre>{printed(output)}</pre>
        </details>
      )}
    </li>
  );
}
