/** Drag a card with the mouse or a pen. Fingers scroll; on a phone, the card's menu moves it. */
import { signal } from "@preact/signals";
import type { Task } from "./data";

/** The card that is dragged, where the pointer is, and the column under it. */
export const dragged = signal<{ task: Task; x: number; y: number; over: string } | null>(null);

const THRESHOLD = 6;
const EDGE = 60;

/** Begin a drag at a card; `drop` gets the column, "" for none. */
export function startDrag(event: PointerEvent, task: Task, drop: (state: string) => void): void {
  if (event.pointerType === "touch" || event.button !== 0) return;
  if (event.target instanceof Element && event.target.closest("button, a")) return;
  const { clientX, clientY } = event;
  let scrolling = 0;
  const move = (at: PointerEvent) => {
    if (!dragged.value && Math.hypot(at.clientX - clientX, at.clientY - clientY) < THRESHOLD) return;
    at.preventDefault();
    getSelection()?.removeAllRanges();
    dragged.value = { task, x: at.clientX, y: at.clientY, over: columnAt(at.clientX, at.clientY) };
    clearInterval(scrolling);
    scrolling = window.setInterval(() => scroll(at.clientX, at.clientY), 16);
  };
  const end = (over: string) => {
    clearInterval(scrolling);
    removeEventListener("pointermove", move);
    removeEventListener("pointerup", up);
    removeEventListener("pointercancel", cancel);
    removeEventListener("keydown", key, true);
    const was = dragged.value;
    dragged.value = null;
    if (was) swallowClick();
    if (was && over) drop(over);
  };
  const up = (at: PointerEvent) => end(columnAt(at.clientX, at.clientY));
  const cancel = () => end("");
  const key = (pressed: KeyboardEvent) => {
    if (pressed.key !== "Escape" || !dragged.value) return;
    pressed.stopPropagation();
    end("");
  };
  addEventListener("pointermove", move);
  addEventListener("pointerup", up);
  addEventListener("pointercancel", cancel);
  addEventListener("keydown", key, true);
}

function columnAt(x: number, y: number): string {
  return document.elementFromPoint(x, y)?.closest<HTMLElement>("[data-column]")?.dataset.column ?? "";
}

/** Scroll the board while the pointer is at one of its edges. */
function scroll(x: number, y: number): void {
  const board = document.querySelector(".columns");
  if (!board) return;
  const { left, right, top, bottom } = board.getBoundingClientRect();
  if (x > right - EDGE) board.scrollLeft += 10;
  if (x < left + EDGE) board.scrollLeft -= 10;
  const column = document.elementFromPoint(x, y)?.closest("[data-column]");
  if (column && y > bottom - EDGE) column.scrollTop += 10;
  if (column && y < top + EDGE) column.scrollTop -= 10;
}

/** The end of a drag is not a click on the card. */
function swallowClick(): void {
  const swallow = (event: Event) => event.stopPropagation();
  addEventListener("click", swallow, { capture: true, once: true });
  setTimeout(() => removeEventListener("click", swallow, { capture: true }), 0);
}
