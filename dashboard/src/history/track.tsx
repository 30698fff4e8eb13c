/** One lane of a timeline. */
import type { TimeScale } from "../charts";
import { drawBars, drawMarks } from "./draw";
import { type Bar, type Lane, laneHeight, MOST_ROWS, rowHeight, STRIP } from "./lanes";
import { memo } from "./memo";

type Props = { lane: Lane; scale: TimeScale; now: number; picked: Bar | null };

/** The bars and marks of a lane. */
export const Track = memo(function Track({ lane, scale, now, picked }: Props) {
  const height = laneHeight(lane, false);
  const row = rowHeight(lane);
  const bottom = Math.max(1, Math.min(lane.rows.length, MOST_ROWS)) * row;
  const drawn = drawBars(lane, scale, now);
  const marks = drawMarks(lane.marks, scale, bottom + STRIP / 2);
  return (
    <svg class="track" width={scale.width} height={height} aria-hidden="true">
      {lane.lives.map((life) => {
        const left = Math.max(0, scale.x(life.begin));
        const right = Math.min(scale.width, scale.x(Math.min(life.end, now)));
        return right > left && <rect key={life.begin} class="life" x={left} y={0} width={right - left} height={height - 4} rx={3} />;
      })}
      {[...drawn.paths].map(([key, path]) => (
        <path key={key} class={path.kind} d={path.d} style={{ "--hue": path.hue }} />
      ))}
      {drawn.labels.map(({ x, y, width, bar }) => (
        <text key={`${bar.row} ${bar.begin}`} class={`on-${bar.kind}`} x={x + 5} y={y + (row >= 20 ? 14 : 10)} style={{ "--hue": bar.hue }}>
          {shorten(bar.label, width - 10, row >= 20 ? 6.9 : 5.6)}
        </text>
      ))}
      {picked && (
        <rect
          class="picked"
          x={Math.max(0, scale.x(picked.begin)) - 1}
          y={picked.row * row}
          width={Math.max(4, Math.min(scale.width, scale.x(Math.min(picked.end, now))) - Math.max(0, scale.x(picked.begin)) + 1)}
          height={row - 1}
          rx={3}
        />
      )}
      {[...marks].map(([group, d]) => (
        <path key={group} class={`mark ${group}`} d={d} />
      ))}
    </svg>
  );
});

const WAITS = "waits for ";

/** Return as much of a text as fits; of a path, its end. */
function shorten(text: string, width: number, letter: number): string {
  const most = Math.floor(width / letter);
  if (text.length <= most) return text;
  if (most < 4) return "";
  if (text.startsWith(WAITS)) {
    const rest = text.slice(WAITS.length);
    return most >= WAITS.length + 8 ? WAITS + shorten(rest, width - WAITS.length * letter, letter) : shorten(rest, width, letter);
  }
  return text.includes("/") ? `…${text.slice(1 - most)}` : `${text.slice(0, most - 1)}…`;
}
