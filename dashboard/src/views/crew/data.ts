/** The crew: the agents that Dibs itself starts, restarts, and stops. */
import { type Agent, type Answer, api, data, type Schemas } from "../../api/client";
import { type Loaded, useResource } from "../../api/resource";
import { visible } from "../../ui/text";

export type Crew = Answer<"/api/v1/crew">;
export type CrewMember = Schemas["crew_member"];
export type Crash = Schemas["crew_crash"];

/** Events after which the crew differs; what a runner reports without one is found by loading it again. */
const ON = ["crew", "agent", "status", "task"];
const ENDED = ["stopped", "exited", "failed"];

/** Use the crew, with the agents that ended if `all`. */
export function useCrew(all = false): Loaded<Crew> {
  return useResource(`crew ${all}`, () => data(api.GET("/api/v1/crew", { params: { query: { all } } })), { on: ON, every: 3 });
}

/** Use the crashes of an agent that Dibs runs, the newest first. */
export function useCrashes(id: string): Loaded<Crash[]> {
  const load = async () => (await data(api.GET("/api/v1/crew/{id}", { params: { path: { id } } }))).crashes.reverse();
  return useResource(`crew member ${id}`, load, { on: ["agent"], every: 30 });
}

export function isOver(member: CrewMember): boolean {
  return ENDED.includes(member.state);
}

/** Return the agents with those of the crew that have not joined yet. */
export function withMembers(agents: readonly Agent[], members: readonly CrewMember[]): Agent[] {
  const known = new Set(agents.map((one) => one.id));
  return [...agents, ...members.filter((one) => !known.has(one.agent)).map(agentOf)];
}

function agentOf({ agent: id, role, parent, host, pid, since, task, context }: CrewMember): Agent {
  const times = { started: since, last_seen: since, silent_for: 0 };
  return { id, name: id, role, parent, host, pid, ...times, status: "idle", model: "", task: task ?? "", context, claims: 0, guarded: null, ended: "" };
}

/** Return what an agent printed, as text in which nothing is hidden. */
export function printed(text: string): string {
  return visible(text.replaceAll("\r\n", "\n"), Infinity);
}
