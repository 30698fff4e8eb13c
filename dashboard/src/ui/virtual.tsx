/** A list of any length: only the rows on the screen are in the document, and all have the same height. */
import type { ComponentChildren, JSX, RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

const EXTRA = 8;

/** Where a list is scrolled to, and how to scroll it. */
export class Scroller {
  element: HTMLElement | null = null;
  constructor(public rowHeight: number) {}

  get atTop(): boolean {
    return !this.element || this.element.scrollTop < this.rowHeight;
  }

  /** Scroll so that a row can be seen: as little as possible, or to a place (0 is the top, 0.5 the middle). */
  show(row: number, place?: number): void {
    const box = this.element;
    if (!box) return;
    const top = row * this.rowHeight;
    const first = box.scrollTop;
    const last = first + box.clientHeight - this.rowHeight;
    if (place === 0 || (place && (top < first || top > last))) box.scrollTop = top - (box.clientHeight - this.rowHeight) * place;
    else if (top < first) box.scrollTop = top;
    else if (top > last) box.scrollTop = top - box.clientHeight + this.rowHeight;
  }

  /** Keep the rows in place after `count` rows were added above them. */
  added(count: number): void {
    if (this.element) this.element.scrollTop += count * this.rowHeight;
  }

  get page(): number {
    return Math.max(1, Math.floor((this.element?.clientHeight ?? 0) / this.rowHeight) - 1);
  }
}

type Props = {
  count: number;
  scroller: Scroller;
  row: (index: number) => ComponentChildren;
  /** Called with the rows on the screen. */
  onWindow?: (first: number, last: number) => void;
  onScroll?: () => void;
} & Omit<JSX.IntrinsicElements["div"], "ref" | "onScroll" | "children">;

export function VirtualList({ count, scroller, row, onWindow, onScroll, ...rest }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [range, setRange] = useState<readonly [number, number]>([0, 0]);
  const measure = () => {
    const element = box.current;
    if (!element) return;
    const first = Math.max(0, Math.floor(element.scrollTop / scroller.rowHeight) - EXTRA);
    const shown = Math.ceil(element.clientHeight / scroller.rowHeight) + 2 * EXTRA;
    const last = Math.min(count, first + shown);
    if (first !== range[0] || last !== range[1]) setRange([first, last]);
    onWindow?.(first, last);
  };
  const latest = useRef(measure);
  latest.current = measure;
  useLayoutEffect(() => {
    scroller.element = box.current;
    latest.current();
    const watch = new ResizeObserver(() => latest.current());
    if (box.current) watch.observe(box.current);
    return () => watch.disconnect();
  }, [scroller, scroller.rowHeight]);
  useLayoutEffect(() => latest.current(), [count]);
  const rows = [];
  for (let index = range[0]; index < Math.min(range[1], count); index++) rows.push(row(index));
  return (
    <div
      {...rest}
      ref={box}
      tabIndex={0}
      onScroll={() => {
        latest.current();
        onScroll?.();
      }}
    >
      <div class="virtual-space" role="presentation" style={{ height: `${count * scroller.rowHeight}px` }}>
        <div class="virtual-window" role="presentation" style={{ transform: `translateY(${range[0] * scroller.rowHeight}px)` }}>
          {rows}
        </div>
      </div>
    </div>
  );
}

/** Make an element as high as the rest of the window, but not lower than `least` pixels. */
export function useRestOfWindow(ref: RefObject<HTMLElement | null>, least = 360): void {
  useEffect(() => {
    const fit = () => {
      const element = ref.current;
      if (!element) return;
      const top = element.getBoundingClientRect().top + scrollY;
      element.style.height = `${Math.max(least, innerHeight - top - 16)}px`;
    };
    fit();
    const watch = new ResizeObserver(fit);
    watch.observe(document.documentElement);
    const before = ref.current?.previousElementSibling;
    if (before) watch.observe(before);
    addEventListener("resize", fit);
    return () => {
      watch.disconnect();
      removeEventListener("resize", fit);
    };
  }, [ref, least]);
}
