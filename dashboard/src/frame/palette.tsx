/** The command palette: go to a view, an agent, a claim, or a task, or run an action. */
import { signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { api, data, errorOf, noAnswer, type Schemas } from "../api/client";
import { endSession } from "../api/live";
import { useResource } from "../api/resource";
import { useStatus } from "../api/status";
import { href, navigate } from "../router";
import { chooseTheme } from "../theme";
import { act } from "../ui/actions";
import { VIEWS } from "../views";
import { showKeys } from "./keys";

type Item = { id: string; kind: string; name: string; more: string; run: () => void };

const MOST_SHOWN = 40;
/** The number of the open dialog; 0 for none. A dialog reports late that it was closed, after the next may be open. */
const opened = signal(0);
let last = 0;

export const openPalette = (): void => {
  opened.value = last += 1;
};

export function Palette() {
  return opened.value ? <PaletteDialog key={opened.value} number={opened.value} /> : null;
}

function PaletteDialog({ number }: { number: number }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const found = matching(useItems(), text);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  useEffect(() => document.getElementById(`go-${at}`)?.scrollIntoView({ block: "nearest" }), [at, text]);
  const run = (item: Item | undefined) => {
    if (!item) return;
    dialog.current?.close();
    item.run();
  };
  const pressed = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && found.length) setAt((at + step + found.length) % found.length);
    else if (event.key === "Enter") run(found[at]);
    else return;
    event.preventDefault();
  };
  return (
    <dialog
      ref={dialog}
      class="palette"
      aria-label="Go to"
      onClose={() => opened.value === number && (opened.value = 0)}
      onClick={(event) => event.target === dialog.current && dialog.current?.close()}
    >
      <input
        type="text"
        role="combobox"
        aria-label="Go to a view, an agent, a claim, or a task"
        aria-expanded="true"
        aria-controls="go-list"
        aria-activedescendant={found.length ? `go-${at}` : undefined}
        placeholder="View, agent, path, task, or action"
        autocomplete="off"
        spellcheck={false}
        autofocus
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={pressed}
      />
      <ul id="go-list" role="listbox" aria-label="Results">
        {found.map((item, index) => (
          <li
            key={item.id}
            id={`go-${index}`}
            role="option"
            aria-selected={index === at}
            onMouseMove={() => index !== at && setAt(index)}
            onClick={() => run(item)}
          >
            <span class="kind">{item.kind}</span>
            <span class="name">{item.name}</span>
            <span class="muted">{item.more}</span>
          </li>
        ))}
      </ul>
      <p class="muted" role="status">
        {found.length ? `${found.length} ${found.length === 1 ? "result" : "results"}` : `Nothing matches "${text}"`}
      </p>
    </dialog>
  );
}

/** Return the items that contain every word, the best first: those whose name begins with the text. */
function matching(items: readonly Item[], text: string): Item[] {
  const typed = text.trim().toLowerCase();
  const words = typed.split(/\s+/).filter(Boolean);
  const rank = (item: Item) => (item.name.toLowerCase().startsWith(typed) ? 0 : 1);
  return items
    .filter((item) => words.every((word) => `${item.kind} ${item.name} ${item.more}`.toLowerCase().includes(word)))
    .map((item, index) => ({ item, index }))
    .sort((a, b) => rank(a.item) - rank(b.item) || a.index - b.index)
    .slice(0, MOST_SHOWN)
    .map(({ item }) => item);
}

function useItems(): Item[] {
  const { data: status } = useStatus();
  const { data: board } = useResource("tasks palette", () => data(api.GET("/api/v1/tasks", { params: { query: { limit: 500 } } })), { on: [] });
  const go = (kind: string, name: string, more: string, to: string): Item => ({ id: `${kind} ${to}`, kind, name, more, run: () => navigate(to) });
  return [
    ...VIEWS.map((view) => go("View", view.name, `g ${view.key}`, href(view.path))),
    ...ACTIONS,
    ...(status?.agents ?? []).map((agent) => go("Agent", agent.id, agent.task || agent.status, href("/crew", { agent: agent.id }))),
    ...(status?.claims ?? []).map((claim) => go("Claim", claim.pattern, `held by ${claim.agent}`, href("/files", { path: claim.pattern }))),
    ...((board?.tasks ?? []) as Schemas["task"][]).map((task) => go("Task", task.title || task.id, task.state, href("/board", { task: task.id }))),
  ];
}

const action = (name: string, more: string, run: () => void): Item => ({ id: `action ${name}`, kind: "Action", name, more, run });

const ACTIONS: readonly Item[] = [
  action("Light theme", "", () => chooseTheme("light")),
  action("Dark theme", "", () => chooseTheme("dark")),
  action("Theme of the system", "", () => chooseTheme("system")),
  action("Copy the address of this page", "", copyAddress),
  action("Show the keys", "?", () => showKeys()),
  action("Sign out", "this browser only", signOut),
];

async function copyAddress(): Promise<void> {
  await act(() => navigator.clipboard.writeText(location.href), "Copied the address");
}

async function signOut(): Promise<void> {
  await act(async () => {
    const answer = await fetch("/logout", { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" }).catch((error) => {
      throw noAnswer(error);
    });
    if (!answer.ok && answer.status !== 401) throw await errorOf(answer);
    endSession();
  }, "");
}
