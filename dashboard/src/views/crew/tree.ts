/** Agents as a family: parents before their subagents. */
import type { Agent } from "../../api/client";

export type Relative = { agent: Agent; depth: number };

/** Return agents in the order of their families, with how deep each one is; a missing parent makes a root. */
export function familyOf(agents: readonly Agent[]): Relative[] {
  const known = new Set(agents.map((one) => one.id));
  const children = new Map<string, Agent[]>();
  for (const agent of [...agents].sort(byName)) {
    const parent = agent.parent && known.has(agent.parent) && agent.parent !== agent.id ? agent.parent : "";
    children.set(parent, [...(children.get(parent) ?? []), agent]);
  }
  const found: Relative[] = [];
  const seen = new Set<string>();
  const add = (agent: Agent, depth: number) => {
    if (seen.has(agent.id)) return;
    seen.add(agent.id);
    found.push({ agent, depth });
    for (const child of children.get(agent.id) ?? []) add(child, depth + 1);
  };
  for (const agent of children.get("") ?? []) add(agent, 0);
  return found;
}

/** People last, agents that ended after the others, then by name. */
function byName(a: Agent, b: Agent): number {
  return group(a) - group(b) || a.id.localeCompare(b.id);
}

function group(agent: Agent): number {
  if (agent.role === "human") return 2;
  return hasEnded(agent) ? 1 : 0;
}

export function hasEnded(agent: Agent): boolean {
  return !["running", "idle"].includes(agent.status);
}

export function matches(agent: Agent, search: string): boolean {
  const words = search.trim().toLowerCase();
  const { id, name, role, model, task, host, status } = agent;
  return !words || [id, name, role, model, task, host, status].some((text) => text.toLowerCase().includes(words));
}
