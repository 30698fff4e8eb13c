/** Keyboard navigation in lists: the arrow keys, Home, and End move the focus between the items. */
const STEPS: Record<string, (at: number, count: number) => number> = {
  ArrowDown: (at, count) => Math.min(count - 1, at + 1),
  ArrowUp: (at) => Math.max(0, at - 1),
  Home: () => 0,
  End: (_, count) => count - 1,
};

/** Handle a key pressed in a list whose items match `items`. */
export function moveFocus(event: KeyboardEvent, items: string): void {
  const step = STEPS[event.key];
  const list = event.currentTarget;
  if (!step || !(list instanceof Element) || event.altKey || event.ctrlKey || event.metaKey) return;
  if (event.target instanceof Element && event.target.closest("input, select, textarea")) return;
  const found = [...list.querySelectorAll<HTMLElement>(items)];
  const at = found.findIndex((one) => one.contains(document.activeElement));
  found[step(at, found.length)]?.focus();
  event.preventDefault();
}
