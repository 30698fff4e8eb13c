/** Crew: the agents and their families, and the details of one (`?agent=ID`). */
import { useMemo } from "preact/hooks";
import { api, type Agent, data } from "../../api/client";
import { useResource } from "../../api/resource";
import { useStatus } from "../../api/status";
import { isReplay } from "../../moment";
import { param, setParams } from "../../router";
import { moveFocus } from "../../ui/keys";
import { AgentName, Badge, Empty, Panel, Show } from "../../ui/parts";
import { TaskName } from "../../ui/task";
import { type CrewMember, useCrew, withMembers } from "./data";
import { AgentDetails } from "./details";
import { MemberBadge, MemberLine } from "./member";
import { Ago, ContextBar, place, StatusBadge } from "./parts";
import { SupervisorPanel } from "./supervisor";
import { familyOf, hasEnded, matches, type Relative } from "./tree";

const MOST = 300;
const NONE: CrewMember[] = [];

export function CrewView() {
  const ended = param("ended") === "yes";
  const load = () => data(api.GET("/api/v1/agents", { params: { query: { all: ended, limit: 1000 } } }));
  const crew = useResource(`agents ${ended}`, load, { on: ["agent", "status", "lock", "progress"], every: 5 });
  const chosen = param("agent");
  const live = !isReplay.value;
  const status = useStatus();
  const members = useCrew(ended).data?.members ?? NONE;
  return (
    <div class={`crew ${chosen ? "with-details" : ""}`} onKeyDown={(event) => event.key === "Escape" && setParams({ agent: "" })}>
      <h1 class="visually-hidden">Crew</h1>
      <div class="crew-main">
        {live && <SupervisorPanel />}
        <Show<{ agents: Agent[] }> of={live ? crew : status}>{({ agents }) => <CrewPanel agents={agents} members={live ? members : NONE} chosen={chosen} />}</Show>
      </div>
      {chosen && <AgentDetails key={chosen} id={chosen} live={live} />}
    </div>
  );
}

function CrewPanel({ agents: joined, members, chosen }: { agents: Agent[]; members: CrewMember[]; chosen: string }) {
  const search = param("q");
  const agents = useMemo(() => withMembers(joined, members), [joined, members]);
  const shown = useMemo(() => familyOf(agents), [agents]).filter(({ agent }) => matches(agent, search));
  const run = new Map(members.map((one) => [one.agent, one]));
  const actions = (
    <div class="crew-tools">
      <input type="search" placeholder="Search agents" aria-label="Search agents" value={search} onInput={(event) => setParams({ q: event.currentTarget.value })} />
      <label>
        <input type="checkbox" checked={param("ended") === "yes"} onChange={(event) => setParams({ ended: event.currentTarget.checked ? "yes" : "" })} /> Show ended agents
      </label>
    </div>
  );
  return (
    <Panel title="Agents" count={agents.length} actions={actions}>
      {shown.length > 0 && (
        <ul class="crew-list" onKeyDown={(event) => moveFocus(event, ".crew-row a.agent")}>
          <li class="crew-head" aria-hidden="true">
            <span>Agent</span>
            <span>Status</span>
            <span>Context used</span>
            <span>Claims</span>
            <span>Last seen</span>
            <span class="crew-place">Runs on</span>
          </li>
          {shown.slice(0, MOST).map(({ agent, depth }) => (
            <AgentRow key={agent.id} agent={agent} depth={depth} member={run.get(agent.id)} chosen={agent.id === chosen} />
          ))}
        </ul>
      )}
      {shown.length > MOST && <p class="muted">and {shown.length - MOST} more: search for one</p>}
      {!agents.length ? (
        <Empty title="No agents yet" command="dibs init">
          Connect your coding agents with this command. Each agent appears here with its first action.
        </Empty>
      ) : (
        !shown.length && <p class="muted">No agent matches “{search}”.</p>
      )}
    </Panel>
  );
}

function AgentRow({ agent, depth, member, chosen }: Relative & { member: CrewMember | undefined; chosen: boolean }) {
  const task = member?.task ?? agent.task;
  return (
    <li class={`crew-row ${chosen ? "chosen" : ""} ${hasEnded(agent) ? "ended" : ""}`} style={{ "--depth": Math.min(depth, 6) }} data-agent={agent.id}>
      <div class="crew-who">
        <div>
          <AgentName id={agent.id} />
          <p class="muted">
            {depth > 0 && <span class="visually-hidden">subagent of {agent.parent}, </span>}
            {[agent.role, agent.model].filter(Boolean).join(" · ")}
          </p>
        </div>
        {task && (
          <p>
            <TaskName id={task} />
          </p>
        )}
      </div>
      <div>
        {member ? <MemberBadge member={member} /> : <StatusBadge agent={agent} />}
        {agent.guarded && <Badge tone="info">guarded</Badge>}
      </div>
      <div data-label="Context used">
        <ContextBar share={member?.context ?? agent.context} />
      </div>
      <div data-label="Claims">{agent.claims}</div>
      <div data-label="Last seen">
        <Ago at={agent.last_seen} />
      </div>
      <div class="crew-place muted">{place(agent)}</div>
      {member && <MemberLine member={member} />}
    </li>
  );
}
