/** The range that the timeline shows, from the URL: a preset that moves with time, or two fixed times. */
import { useEffect, useState } from "preact/hooks";
import type { Range } from "../../charts";
import type { History } from "../../history/types";
import { param, setParams } from "../../router";

export const PRESETS: Readonly<Record<string, { name: string; seconds: number }>> = {
  "": { name: "Recent", seconds: 3600 },
  "15m": { name: "15m", seconds: 900 },
  "1h": { name: "1h", seconds: 3600 },
  "6h": { name: "6h", seconds: 6 * 3600 },
  "1d": { name: "1d", seconds: 86400 },
  all: { name: "All", seconds: Infinity },
};
/** The last part of a moving range is free, so that the live edge is visible. */
const MARGIN = 0.02;
/** The API takes a smaller number as a duration. */
const EARLIEST = 1e9;
const SHORTEST = 2;
const LONGEST = 3 * 365 * 86400;
const SETTLED = 250;

/** Return the chosen range, and what to load for it. */
export function chosenRange(now: number, history: History | undefined): Range {
  const from = Number(param("from"));
  const to = Number(param("to"));
  if (from > EARLIEST && to > from && to - from <= LONGEST) return { begin: from, end: to };
  const preset = PRESETS[param("range")] ?? PRESETS[""];
  const first = history?.known_since ?? now - 30;
  const begin = preset?.seconds === Infinity ? first : now - (preset?.seconds ?? 3600);
  const earliest = param("range") === "" || param("range") === "all" ? Math.max(begin, first) : begin;
  const length = Math.max(30, now - earliest);
  return { begin: now - length * (1 + MARGIN / 2), end: now + length * MARGIN };
}

/** Show a fixed range; one that reaches the present stays at the live edge. */
export function chooseRange({ begin, end }: Range, now: number): void {
  const length = Math.min(LONGEST, Math.max(SHORTEST, end - begin));
  const last = Math.min(end, now + length * 0.5);
  setParams({ range: "", from: (last - length).toFixed(1), to: last.toFixed(1) });
}

export function choosePreset(range: string): void {
  setParams({ range, from: "", to: "" });
}

/** Return what to request for the chosen range, as soon as it does not change any more. */
export function useRequested(now: number): { since: string; until: string } {
  const from = param("from");
  const to = param("to");
  const preset = param("range") || "1h";
  const wanted = Number(from) > EARLIEST && Number(to) > Number(from) ? `${from} ${Number(to) >= now ? "" : to}` : `${preset in PRESETS ? preset : "1h"} `;
  const [settled, setSettled] = useState(wanted);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(wanted), SETTLED);
    return () => clearTimeout(timer);
  }, [wanted]);
  const [since = "1h", until = ""] = settled.split(" ");
  return { since, until };
}
