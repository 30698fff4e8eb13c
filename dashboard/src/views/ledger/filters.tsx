/** The filters of the ledger. Their values are in the address. */
import { useEffect, useState } from "preact/hooks";
import { api, data } from "../../api/client";
import { useResource } from "../../api/resource";
import { until } from "../../replay";
import { param, setParams } from "../../router";
import { ChoiceMenu } from "../../ui/choices";
import { GROUPS, kindsOf } from "./kinds";
import type { Filters } from "./rows";

const list = (name: string): string[] => param(name).split(",").filter(Boolean);

/** Return what the address asks for, as the API takes it. */
export function filtersOf(): Filters {
  const local = (text: string) => (/^\d{4}-/.test(text) ? new Date(text).toISOString() : text);
  return {
    agent: list("agent"),
    kind: kindsOf(list("kind")),
    path: param("file") ? [param("file")] : [],
    text: param("q"),
    since: local(param("since")),
    until: until.value || local(param("until")),
  };
}

export const NAMES = ["agent", "kind", "file", "q", "since", "until"];
const SPANS: readonly [string, string][] = [
  ["", "Any time"], ["10m", "Last 10 minutes"], ["1h", "Last hour"], ["1d", "Last day"], ["7d", "Last 7 days"], ["custom", "From … to …"],
]; // prettier-ignore

export function LedgerFilters() {
  const counts = useResource("log summary", () => data(api.GET("/api/v1/log/summary")), { on: [], every: 60 });
  const agents = Object.entries((counts.data?.by_agent ?? {}) as Record<string, number>);
  const kinds = (counts.data?.by_kind ?? {}) as Record<string, number>;
  const isSet = NAMES.some((name) => param(name));
  return (
    <form class="filters" role="search" aria-label="Filter entries" onSubmit={(event) => event.preventDefault()}>
      <DelayedInput name="q" label="Search" placeholder="Search text (/)" />
      <ChoiceMenu
        label="Agent"
        all="All agents"
        chosen={list("agent")}
        onChange={(chosen) => setParams({ agent: chosen.join(",") })}
        groups={[{ id: "", name: "", choices: agents.sort((a, b) => b[1] - a[1]).map(([id, count]) => ({ id, name: id || "(none)", count })) }]}
      />
      <ChoiceMenu
        label="Kind"
        all="All kinds"
        chosen={list("kind")}
        onChange={(chosen) => setParams({ kind: chosen.join(",") })}
        groups={GROUPS.map((group) => ({
          id: group.id,
          name: group.name,
          choices: Object.entries(group.kinds).map(([id, [name]]) => ({ id, name, count: kinds[id] ?? 0 })),
        }))}
      />
      <DelayedInput name="file" label="File, folder, or glob" placeholder="File, folder, or glob" />
      <TimeFilter />
      {isSet && (
        <button type="button" onClick={() => setParams(Object.fromEntries(NAMES.map((name) => [name, ""])))}>
          Clear filters
        </button>
      )}
    </form>
  );
}

/** A text field that changes the address when typing pauses. */
function DelayedInput({ name, label, placeholder }: { name: string; label: string; placeholder: string }) {
  const set = param(name);
  const [text, setText] = useState(set);
  useEffect(() => setText(set), [set]);
  useEffect(() => {
    if (text === set) return;
    const timer = setTimeout(() => setParams({ [name]: text.trim() }), 250);
    return () => clearTimeout(timer);
  }, [text]);
  const common = {
    "aria-label": label,
    placeholder,
    maxLength: 200,
    value: text,
    autocomplete: "off",
    spellcheck: false,
    onInput: (event: { currentTarget: HTMLInputElement }) => setText(event.currentTarget.value),
  } as const;
  return name === "q" ? <input type="search" {...common} /> : <input type="text" {...common} />;
}

function TimeFilter() {
  const since = param("since");
  const until = param("until");
  const isSpan = SPANS.some(([span]) => span === since) && !until;
  const [custom, setCustom] = useState(!isSpan);
  const choose = (value: string) => {
    setCustom(value === "custom");
    setParams({ since: value === "custom" ? "" : value, until: "" });
  };
  return (
    <>
      <select aria-label="Time" value={custom || !isSpan ? "custom" : since} onChange={(event) => choose(event.currentTarget.value)}>
        {SPANS.map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </select>
      {(custom || !isSpan) && (
        <span class="times">
          <input type="datetime-local" aria-label="From" value={since} onChange={(event) => setParams({ since: event.currentTarget.value })} />
          <span aria-hidden="true">to</span>
          <input type="datetime-local" aria-label="To" value={until} onChange={(event) => setParams({ until: event.currentTarget.value })} />
        </span>
      )}
    </>
  );
}
