/** The state of the crew, arranged for this view: lanes, and who waits for whom. No rules: the server decided everything. */
import type { Agent, Schemas, Status } from "../../api/client";

export type Claim = Schemas["held_claim"];
export type Conflict = Schemas["conflict"];
export type Ticket = Status["queue"][number];

/** Seconds without a heartbeat after which the view says that an agent is silent. */
export const SILENT = 60;

/** One agent waits for another: a ticket, and what the other one has in its way. */
export type Wait = { ticket: Ticket; holder: string; conflicts: Conflict[]; queued: boolean };
export type Lane = { agent: Agent; claims: Claim[]; waits: Wait[]; blocks: number };

/** Return all waits, the longest first; a ticket that only waits for its turn is behind earlier tickets. */
export function waitsOf(status: Status): Wait[] {
  const found: Wait[] = [];
  for (const ticket of status.queue) {
    const owners = ticket.blocked_by.filter((one) => !one.waiting);
    const queued = owners.length === 0;
    const between = new Map<string, Conflict[]>();
    for (const one of queued ? ticket.blocked_by : owners) between.set(one.holder, [...(between.get(one.holder) ?? []), one]);
    for (const [holder, conflicts] of between) found.push({ ticket, holder, conflicts, queued });
  }
  return found.sort((a, b) => a.ticket.since - b.ticket.since);
}

/** Return a lane for each agent: first those that wait or block, then those that hold claims, then the others. */
export function lanesOf(status: Status, waits: readonly Wait[]): Lane[] {
  const lanes = new Map<string, Lane>();
  for (const agent of status.agents) lanes.set(agent.id, { agent, claims: [], waits: [], blocks: 0 });
  for (const claim of status.claims) lanes.get(claim.agent)?.claims.push(claim);
  for (const wait of waits) {
    lanes.get(wait.ticket.agent)?.waits.push(wait);
    const owner = lanes.get(wait.holder);
    if (owner) owner.blocks += 1;
  }
  const shown = [...lanes.values()].filter((lane) => lane.agent.role !== "human" || lane.claims.length || lane.waits.length);
  return shown.sort((a, b) => rank(a) - rank(b) || a.agent.id.localeCompare(b.agent.id));
}

function rank(lane: Lane): number {
  if (lane.waits.length) return 0;
  if (lane.blocks) return 1;
  return lane.claims.length ? 2 : 3;
}

/** Return a lane with what matches a search: all of it if the agent matches, else its matching paths; null if nothing does. */
export function matching(lane: Lane, search: string): Lane | null {
  const words = search.trim().toLowerCase();
  if (!words) return lane;
  const { id, name, role, task, model, status } = lane.agent;
  if ([id, name, role, task, model, status].some((text) => text.toLowerCase().includes(words))) return lane;
  const claims = lane.claims.filter((claim) => hasText(words, claim.pattern, claim.reason, claim.task));
  const waits = lane.waits.filter((wait) => hasText(words, wait.holder, wait.ticket.reason, ...wait.ticket.patterns));
  return claims.length || waits.length ? { ...lane, claims, waits } : null;
}

function hasText(words: string, ...texts: string[]): boolean {
  return texts.some((text) => text.toLowerCase().includes(words));
}

/** Return the paths that an agent waits for, as one short text. */
export function pathsText(patterns: readonly string[]): string {
  const [first = "", ...rest] = patterns;
  return rest.length ? `${first} and ${rest.length} more` : first;
}
