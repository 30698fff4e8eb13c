/** One agent: its claims, what it lost, what it did, its messages, and what to do with it. */
import { api, data, type Agent, type Answer, type Schemas } from "../../api/client";
import { type Loaded, useResource } from "../../api/resource";
import { useRights } from "../../api/rights";
import { useStatus } from "../../api/status";
import { href, Link, setParams } from "../../router";
import { ask } from "../../ui/actions";
import { AgentName, Age, FilePath, Panel, Show } from "../../ui/parts";
import { TaskName } from "../../ui/task";
import { deed } from "../now/activity";
import { ClaimLine } from "../now/lane";
import { type CrewMember, isOver, useCrew } from "./data";
import { Crashes, MemberBadge, MemberButtons, MemberFacts } from "./member";
import { Output } from "./output";
import { ContextBar, place, StatusBadge } from "./parts";
import { hasEnded } from "./tree";

type Shown = Answer<"/api/v1/agents/{id}">;
const CLAIMS = 50;
const ROWS = 20;

const close = () => setParams({ agent: "" });

export function AgentDetails({ id, live }: { id: string; live: boolean }) {
  const button = (
    <button type="button" class="plain" aria-label="Close" onClick={close}>
      ×
    </button>
  );
  return (
    <Panel title={id} actions={button} class="agent-details">
      {live ? <Present id={id} /> : <Past id={id} />}
    </Panel>
  );
}

function Present({ id }: { id: string }) {
  const load = () => data(api.GET("/api/v1/agents/{id}", { params: { path: { id } } }));
  const shown = useResource(`agent ${id}`, load, { on: ["lock", "agent", "status", "release", "progress"], every: 10 });
  const live = useCrew().data?.members.find((one) => one.agent === id);
  const ended = shown.data !== undefined && !live && hasEnded(shown.data.agent);
  return ended ? <EndedAgent id={id} shown={shown} /> : <ShownAgent id={id} shown={shown} member={live} />;
}

type AgentProps = { id: string; shown: Loaded<Shown>; member?: CrewMember | undefined };

/** An agent that ended: Dibs may have run it. */
function EndedAgent({ id, shown }: AgentProps) {
  return <ShownAgent id={id} shown={shown} member={useCrew(true).data?.members.find((one) => one.agent === id)} />;
}

function ShownAgent({ id, shown, member }: AgentProps) {
  return (
    <>
      <Show of={shown}>
        {(found) => (
          <>
            <Facts agent={found.agent} member={member} />
            <Actions found={found} member={member} />
          </>
        )}
      </Show>
      {member ? (
        <>
          <Output id={id} />
          <Crashes id={id} />
        </>
      ) : (
        <p class="muted small-text">Dibs does not run this agent, so it cannot restart it or show its output.</p>
      )}
      {shown.data && (
        <>
          <Claims found={shown.data} />
          <Lost lost={shown.data.lost} />
        </>
      )}
      <Entries id={id} />
      <Messages id={id} />
    </>
  );
}

/** The agent at the replayed moment, as far as the ledger knows it. */
function Past({ id }: { id: string }) {
  return (
    <Show of={useStatus()}>
      {({ agents, claims, queue }) => {
        const agent = agents.find((one) => one.id === id);
        if (!agent) return <p class="muted">This agent did not run then.</p>;
        return (
          <>
            <Facts agent={agent} />
            <Claims found={{ claims: claims.filter((one) => one.agent === id), queue: queue.filter((one) => one.agent === id) }} />
          </>
        );
      }}
    </Show>
  );
}

function Facts({ agent, member }: { agent: Agent; member?: CrewMember | undefined }) {
  const task = member?.task ?? agent.task;
  return (
    <dl class="facts-list">
      <dt>Status</dt>
      <dd>
        {member ? <MemberBadge member={member} /> : <StatusBadge agent={agent} />} {agent.ended && <span class="muted">{agent.ended}</span>}
      </dd>
      {task && (
        <>
          <dt>Task</dt>
          <dd>
            <TaskName id={task} />
          </dd>
        </>
      )}
      <dt>Role</dt>
      <dd>{[agent.role, agent.model].filter(Boolean).join(" · ")}</dd>
      <dt>Context</dt>
      <dd>
        <ContextBar share={member?.context ?? agent.context} />
      </dd>
      {member && <MemberFacts member={member} />}
      {agent.parent && (
        <>
          <dt>Parent</dt>
          <dd>
            <AgentName id={agent.parent} />
          </dd>
        </>
      )}
      <dt>Runs on</dt>
      <dd>{place(agent) || "unknown"}</dd>
      <dt>Guarded by</dt>
      <dd>{agent.guarded ? `hooks (${agent.guarded})` : "nothing: no hook blocks its edits"}</dd>
      <dt>Started</dt>
      <dd>
        <Age at={agent.started} />
      </dd>
      <dt>Last seen</dt>
      <dd>
        <Age at={agent.last_seen} />
      </dd>
    </dl>
  );
}

function Actions({ found: { agent, claims }, member }: { found: Shown; member?: CrewMember | undefined }) {
  const { act: acts, human, why } = useRights();
  if (!acts) return <p class="muted">{why}</p>;
  const { id } = agent;
  const params = { path: { id } };
  const message = () =>
    ask({
      title: `Message to ${id}`,
      fields: [{ name: "text", label: "Text", required: true, multiline: true }],
      button: "Send",
      run: ({ text = "" }) => api.POST("/api/v1/messages", { body: { to: id, text } }),
      done: `sent to ${id}`,
    });
  const release = () =>
    ask({
      title: `Ask ${id} to release a claim`,
      fields: [
        { name: "pattern", label: "Claim", required: true, choices: claims.map((one) => one.pattern) },
        { name: "note", label: "Why you need it" },
      ],
      button: "Ask",
      run: ({ pattern = "", note = "" }) => api.POST("/api/v1/claims/ask", { body: { patterns: [pattern], note } }),
      done: `asked ${id} to release it`,
    });
  const stop = () =>
    ask({
      title: `Stop ${id}`,
      text: "This ends its session and that of its subagents, and releases their claims. Its process is not killed, and its files stay as they are.",
      fields: [{ name: "reason", label: "Reason" }],
      button: "Stop",
      danger: true,
      run: ({ reason = "" }) => api.POST("/api/v1/agents/{id}/stop", { params, body: { reason } }),
      done: `stopped ${id}`,
    });
  return (
    <div class="buttons">
      <button type="button" class="primary" onClick={message}>
        Message
      </button>
      <button type="button" disabled={!claims.length} title={claims.length ? undefined : "it holds nothing"} onClick={release}>
        Ask to release
      </button>
      {member ? (
        !isOver(member) && <MemberButtons member={member} />
      ) : (
        <button type="button" disabled={hasEnded(agent) || !human} title={human ? undefined : why} onClick={stop}>
          Stop
        </button>
      )}
    </div>
  );
}

function Claims({ found: { claims, queue } }: { found: Pick<Shown, "claims" | "queue"> }) {
  return (
    <>
      <h3>
        Claims <span class="count">{claims.length}</span>
      </h3>
      {!claims.length && <p class="muted">It holds nothing.</p>}
      <ul class="agent-claims">
        {claims.slice(0, CLAIMS).map((claim) => (
          <ClaimLine key={claim.id} claim={claim} />
        ))}
      </ul>
      {claims.length > CLAIMS && (
        <p>
          <Link to={href("/files", { agent: claims[0]?.agent ?? "" })}>and {claims.length - CLAIMS} more</Link>
        </p>
      )}
      {queue.map((ticket) => (
        <p key={ticket.ticket} class="wait-line">
          <span>
            waiting for <span class="path">{ticket.patterns.join(", ")}</span>
          </span>
          <Link to={href("/", { q: ticket.agent })}>Show</Link>
        </p>
      ))}
    </>
  );
}

const WHYS: Record<string, string> = { expired: "expired", revoked: "revoked", transferred: "transferred" };

function Lost({ lost }: { lost: Schemas["lost"][] }) {
  if (!lost.length) return null;
  return (
    <>
      <h3>
        Lost claims <span class="count">{lost.length}</span>
      </h3>
      <ul class="rows">
        {lost.slice(-ROWS).map((one) => (
          <li key={`${one.pattern} ${one.token}`}>
            <FilePath path={one.pattern} /> <span class="muted">{[WHYS[one.why] ?? one.why, one.by && `by ${one.by}`].filter(Boolean).join(" ")}</span> <Age at={one.at} />
            {one.reason && <p class="quote">{one.reason}</p>}
          </li>
        ))}
      </ul>
    </>
  );
}

function Entries({ id }: { id: string }) {
  const log = useResource(`log ${id}`, () => data(api.GET("/api/v1/log", { params: { query: { agent: [id], limit: ROWS } } })), { on: ["lock", "agent", "status", "task", "commit", "message", "file"], every: 15 });
  return (
    <>
      <h3>Recent activity</h3>
      <Show of={log}>
        {({ entries }) => (
          <ul class="rows">
            {entries.map((entry) => (
              <li key={entry.seq}>
                {deed(entry)} <span class="muted small-text"><Age at={entry.at} /></span>
              </li>
            ))}
            {!entries.length && <li class="muted">Nothing in the ledger.</li>}
          </ul>
        )}
      </Show>
      <Link to={href("/ledger", { agent: id })}>All in the ledger</Link>
    </>
  );
}

function Messages({ id }: { id: string }) {
  const { human } = useRights();
  const load = () => data(api.GET("/api/v1/messages", { params: { query: { all: true, limit: 200 } }, headers: { "Dibs-Agent": id } }));
  const inbox = useResource(`messages ${id} ${human}`, async () => (human ? load() : { messages: [] }), { on: ["message", "group"], every: 60 });
  const messages = [...(inbox.data?.messages ?? [])].reverse().slice(0, ROWS);
  if (!messages.length) return null;
  return (
    <>
      <h3>Messages to it</h3>
      <ul class="rows">
        {messages.map((one) => (
          <li key={one.id}>
            {one.sender && <AgentName id={one.sender} />} <span class="muted small-text"><Age at={one.at} />{one.read ? "" : ", not read yet"}</span>
            <p class="quote">{one.text}</p>
          </li>
        ))}
      </ul>
    </>
  );
}
