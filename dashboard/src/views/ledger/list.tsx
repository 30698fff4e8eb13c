/** The list of entries: newest first, following at the top. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Entry } from "../../api/client";
import { setParams } from "../../router";
import { localDateTime, localTime, now, span } from "../../time";
import { AgentName, Badge } from "../../ui/parts";
import { counted, visible } from "../../ui/text";
import { Scroller, VirtualList } from "../../ui/virtual";
import { kindLabel, kindTone } from "./kinds";
import type { LedgerRows } from "./rows";

const ROW = 34;
const PHONE_ROW = 58;
const phone = matchMedia("(max-width: 760px)");
const day = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });

export const openEntry = (seq: number) => setParams({ seq: seq ? String(seq) : "" });

export function EntryList({ rows, selected }: { rows: LedgerRows; selected: number }) {
  rows.version.value;
  const [height, setHeight] = useState(phone.matches ? PHONE_ROW : ROW);
  const scroller = useMemo(() => new Scroller(height), [height]);
  const [unread, setUnread] = useState(0);
  const [cursor, setCursor] = useState(0);
  useEffect(() => {
    const changed = () => setHeight(phone.matches ? PHONE_ROW : ROW);
    phone.addEventListener("change", changed);
    return () => phone.removeEventListener("change", changed);
  }, []);
  const added = useRef(0);
  rows.onAdded = (count) => {
    if (scroller.atTop) return;
    added.current += count;
    setUnread((known) => known + count);
  };
  // After the drawing: the space above grew.
  useEffect(() => {
    if (added.current) scroller.added(added.current);
    added.current = 0;
  });
  const known = rows.counted.value;
  useEffect(() => {
    if (!selected || !rows.count) return;
    setCursor(selected);
    scroller.show(rows.rowOf(selected).row, phone.matches ? 0 : 0.5);
  }, [selected, known, rows, scroller]);

  const active = cursor || rows.seqAt(0);
  const move = (to: number) => {
    const row = Math.max(0, Math.min(rows.count - 1, to));
    const seq = rows.seqAt(row);
    setCursor(seq);
    scroller.show(row);
    if (selected) openEntry(seq);
  };
  const pressed = (event: KeyboardEvent) => {
    if (event.metaKey || event.ctrlKey || event.altKey) return;
    const row = rows.rowOf(active).row;
    const steps: Record<string, number> = {
      ArrowDown: row + 1, j: row + 1, ArrowUp: row - 1, k: row - 1,
      PageDown: row + scroller.page, PageUp: row - scroller.page, Home: 0, End: rows.count - 1,
    }; // prettier-ignore
    const to = steps[event.key];
    if (to !== undefined) move(to);
    else if (event.key === "Enter" || event.key === " ") openEntry(active);
    else return;
    event.preventDefault();
  };
  return (
    <div class="entry-list">
      {unread > 0 && (
        <button
          type="button"
          class="primary new-entries"
          onClick={() => {
            if (scroller.element) scroller.element.scrollTop = 0;
            setUnread(0);
          }}
        >
          ↑ {counted(unread, "new entry", "new entries")}
        </button>
      )}
      <VirtualList
        class="virtual entries"
        role="grid"
        aria-label="Ledger entries, newest first"
        aria-rowcount={rows.count}
        aria-activedescendant={rows.count ? `entry-${active}` : undefined}
        count={rows.count}
        scroller={scroller}
        onWindow={(first, last) => rows.near(first, last)}
        onScroll={() => scroller.atTop && unread && setUnread(0)}
        onKeyDown={pressed}
        row={(index) => {
          const seq = rows.seqAt(index);
          const state = `${seq === selected ? " selected" : ""}${seq === active ? " active" : ""}`;
          return (
            <div
              key={seq}
              id={`entry-${seq}`}
              role="row"
              class={`entry${state}`}
              aria-rowindex={index + 1}
              aria-selected={seq === selected}
              onClick={() => {
                setCursor(seq);
                openEntry(seq === selected ? 0 : seq);
              }}
            >
              <EntryCells entry={rows.entryAt(index)} seq={seq} />
            </div>
          );
        }}
      />
    </div>
  );
}

function EntryCells({ entry, seq }: { entry: Entry | undefined; seq: number }) {
  return (
    <>
      <span role="gridcell" class="entry-seq">
        {seq}
      </span>
      {entry ? (
        <>
          <span role="gridcell" class="entry-time">
            <EntryTime at={entry.at} />
          </span>
          <span role="gridcell" class="entry-agent">
            {entry.agent && <AgentName id={entry.agent} plain />}
          </span>
          <span role="gridcell" class="entry-kind">
            <Badge tone={kindTone(entry.kind)}>{kindLabel(entry.kind)}</Badge>
          </span>
          <bdi role="gridcell" class="entry-summary">
            {visible(withoutAgent(entry), 320)}
          </bdi>
        </>
      ) : (
        <span role="gridcell" class="entry-summary muted">
          …
        </span>
      )}
    </>
  );
}

/** The row has the agent's name before its summary, which often begins with it. */
function withoutAgent({ agent, summary }: Entry): string {
  return agent && summary.startsWith(`${agent} `) ? summary.slice(agent.length + 1) : summary;
}

/** A time with its age; another day's with the date. */
export function EntryTime({ at }: { at: number }) {
  const today = new Date(at * 1000).toDateString() === new Date().toDateString();
  // The largest unit is enough here: "5m", not "5m 12s".
  const age = span(now.value - at).split(" ", 1)[0];
  return (
    <time dateTime={new Date(at * 1000).toISOString()} title={localDateTime(at)}>
      {today ? localTime(at) : day.format(at * 1000)} <span class="muted">{age} ago</span>
    </time>
  );
}
