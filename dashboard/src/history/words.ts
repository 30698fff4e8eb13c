/** How spans and marks are described to people. */
import { localTime, span } from "../time";
import type { Bar } from "./lanes";
import type { Mark } from "./types";

/** The groups of marks, with the names that legends show. Those after `task` are hidden at first. */
export const MARKS: Readonly<Record<string, string>> = {
  commit: "Commits",
  merge: "Merges",
  denial: "Denied claims",
  refusal: "Refused writes",
  expiry: "Expired claims",
  kill: "Revoked or stopped",
  task: "Finished tasks",
  alert: "Alerts",
  decision: "Decisions",
  request: "Release requests",
  tests: "Test runs",
  saved: "Saved work",
  fault: "Errors",
  edit: "Edits",
};
export const SHOWN_FIRST = ["commit", "merge", "denial", "refusal", "expiry", "kill", "task"];

const CLAIM_ENDS: Readonly<Record<string, string>> = {
  "": "still held",
  died: "ended: its agent died",
  stopped: "ended: its agent was stopped",
  replaced: "replaced by a claim in another mode",
  void: "ended: the store was replaced",
  unknown: "ended, reason unknown",
};
const WAIT_ENDS: Readonly<Record<string, string>> = {
  "": "still waiting",
  granted: "then got the claim",
  gave_up: "then gave up",
  deadlock: "ended: it would have caused a deadlock",
  silent: "ended: no heartbeat",
  missed_turn: "missed its turn",
  ended: "ended with its agent",
  refused: "a human refused it",
  unknown: "ended, reason unknown",
};

export type Details = { title: string; path: string; lines: string[] };

export function describeBar(bar: Bar, now: number): Details {
  const end = Math.min(bar.end, now);
  const times = `${localTime(bar.begin)} to ${bar.end === Infinity ? "now" : localTime(bar.end)} (${span(end - bar.begin)})`;
  if (bar.wait) {
    const { blocked_by: blockers, how, patterns } = bar.wait;
    return {
      title: `${bar.agent} ${bar.end === Infinity ? "waits" : "waited"}`,
      path: patterns.join(", "),
      lines: [blockers.length ? `for ${blockers.join(", ")}` : "", `${times}, ${WAIT_ENDS[how] ?? how}`].filter(Boolean),
    };
  }
  const { pattern, how, by, reason, task, mode } = bar.claim ?? { pattern: bar.label, how: "", by: "", reason: "", task: "", mode: "" };
  const ended = (CLAIM_ENDS[how] ?? how) + (by ? ` by ${by}` : "");
  return {
    title: `${bar.agent} ${bar.end === Infinity ? "holds" : "held"}`,
    path: pattern,
    lines: [`${times}, ${how === "transferred" && by ? `transferred to ${by}` : ended}`, mode === "exclusive" ? "" : mode, reason, task && `task ${task}`].filter(Boolean),
  };
}

export function describeMark(mark: Mark): Details {
  return { title: mark.text, path: "", lines: [`${localTime(mark.at)}, entry ${mark.seq}`, mark.by ? `by ${mark.by}` : ""].filter(Boolean) };
}
