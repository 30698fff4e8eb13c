/** One entry with all its fields, and links to what it is about. */
import { useState } from "preact/hooks";
import { api, data, type Entry } from "../../api/client";
import { useResource } from "../../api/resource";
import { href, Link } from "../../router";
import { span } from "../../time";
import { act } from "../../ui/actions";
import { AgentName, Badge, FilePath, Problem } from "../../ui/parts";
import { Side } from "../../ui/side";
import { visible } from "../../ui/text";
import { kindLabel, kindTone } from "./kinds";
import { EntryTime, openEntry } from "./list";
import type { LedgerRows } from "./rows";

/** The keys of details that name files, as in core/claims/event_filters.py. */
const PATHS = new Set(["paths", "path", "patterns", "pattern", "files"]);
const MOST_TEXT = 20_000;
const MOST_PATHS = 50;

export function EntryDetails({ rows, seq }: { rows: LedgerRows; seq: number }) {
  rows.version.value;
  const loaded = useResource(`entry ${seq}`, () => data(api.GET("/api/v1/log", { params: { query: { seq: [seq] } } })), { on: [] });
  const entry = rows.entry(seq) ?? loaded.data?.entries[0];
  const hidden = rows.counted.value && entry && !rows.rowOf(seq).exact;
  return (
    <Side title={`Entry ${seq}`} onClose={() => openEntry(0)}>
      {entry ? <Fields entry={entry} /> : loaded.error ? <Problem error={loaded.error} /> : loaded.data ? <Missing seq={seq} /> : <p class="muted">Loading…</p>}
      {hidden && <p class="muted">The filters hide this entry in the list.</p>}
    </Side>
  );
}

function Missing({ seq }: { seq: number }) {
  return (
    <p>
      The ledger has no entry {seq}. The newest entry may have a smaller number, or this one was moved to a monthly file
      (<code>ledger/YYYY-MM.jsonl</code>, next to the store).
    </p>
  );
}

function Fields({ entry }: { entry: Entry }) {
  const details = Object.entries((entry.details ?? {}) as Record<string, unknown>);
  return (
    <>
      <p class="entry-headline">
        <bdi>{visible(entry.summary, MOST_TEXT)}</bdi>
      </p>
      <dl class="fields">
        <dt>What</dt>
        <dd>
          <Badge tone={kindTone(entry.kind)}>{kindLabel(entry.kind)}</Badge> <code class="muted">{entry.kind.replace(/^lock_/, "claim_")}</code>
        </dd>
        <dt>Agent</dt>
        <dd>
          {entry.agent ? <AgentName id={entry.agent} /> : <span class="muted">none</span>} {entry.role && <span class="muted">{visible(entry.role, 80)}</span>}
        </dd>
        <dt>When</dt>
        <dd>
          <EntryTime at={entry.at} />
        </dd>
        {details.map(([name, value]) => (
          <Field key={name} name={name} value={value} />
        ))}
      </dl>
      <CopyButtons entry={entry} />
    </>
  );
}

function Field({ name, value }: { name: string; value: unknown }) {
  return (
    <>
      <dt>
        <bdi class="field-name">{visible(name.replaceAll("_", " "), 60)}</bdi>
      </dt>
      <dd>{PATHS.has(name) ? <Paths value={value} /> : typeof value === "number" ? <Quantity name={name} value={value} /> : <Value value={value} />}</dd>
    </>
  );
}

/** A number: a time, a duration, or a count, as its name says. */
function Quantity({ name, value }: { name: string; value: number }) {
  if (value > 1e9 && /(^|_)(at|until|since)$/.test(name)) return <EntryTime at={value} />;
  if (/^(ttl|within|grace|age)$|_(in|for)$/.test(name)) return <>{span(value)}</>;
  return <code>{value}</code>;
}

function Paths({ value }: { value: unknown }) {
  const paths = (Array.isArray(value) ? value : [value]).filter((one): one is string => typeof one === "string");
  const [all, setAll] = useState(false);
  const shown = all ? paths : paths.slice(0, MOST_PATHS);
  return (
    <ul class="entry-paths">
      {shown.map((path) => (
        <li key={path}>
          <FilePath path={path} />
        </li>
      ))}
      {shown.length < paths.length && (
        <li>
          <button type="button" onClick={() => setAll(true)}>
            Show {paths.length - shown.length} more
          </button>
        </li>
      )}
    </ul>
  );
}

function Value({ value }: { value: unknown }) {
  if (value === null || value === "" || value === undefined) return <span class="muted">none</span>;
  if (typeof value === "boolean") return <>{value ? "yes" : "no"}</>;
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  const shown = visible(text, MOST_TEXT);
  if (text.length <= 80 && !text.includes("\n")) return <bdi>{shown}</bdi>;
  return (
    <>
      <pre class="value" tabIndex={0}>
        <bdi>{shown}</bdi>
      </pre>
      {text.length > MOST_TEXT && <p class="muted">{(text.length - MOST_TEXT).toLocaleString()} more characters are not shown. “Copy JSON” copies all of them.</p>}
    </>
  );
}

function CopyButtons({ entry }: { entry: Entry }) {
  const link = () => location.origin + href("/ledger", { seq: String(entry.seq) });
  return (
    <footer class="side-actions">
      <button type="button" onClick={() => act(() => navigator.clipboard.writeText(link()), "link copied")}>
        Copy link
      </button>
      <button type="button" onClick={() => act(() => navigator.clipboard.writeText(JSON.stringify(entry, null, 2)), "JSON copied")}>
        Copy JSON
      </button>
      {entry.agent && (
        <Link class="button" to={href("/ledger", { agent: entry.agent, seq: String(entry.seq) })}>
          Only this agent
        </Link>
      )}
    </footer>
  );
}
