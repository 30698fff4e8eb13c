/** Many bars as few paths: what is narrower than a pixel or out of sight costs nothing. */
import type { TimeScale } from "../charts";
import { type Bar, firstAfter, type Lane, MOST_ROWS, rowHeight } from "./lanes";
import type { Mark } from "./types";

/** A path of one color; labels are written on bars that are wide enough. */
export type Drawn = { paths: Map<string, { hue: number; kind: Bar["kind"]; d: string }>; labels: { x: number; y: number; width: number; bar: Bar }[] };

const WIDE_ENOUGH = 56;

export function drawBars(lane: Lane, scale: TimeScale, now: number): Drawn {
  const height = rowHeight(lane);
  const thickness = height > 8 ? height - 3 : height - 1;
  const drawn: Drawn = { paths: new Map(), labels: [] };
  const { begin, end } = scale.range;
  for (let index = 0; index < Math.min(lane.rows.length, MOST_ROWS); index++) {
    const row = lane.rows[index] ?? [];
    const y = index * height;
    let drawnTo = -Infinity;
    for (let i = firstAfter(row, begin); i < row.length; i++) {
      const bar = row[i] as Bar;
      if (bar.begin > end) break;
      const left = Math.max(-4, scale.x(bar.begin));
      const right = Math.min(scale.width + 4, scale.x(Math.min(bar.end, now)));
      if (right <= drawnTo) continue;
      const width = Math.max(1.5, right - left);
      drawnTo = width < 2 ? left + 1 : -Infinity;
      const key = `${bar.kind} ${bar.hue}`;
      let path = drawn.paths.get(key);
      if (!path) drawn.paths.set(key, (path = { hue: bar.hue, kind: bar.kind, d: "" }));
      path.d += box(left, y + 1, width > 4 ? width - 1 : width, thickness);
      const visible = Math.min(right, scale.width) - Math.max(0, left);
      if (visible >= WIDE_ENOUGH && height >= 12) drawn.labels.push({ x: Math.max(0, left), y, width: visible, bar });
    }
  }
  return drawn;
}

function box(x: number, y: number, width: number, height: number): string {
  return `M${x.toFixed(1)} ${y}h${width.toFixed(1)}v${height}h-${width.toFixed(1)}z`;
}

/** Return a path for the marks of each group; of those at the same place, one. */
export function drawMarks(marks: readonly Mark[], scale: TimeScale, y: number): Map<string, string> {
  const found = new Map<string, string>();
  const last = new Map<string, number>();
  for (const mark of marks) {
    const x = scale.x(mark.at);
    if (x < -6 || x > scale.width + 6 || x - (last.get(mark.group) ?? -Infinity) < 2) continue;
    last.set(mark.group, x);
    found.set(mark.group, (found.get(mark.group) ?? "") + glyph(mark.group, x, y));
  }
  return found;
}

/** The shape of a group, so that it does not depend on colors. */
export function glyph(group: string, x: number, y: number): string {
  const at = (dx: number, dy: number) => `${(x + dx).toFixed(1)} ${(y + dy).toFixed(1)}`;
  switch (group) {
    case "commit": // a disc
      return `M${at(-4.5, 0)}a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z`;
    case "merge": // a ring
      return `M${at(-5, 0)}a5 5 0 1 0 10 0a5 5 0 1 0 -10 0zM${at(-2.5, 0)}a2.5 2.5 0 1 1 5 0a2.5 2.5 0 1 1 -5 0z`;
    case "denial": // a cross
    case "refusal":
      return `M${at(-5, -3)}L${at(-3, -5)}L${at(0, -2)}L${at(3, -5)}L${at(5, -3)}L${at(2, 0)}L${at(5, 3)}L${at(3, 5)}L${at(0, 2)}L${at(-3, 5)}L${at(-5, 3)}L${at(-2, 0)}z`;
    case "expiry": // an hourglass
      return `M${at(-4.5, -5)}L${at(4.5, -5)}L${at(-4.5, 5)}L${at(4.5, 5)}z`;
    case "kill": // a square
    case "fault":
      return `M${at(-4.5, -4.5)}h9v9h-9z`;
    case "task": // a check mark
      return `M${at(-5, 0)}L${at(-3, -2)}L${at(-1, 0.5)}L${at(3.5, -5)}L${at(5.5, -3.2)}L${at(-0.8, 4.5)}z`;
    case "alert": // a triangle
      return `M${at(0, -5)}L${at(5, 4.5)}L${at(-5, 4.5)}z`;
    case "edit": // a line
      return `M${at(-0.8, -5)}h1.6v10h-1.6z`;
    default: // a diamond
      return `M${at(0, -5.5)}L${at(5.5, 0)}L${at(0, 5.5)}L${at(-5.5, 0)}z`;
  }
}

/** Something on a lane, at a place within it. */
export type Hit = { lane: Lane; bar?: Bar; mark?: Mark };

const NEAR = 7;

/** Return what is at a point of a lane. */
export function hitAt(lane: Lane, scale: TimeScale, x: number, y: number, now: number): Hit | null {
  const height = rowHeight(lane);
  const rows = Math.min(lane.rows.length, MOST_ROWS);
  if (y > rows * height) {
    let best: Mark | undefined;
    let nearest = NEAR;
    for (const mark of lane.marks) {
      const distance = Math.abs(scale.x(mark.at) - x);
      if (distance <= nearest) {
        nearest = distance;
        best = mark;
      }
    }
    return best ? { lane, mark: best } : null;
  }
  const row = lane.rows[Math.max(0, Math.floor(y / height))] ?? [];
  const first = firstAfter(row, scale.at(x - 2));
  const bar = row[first];
  return bar && scale.x(bar.begin) <= x + 2 && scale.x(Math.min(bar.end, now)) >= x - 3 ? { lane, bar } : null;
}

/** Return the same bar or mark in lanes that were loaded again; null if it is not there any more. */
export function renewed(hit: Hit | null, lanes: readonly Lane[]): Hit | null {
  const lane = hit && lanes.find((one) => one.key === hit.lane.key);
  if (!hit || !lane || lane === hit.lane) return lane ? hit : null;
  const { bar, mark } = hit;
  if (mark) {
    const found = lane.marks.find((one) => one.seq === mark.seq);
    return found ? { lane, mark: found } : null;
  }
  const found = lane.rows.flat().find((one) => one.begin === bar?.begin && one.label === bar.label && one.kind === bar.kind);
  return found ? { lane, bar: found } : null;
}
