/** Everything on the timeline as a list: to read without seeing, and to copy. */
import { useState } from "preact/hooks";
import type { Range } from "../../charts";
import type { Hit } from "../../history/draw";
import type { Lane } from "../../history/lanes";
import { describeBar, describeMark } from "../../history/words";
import { AgentName, FilePath } from "../../ui/parts";
import { localTime } from "../../time";
import { EntryLink } from "./links";

type Props = { lanes: readonly Lane[]; range: Range; now: number };
const PAGE = 100;

export function SpanList({ lanes, range, now }: Props) {
  const [open, setOpen] = useState(false);
  const [most, setMost] = useState(PAGE);
  const rows = open ? rowsOf(lanes, range) : [];
  return (
    <details class="span-list" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Show as a list</summary>
      {open && (
        <div class="scrolls">
          <table>
            <thead>
              <tr>
                <th scope="col">Time</th>
                <th scope="col">Agent</th>
                <th scope="col">What</th>
                <th scope="col">File</th>
              </tr>
            </thead>
            <tbody>
              {rows.slice(0, most).map(({ at, hit }, index) => (
                <Row key={index} at={at} hit={hit} now={now} />
              ))}
            </tbody>
          </table>
          {rows.length > most && (
            <button type="button" onClick={() => setMost(most + PAGE)}>
              Show {Math.min(PAGE, rows.length - most)} more of {rows.length - most}
            </button>
          )}
          {!rows.length && <p class="muted">Nothing in this range.</p>}
        </div>
      )}
    </details>
  );
}

function Row({ at, hit, now }: { at: number; hit: Hit; now: number }) {
  const said = hit.bar ? describeBar(hit.bar, now) : hit.mark ? describeMark(hit.mark) : null;
  const paths = hit.bar?.claim ? [hit.bar.claim.pattern] : (hit.bar?.wait?.patterns ?? hit.mark?.paths ?? []);
  return (
    <tr>
      <td>{localTime(at)}</td>
      <td>
        <AgentName id={hit.bar?.agent ?? hit.mark?.agent ?? ""} />
      </td>
      <td>
        {hit.mark ? <EntryLink seq={hit.mark.seq}>{hit.mark.text}</EntryLink> : `${hit.bar?.wait ? "wait" : "claim"}: ${said?.lines.join(", ") ?? ""}`}
      </td>
      <td>
        {paths.slice(0, 3).map((path) => (
          <div key={path}>
            <FilePath path={path} />
          </div>
        ))}
      </td>
    </tr>
  );
}

function rowsOf(lanes: readonly Lane[], { begin, end }: Range): { at: number; hit: Hit }[] {
  const found: { at: number; hit: Hit }[] = [];
  for (const lane of lanes) {
    for (const bar of lane.rows.flat()) if (bar.begin <= end && bar.end >= begin) found.push({ at: bar.begin, hit: { lane, bar } });
    for (const mark of lane.marks) if (mark.at >= begin && mark.at <= end) found.push({ at: mark.at, hit: { lane, mark } });
  }
  return found.sort((a, b) => b.at - a.at);
}
