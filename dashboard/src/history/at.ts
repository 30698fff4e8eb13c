/** The state of the crew at a moment: the spans that contain it. */
import type { Status } from "../api/client";
import type { AgentSpan, ClaimSpan, History, TaskSpan, WaitSpan } from "./types";

const contains = (one: { begin: number; end: number | null }, at: number): boolean => one.begin <= at && (one.end === null || one.end > at);

let last: { history: History; at: number; status: Status } | null = null;

/** Return the status at a moment, the same object for the same moment. What the ledger does not record is empty. */
export function statusAt(history: History, at: number): Status {
  if (last?.history !== history || last.at !== at) last = { history, at, status: filtered(history, at) };
  return last.status;
}

function filtered(history: History, at: number): Status {
  const held = history.claims.filter((one) => contains(one, at));
  const agents = new Map<string, AgentSpan>();
  for (const one of history.agents) if (contains(one, at)) agents.set(one.agent, one);
  const counts = new Map<string, number>();
  for (const { agent } of held) counts.set(agent, (counts.get(agent) ?? 0) + 1);
  return {
    now: at,
    seq: 0,
    claims: held.map(heldClaim),
    queue: history.waits
      .filter((one) => contains(one, at))
      .sort((a, b) => a.ticket - b.ticket)
      .map(ticket),
    agents: [...agents.values()].map((one) => agentAt(one, at, counts.get(one.agent) ?? 0)),
    decisions: { pending: 0, oldest_for: null },
  };
}

/** Return the state of each task at a moment, by its id. */
export function tasksAt(history: History, at: number): Map<string, TaskSpan> {
  return new Map(history.tasks.filter((one) => contains(one, at)).map((one) => [one.task, one]));
}

function heldClaim(one: ClaimSpan): Status["claims"][number] {
  return {
    id: `${one.agent} ${one.pattern} ${one.begin}`,
    pattern: one.pattern,
    mode: one.mode,
    agent: one.agent,
    token: one.token,
    expires_at: null,
    expires_in: 0,
    since: one.begin,
    ttl: 0,
    reason: one.reason,
    task: one.task,
    asked_by: [],
    while_running: false,
  };
}

function ticket(one: WaitSpan, index: number): Status["queue"][number] {
  const { agent, patterns, mode } = one;
  const pattern = patterns[0] ?? "";
  const unknown = { reason: "", task: "", expires_in: 0, waiting: false, while_running: false };
  const blocked_by = one.blocked_by.map((holder) => ({ ...unknown, pattern, held: pattern, witness: pattern, holder, mode, since: one.begin }));
  return { ticket: one.ticket, place: index + 1, agent, patterns, mode, since: one.begin, gives_up_in: 0, reason: "", task: "", blocked_by };
}

function agentAt(one: AgentSpan, at: number, claims: number): Status["agents"][number] {
  const change = one.changes.findLast((change) => change.at <= at);
  return {
    id: one.agent,
    name: one.agent,
    role: one.role,
    parent: one.parent,
    host: "",
    pid: null,
    started: one.begin,
    last_seen: Math.min(at, one.last),
    silent_for: 0,
    status: change?.status ?? "running",
    model: "",
    task: change?.task ?? "",
    context: null,
    claims,
    guarded: null,
    ended: "",
  };
}

/** Return the times at which something changed, in order. */
export function eventTimes(history: History): number[] {
  const found = new Set<number>();
  for (const one of [...history.claims, ...history.waits, ...history.agents, ...history.tasks]) {
    found.add(one.begin);
    if (one.end !== null) found.add(one.end);
  }
  for (const one of history.marks) found.add(one.at);
  return [...found].sort((a, b) => a - b);
}
