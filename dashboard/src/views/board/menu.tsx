/** The menu that moves a card: with the keyboard, and on a phone. */
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { COLUMNS, columnOf, type Task, titleOf } from "./data";
import { labelOf, make, movesOf } from "./moves";

export const menu = signal<{ task: Task; refresh: () => void } | null>(null);

export function MoveMenu() {
  const chosen = menu.value;
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (chosen) dialog.current?.showModal();
  }, [chosen]);
  if (!chosen) return null;
  const { task, refresh } = chosen;
  const moves = movesOf(task);
  const closed = COLUMNS.filter((one) => one.state !== columnOf(task.state).state && !moves.some((move) => move.to === one.state));
  const close = () => dialog.current?.close();
  const key = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    const buttons = [...(dialog.current?.querySelectorAll<HTMLButtonElement>(".move") ?? [])];
    const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
    buttons[(at + step + buttons.length) % buttons.length]?.focus();
    event.preventDefault();
  };
  return (
    <dialog ref={dialog} class="action move-menu" aria-labelledby="move-title" onClose={() => (menu.value = null)} onKeyDown={key} onClick={(event) => event.target === dialog.current && close()}>
      <h2 id="move-title">Move “{titleOf(task)}”</h2>
      <p class="muted">It is in {columnOf(task.state).name}.</p>
      <ul>
        {moves.map((move, index) => (
          <li key={`${move.verb} ${move.to}`}>
            <button
              type="button"
              class="move"
              autofocus={index === 0}
              onClick={() => {
                close();
                void make(task, move, refresh);
              }}
            >
              <b>{columnOf(move.to).name}</b> <span class="muted">{labelOf(move.verb)}</span>
            </button>
          </li>
        ))}
      </ul>
      {closed.length > 0 && <p class="muted">Not possible now: {closed.map((one) => one.name).join(", ")}</p>}
      <footer>
        <button type="button" onClick={close}>
          Close
        </button>
      </footer>
    </dialog>
  );
}
