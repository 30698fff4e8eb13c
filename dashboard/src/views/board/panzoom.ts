/** Pan and zoom a drawing with the mouse, the wheel, or fingers. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";

const SMALLEST = 0.15;
const LARGEST = 2.5;
/** A large graph is not shown smaller than this at first. */
const READABLE = 0.65;

type View = { x: number; y: number; scale: number };

/** Pan and zoom a drawing of this size; one that does not fit is shown around `focus` at first. */
export function usePanZoom(width: number, height: number, focus: { x: number; y: number }) {
  const frame = useRef<HTMLDivElement>(null);
  const [view, setView] = useState<View>({ x: 0, y: 0, scale: 1 });
  const pointers = useRef(new Map<number, { x: number; y: number }>());
  const show = (smallest: number) => {
    const box = frame.current;
    if (!box) return;
    const scale = Math.max(smallest, Math.min(1, box.clientWidth / width, box.clientHeight / height));
    setView({ x: start(box.clientWidth, width * scale, focus.x * scale), y: start(box.clientHeight, height * scale, focus.y * scale), scale });
  };
  const fit = () => show(SMALLEST);
  useLayoutEffect(() => show(READABLE), [width, height]);
  const zoom = (by: number, at?: { x: number; y: number }) =>
    setView((old) => {
      const box = frame.current?.getBoundingClientRect();
      const point = at ?? { x: (box?.width ?? 0) / 2, y: (box?.height ?? 0) / 2 };
      const scale = Math.min(LARGEST, Math.max(SMALLEST, old.scale * by));
      const ratio = scale / old.scale;
      return { scale, x: point.x - (point.x - old.x) * ratio, y: point.y - (point.y - old.y) * ratio };
    });
  const inside = (event: MouseEvent) => {
    const box = frame.current?.getBoundingClientRect();
    return { x: event.clientX - (box?.left ?? 0), y: event.clientY - (box?.top ?? 0) };
  };
  useLayoutEffect(() => {
    const box = frame.current;
    const wheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey && !event.altKey && Math.abs(event.deltaX) > Math.abs(event.deltaY)) return;
      event.preventDefault();
      zoom(Math.exp(-event.deltaY * 0.0015), inside(event));
    };
    box?.addEventListener("wheel", wheel, { passive: false });
    return () => box?.removeEventListener("wheel", wheel);
  }, []);
  const handlers = {
    onPointerDown: (event: PointerEvent) => {
      pointers.current.set(event.pointerId, { x: event.clientX, y: event.clientY });
    },
    onPointerMove: (event: PointerEvent) => {
      const old = pointers.current.get(event.pointerId);
      if (!old) return;
      const here = { x: event.clientX, y: event.clientY };
      const other = [...pointers.current].find(([id]) => id !== event.pointerId)?.[1];
      if (other) zoom(Math.hypot(here.x - other.x, here.y - other.y) / Math.max(1, Math.hypot(old.x - other.x, old.y - other.y)), inside(event));
      else setView((now) => ({ ...now, x: now.x + here.x - old.x, y: now.y + here.y - old.y }));
      pointers.current.set(event.pointerId, here);
    },
    onPointerUp: (event: PointerEvent) => void pointers.current.delete(event.pointerId),
    onPointerLeave: (event: PointerEvent) => void pointers.current.delete(event.pointerId),
    onPointerCancel: (event: PointerEvent) => void pointers.current.delete(event.pointerId),
  };
  return { frame, fit, zoom, handlers, transform: `translate(${view.x},${view.y}) scale(${view.scale})` };
}

/** Return where a drawing begins: in the middle if it fits, otherwise so that the focus is visible. */
function start(room: number, size: number, focus: number): number {
  if (size <= room) return (room - size) / 2;
  return Math.min(0, Math.max(room - size, room / 2 - focus));
}
