/** Lanes of a timeline: spans in rows that do not overlap, per agent or per file. Layout only. */
import { hueOf } from "../hue";
import type { ClaimSpan, History, Mark, WaitSpan } from "./types";

export type Bar = {
  kind: "claim" | "wait";
  agent: string;
  hue: number;
  label: string;
  begin: number;
  /** Infinity while it is open. */
  end: number;
  row: number;
  claim?: ClaimSpan;
  wait?: WaitSpan;
};

export type Lane = {
  key: string;
  by: GroupBy;
  name: string;
  /** The bars of each row, in the order of their begin. */
  rows: Bar[][];
  count: number;
  waits: number;
  marks: Mark[];
  /** When the agent worked. */
  lives: { begin: number; end: number; how: string }[];
};

export type GroupBy = "agent" | "file";

/** Return the lanes: agents in the order in which they joined, or files, those with waits first. */
export function lanesOf(history: History, by: GroupBy, groups: ReadonlySet<string>, search: string): Lane[] {
  const lanes = new Map<string, Lane & { all: Bar[] }>();
  const lane = (key: string) => {
    let found = lanes.get(key);
    if (!found) {
      found = { key, by, name: key, rows: [], count: 0, waits: 0, marks: [], lives: [], all: [] };
      lanes.set(key, found);
    }
    return found;
  };
  const matches = matcher(search);
  if (by === "agent") {
    for (const one of history.agents) {
      if (matches(one.agent, one.role)) lane(one.agent).lives.push({ begin: one.begin, end: one.end ?? Infinity, how: one.how });
    }
  }
  for (const claim of history.claims) {
    if (!matches(claim.agent, claim.pattern, claim.reason, claim.task)) continue;
    lane(by === "agent" ? claim.agent : claim.pattern).all.push(claimBar(claim, by));
  }
  for (const wait of history.waits) {
    if (!matches(wait.agent, ...wait.patterns, ...wait.blocked_by)) continue;
    for (const key of by === "agent" ? [wait.agent] : wait.patterns) {
      const found = lane(key);
      found.waits++;
      found.all.push(waitBar(wait, by));
    }
  }
  for (const mark of history.marks) {
    if (!groups.has(mark.group) || !matches(mark.agent, mark.text, ...mark.paths)) continue;
    for (const key of by === "agent" ? [mark.agent] : mark.paths) if (key && (by === "agent" || lanes.has(key))) lane(key).marks.push(mark);
  }
  for (const one of lanes.values()) {
    one.rows = pack(one.all);
    one.count = one.all.length;
    one.marks.sort((a, b) => a.at - b.at);
  }
  const found = [...lanes.values()];
  if (by === "file") found.sort((a, b) => b.waits - a.waits || (a.name < b.name ? -1 : 1));
  return found;
}

function matcher(search: string): (...texts: string[]) => boolean {
  const wanted = search.toLowerCase().split(/\s+/).filter(Boolean);
  if (!wanted.length) return () => true;
  return (...texts) => {
    const all = texts.join(" ").toLowerCase();
    return wanted.every((word) => all.includes(word));
  };
}

function claimBar(claim: ClaimSpan, by: GroupBy): Bar {
  const label = by === "agent" ? claim.pattern : claim.agent;
  return { kind: "claim", agent: claim.agent, hue: hueOf(claim.agent), label, begin: claim.begin, end: claim.end ?? Infinity, row: 0, claim };
}

function waitBar(wait: WaitSpan, by: GroupBy): Bar {
  const label = `waits for ${by === "agent" ? wait.patterns.join(", ") : wait.blocked_by.join(", ")}`;
  return { kind: "wait", agent: wait.agent, hue: hueOf(wait.agent), label, begin: wait.begin, end: wait.end ?? Infinity, row: 0, wait };
}

/** Put each bar into the first row that is free when it begins. */
function pack(bars: Bar[]): Bar[][] {
  bars.sort((a, b) => a.begin - b.begin || b.end - a.end);
  const rows: Bar[][] = [];
  const ends: number[] = [];
  for (const bar of bars) {
    let row = ends.findIndex((end) => end <= bar.begin);
    if (row < 0) row = rows.push([]) - 1;
    bar.row = row;
    ends[row] = bar.end;
    rows[row]?.push(bar);
  }
  return rows;
}

/** The height of one row: rows become thin when an agent holds much at once. */
export function rowHeight(lane: Lane): number {
  const count = lane.rows.length;
  return count <= 5 ? 20 : count <= 12 ? 12 : count <= 40 ? 6 : 3;
}

/** The strip for marks below the rows. */
export const STRIP = 16;
const PADDING = 10;

/** A lane shows at most this many rows; its name says how many more there are. */
export const MOST_ROWS = 60;

export function laneHeight(lane: Lane, named: boolean): number {
  const rows = Math.max(1, Math.min(lane.rows.length, MOST_ROWS));
  return rows * rowHeight(lane) + (lane.marks.length ? STRIP : 0) + PADDING + (named ? 20 : 0);
}

/** Return the index of the first bar of a row that ends after a time. */
export function firstAfter(row: readonly Bar[], at: number): number {
  let low = 0;
  let high = row.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((row[middle]?.end ?? 0) <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}
