/** What is known about the bar or mark under the pointer, or chosen with the keyboard. */
import type { TimeScale } from "../charts";
import type { Hit } from "./draw";
import { MOST_ROWS, rowHeight, STRIP } from "./lanes";
import { describeBar, describeMark } from "./words";

type Props = { hit: Hit | null; scale: TimeScale; left: number; now: number; width: number; top: number };

const WIDTH = 300;

export function HitCard({ hit, scale, left, now, width, top }: Props) {
  const found = hit?.bar ? describeBar(hit.bar, now) : hit?.mark ? describeMark(hit.mark) : null;
  const begin = hit?.bar ? Math.max(scale.range.begin, hit.bar.begin) : (hit?.mark?.at ?? 0);
  const rows = hit ? Math.max(1, Math.min(hit.lane.rows.length, MOST_ROWS)) : 0;
  const below = hit?.bar ? (hit.bar.row + 1) * rowHeight(hit.lane) : hit ? rows * rowHeight(hit.lane) + STRIP : 0;
  const x = Math.max(4, Math.min(width - WIDTH - 4, left + scale.x(begin)));
  return (
    <div class="hit-card" role="status" hidden={!found} style={found ? { left: `${x}px`, top: `${top + below + 10}px` } : undefined}>
      {found && (
        <>
          <b>{found.title}</b>
          {found.path && <span class="path">{found.path}</span>}
          {found.lines.map((line) => (
            <span key={line}>{line}</span>
          ))}
        </>
      )}
    </div>
  );
}
