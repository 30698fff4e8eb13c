/** The ledger: everything that happened, live. */
import { useRef } from "preact/hooks";
import { param } from "../../router";
import { Empty, Problem } from "../../ui/parts";
import { counted } from "../../ui/text";
import { useRestOfWindow } from "../../ui/virtual";
import { EntryDetails } from "./details";
import { filtersOf, LedgerFilters, NAMES } from "./filters";
import { EntryList } from "./list";
import { type LedgerRows, useLedgerRows } from "./rows";

export function LedgerView() {
  const rows = useLedgerRows(filtersOf());
  const seq = Number.parseInt(param("seq"), 10) || 0;
  const box = useRef<HTMLDivElement>(null);
  useRestOfWindow(box);
  rows.version.value;
  return (
    <div class="ledger">
      <div class="ledger-head">
        <h1>Ledger</h1>
        <LedgerFilters />
        <Count rows={rows} />
      </div>
      {rows.error.value && <Problem error={rows.error.value} />}
      <div class={`with-side${seq ? " open" : ""}`} ref={box}>
        {rows.count || !rows.counted.value ? <EntryList rows={rows} selected={seq} /> : <NoEntries />}
        {seq > 0 && <EntryDetails rows={rows} seq={seq} />}
      </div>
    </div>
  );
}

function Count({ rows }: { rows: LedgerRows }) {
  const more = rows.counted.value && rows.complete ? "" : "+";
  return (
    <span class="muted ledger-count" role="status">
      {rows.count || rows.counted.value ? counted(rows.count, "entry", "entries") + more : "Loading…"}
    </span>
  );
}

function NoEntries() {
  if (NAMES.some((name) => param(name))) return <Empty title="No entries match these filters">Remove a filter, or choose a longer time.</Empty>;
  return (
    <Empty title="Nothing has happened yet" command="dibs claim README.md">
      The ledger records claims, edits, tasks, commits, and messages. To create its first entries, run:
    </Empty>
  );
}
