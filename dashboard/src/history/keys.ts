/** The keys of a timeline. */
import type { Range } from "../charts";
import type { Hit } from "./draw";
import type { Lane } from "./lanes";

type State = { lanes: readonly Lane[]; picked: number; hit: Hit | null; range: Range; now: number };
type Action = { range?: Range; picked?: number; hit?: Hit | null; open?: boolean };

const STEP = 0.15;

export function zoom(range: Range, factor: number, at = (range.begin + range.end) / 2): Range {
  return { begin: at - (at - range.begin) * factor, end: at + (range.end - at) * factor };
}

export function keyAction(event: KeyboardEvent, state: State): Action | null {
  if (event.ctrlKey || event.metaKey || event.altKey) return null;
  const { lanes, picked, hit, range, now } = state;
  const by = (range.end - range.begin) * STEP;
  switch (event.key) {
    case "ArrowLeft":
      return event.shiftKey ? { hit: neighbor(state, -1) } : { range: { begin: range.begin - by, end: range.end - by } };
    case "ArrowRight":
      return event.shiftKey ? { hit: neighbor(state, 1) } : { range: { begin: range.begin + by, end: range.end + by } };
    case "ArrowUp":
      return { picked: Math.max(0, picked - 1), hit: null };
    case "ArrowDown":
      return { picked: Math.min(lanes.length - 1, picked + 1), hit: null };
    case "+":
    case "=":
      return { range: zoom(range, 0.6) };
    case "-":
      return { range: zoom(range, 1 / 0.6) };
    case "End":
      return { range: { begin: now - (range.end - range.begin), end: now } };
    case "Enter":
      return hit ? { open: true } : null;
    case "Escape":
      return hit ? { hit: null } : null;
    default:
      return null;
  }
}

/** Return the next or previous bar or mark of the chosen lane, by time. */
function neighbor({ lanes, picked, hit, range }: State, direction: 1 | -1): Hit | null {
  const lane = lanes[picked];
  if (!lane) return null;
  const all: { at: number; hit: Hit }[] = [
    ...lane.rows.flat().map((bar) => ({ at: bar.begin, hit: { lane, bar } })),
    ...lane.marks.map((mark) => ({ at: mark.at, hit: { lane, mark } })),
  ].sort((a, b) => a.at - b.at);
  const now = all.findIndex((one) => one.hit.bar === hit?.bar && one.hit.mark === hit?.mark && hit?.lane === lane);
  if (now >= 0) return all[now + direction]?.hit ?? hit;
  const first = all.findIndex((one) => one.at >= range.begin);
  return (direction > 0 ? all[Math.max(0, first)] : all.at(-1))?.hit ?? null;
}
