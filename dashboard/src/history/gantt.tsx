/** A timeline: a lane per agent or file, with claims, waits, and marks. Usable outside the dashboard. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Range, TimeScale, useWidth } from "../charts";
import { localTime } from "../time";
import { HitCard } from "./card";
import { type Hit, hitAt, renewed } from "./draw";
import { keyAction } from "./keys";
import { type Lane, laneHeight } from "./lanes";
import { Track } from "./track";

type Props = {
  label: string;
  lanes: readonly Lane[];
  range: Range;
  now: number;
  nameOf: (lane: Lane) => ComponentChildren;
  /** The replayed moment. */
  moment?: number | null;
  /** Show all lanes, without a scroll bar. */
  full?: boolean;
  onRange?: (range: Range) => void;
  onMoment?: (at: number) => void;
  onOpen?: (hit: Hit) => void;
};

const NAMES = 170;
const NARROW = 620;
const AXIS = 26;
const DRAG = 4;

export function Gantt(props: Props) {
  const { label, lanes, range, now, nameOf, moment = null, full = false, onRange, onMoment, onOpen } = props;
  const [ref, width] = useWidth<HTMLDivElement>(900);
  const narrow = width < NARROW;
  const left = narrow ? 0 : NAMES;
  const scale = useMemo(() => new TimeScale(range, Math.max(50, width - left - 8)), [range.begin, range.end, width, left]);
  const [chosen, setHit] = useState<Hit | null>(null);
  const hit = useMemo(() => renewed(chosen, lanes), [chosen, lanes]);
  const [picked, setPicked] = useState(0);
  const [drag, setDrag] = useState<{ from: number; to: number } | null>(null);
  const [scroll, setScroll] = useState({ top: 0, height: 800 });
  const body = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (body.current) setScroll({ top: body.current.scrollTop, height: body.current.clientHeight });
  }, [lanes.length, full]);

  const tops: number[] = [];
  let total = 0;
  for (const lane of lanes) {
    tops.push(total);
    total += laneHeight(lane, narrow);
  }
  const shown = lanes.map((lane, index) => ({ lane, index, top: tops[index] ?? 0 })).filter(
    ({ lane, top }) => full || (top + laneHeight(lane, narrow) > scroll.top - 200 && top < scroll.top + scroll.height + 200),
  );
  const xOf = (event: PointerEvent | WheelEvent) => event.clientX - (ref.current?.getBoundingClientRect().left ?? 0) - left;
  const find = (event: PointerEvent): Hit | null => {
    const row = event.target instanceof Element ? event.target.closest<HTMLElement>(".gantt-lane") : null;
    const lane = row ? lanes[Number(row.dataset.index)] : undefined;
    const box = row?.querySelector(".track")?.getBoundingClientRect();
    return lane && box ? hitAt(lane, scale, event.clientX - box.left, event.clientY - box.top, now) : null;
  };
  const down = (event: PointerEvent) => {
    const x = xOf(event);
    if (event.button === 0 && event.pointerType !== "touch" && x >= 0) setDrag({ from: x, to: x });
  };
  const move = (event: PointerEvent) => {
    if (drag && event.buttons & 1) setDrag({ ...drag, to: xOf(event) });
    else if (event.pointerType !== "touch") setHit(find(event));
  };
  const up = (event: PointerEvent) => {
    const found = find(event);
    if (drag && Math.abs(drag.to - drag.from) > DRAG && onRange) {
      onRange({ begin: scale.at(Math.max(0, Math.min(drag.from, drag.to))), end: scale.at(Math.min(scale.width, Math.max(drag.from, drag.to))) });
    } else if (event.pointerType === "touch") {
      // The first tap describes, the second one opens.
      if (found && found.bar === hit?.bar && found.mark === hit?.mark) onOpen?.(found);
      else setHit(found);
    }
    else if (found && drag && !(event.target as Element).closest("a")) onOpen?.(found);
    setDrag(null);
  };
  const wheel = (event: WheelEvent) => {
    if (!onRange) return;
    if (event.ctrlKey) {
      const at = scale.at(Math.max(0, xOf(event)));
      const factor = Math.exp(Math.max(-60, Math.min(60, event.deltaY)) / 150);
      onRange({ begin: at - (at - range.begin) * factor, end: at + (range.end - at) * factor });
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      const by = ((event.deltaX || event.deltaY) / scale.width) * scale.length;
      onRange({ begin: range.begin + by, end: range.end + by });
    } else return;
    event.preventDefault();
  };
  const keys = (event: KeyboardEvent) => {
    const done = keyAction(event, { lanes, picked, hit, range, now });
    if (!done) return;
    event.preventDefault();
    if (done.range) onRange?.(done.range);
    if (done.open && hit) onOpen?.(hit);
    if (done.hit !== undefined) setHit(done.hit);
    if (done.picked !== undefined) {
      setPicked(done.picked);
      body.current?.scrollTo({ top: Math.max(0, (tops[done.picked] ?? 0) - 60) });
    }
  };
  const scrub = (event: PointerEvent) => {
    if (!onMoment || (event.type === "pointermove" && !(event.buttons & 1))) return;
    (event.currentTarget as Element).setPointerCapture(event.pointerId);
    onMoment(Math.min(now, Math.max(range.begin, scale.at(xOf(event)))));
  };
  const edge = scale.x(now);
  const at = moment === null ? null : scale.x(moment);
  return (
    <div class={`gantt ${narrow ? "narrow" : ""} ${full ? "full" : ""}`} ref={ref}>
      <div class={`axis ${onMoment ? "scrubs" : ""}`} onPointerDown={scrub} onPointerMove={scrub} title={onMoment && "Click or drag to replay a moment"}>
        <svg width={width} height={AXIS} aria-hidden="true">
          {onMoment && !narrow && (
            <text class="hint" x={0} y={17}>
              Drag the times to replay
            </text>
          )}
          {scale.ticks(90).map((tick) => (
            <text key={tick.at} x={left + scale.x(tick.at)} y={17} text-anchor={scale.x(tick.at) < 24 && narrow ? "start" : "middle"}>
              {tick.text}
            </text>
          ))}
        </svg>
        {at !== null && at >= 0 && at <= scale.width && (
          <span class="handle" style={{ left: `${left + at}px` }}>
            {localTime(moment ?? 0)}
          </span>
        )}
      </div>
      <div
        class="gantt-lanes"
        ref={body}
        role="application"
        aria-roledescription="timeline"
        tabIndex={0}
        aria-label={`${label}. Arrow keys move, plus and minus zoom, up and down choose a lane, shift with left and right choose a bar.`}
        onScroll={(event) => setScroll({ top: event.currentTarget.scrollTop, height: event.currentTarget.clientHeight })}
        onPointerDown={down}
        onPointerMove={move}
        onPointerUp={up}
        onPointerLeave={(event) => event.pointerType !== "touch" && setHit(null)}
        onWheel={wheel}
        onKeyDown={keys}
      >
        <div class="gantt-space" style={full ? undefined : { height: `${total}px` }}>
          <div class="rules" style={{ left: `${left}px` }} aria-hidden="true">
            {scale.ticks(90).map((tick) => (
              <span key={tick.at} style={{ left: `${scale.x(tick.at)}px` }} />
            ))}
            {edge >= 0 && edge <= scale.width && <span class="edge" style={{ left: `${edge}px` }} />}
          </div>
          {shown.map(({ lane, index, top }) => (
            <div
              key={lane.key}
              class={`gantt-lane ${index === picked ? "chosen" : ""}`}
              data-index={index}
              style={full ? { height: `${laneHeight(lane, narrow)}px` } : { top: `${top}px`, height: `${laneHeight(lane, narrow)}px` }}
            >
              <div class="gantt-name">{nameOf(lane)}</div>
              <Track lane={lane} scale={scale} now={now} picked={hit?.lane === lane ? (hit.bar ?? null) : null} />
            </div>
          ))}
          {at !== null && at >= 0 && at <= scale.width && <span class="moment-line" style={{ left: `${left + at}px` }} />}
          {drag && Math.abs(drag.to - drag.from) > DRAG && onRange && (
            <span class="selection" style={{ left: `${left + Math.min(drag.from, drag.to)}px`, width: `${Math.abs(drag.to - drag.from)}px` }} />
          )}
        </div>
      </div>
      <HitCard hit={hit} scale={scale} left={left} now={now} width={width} top={hit ? AXIS + (tops[lanes.indexOf(hit.lane)] ?? 0) - (full ? 0 : scroll.top) : 0} />
    </div>
  );
}
