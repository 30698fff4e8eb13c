/** The keys that work in every view, and the list that `?` shows. */
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { href, navigate } from "../router";
import { VIEWS } from "../views";
import { openPalette } from "./palette";

const shown = signal(false);

export const showKeys = (): void => {
  shown.value = true;
};

const KEYS: readonly (readonly [string, string])[] = [
  ["Ctrl K", "go to a view, an agent, a claim, or a task (⌘ K on a Mac)"],
  ["/", "search in this view"],
  ["↑ ↓ Home End", "move in a list"],
  ["Enter", "open what is selected"],
  ["Esc", "close, or clear the search"],
  ["+ − ← →", "zoom and move in the timeline"],
  [", . Space", "in a replay: previous event, next event, play or pause"],
  ["?", "show these keys"],
];

/** Handle the keys of the page. */
export function useKeys(): void {
  useEffect(() => {
    let pending = -Infinity;
    const pressed = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        openPalette();
        return;
      }
      const typing = event.target instanceof Element && event.target.closest("input, textarea, select, dialog, [contenteditable]");
      if (typing || event.metaKey || event.ctrlKey || event.altKey || event.defaultPrevented) return;
      const view = event.timeStamp - pending < 1500 && VIEWS.find((one) => one.key === event.key);
      pending = event.key === "g" ? event.timeStamp : -Infinity;
      if (view) navigate(href(view.path));
      else if (event.key === "?") showKeys();
      else if (event.key === "/") {
        document.querySelector<HTMLInputElement>("main input[type=search]")?.focus();
        event.preventDefault();
      }
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
}

export function KeysDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (shown.value) dialog.current?.showModal();
  }, [shown.value]);
  if (!shown.value) return null;
  return (
    <dialog ref={dialog} class="action keys" aria-labelledby="keys-title" onClose={() => (shown.value = false)}>
      <h2 id="keys-title">Keys</h2>
      <dl>
        {KEYS.map(([key, does]) => (
          <Row key={key} keys={key} does={does} />
        ))}
        {VIEWS.map((view) => (
          <Row key={view.path} keys={`g ${view.key}`} does={`open ${view.name}`} />
        ))}
      </dl>
      <footer>
        <button type="button" class="primary" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </footer>
    </dialog>
  );
}

function Row({ keys, does }: { keys: string; does: string }) {
  return (
    <>
      <dt>
        {keys.split(" ").map((key) => (
          <kbd key={key}>{key}</kbd>
        ))}
      </dt>
      <dd>{does}</dd>
    </>
  );
}
