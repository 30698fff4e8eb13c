/** Values over time, as steps: a value is true until the next one. Hover or use the arrow keys to read a moment. */
import { useState } from "preact/hooks";
import { localDateTime } from "../time";
import { indexAt, type Points, type Range, TimeScale, valueAt, valueTicks } from "./scale";
import { useWidth } from "./width";

export type Series = {
  name: string;
  points: Points;
  /** The hue of an agent, or one of the tones of the page. */
  hue?: number;
  tone?: "accent" | "warn" | "bad" | "good" | "info";
};

type Props = {
  title: string;
  series: readonly Series[];
  range: Range;
  /** Says what a value is: 3 -> "3 claims", 0.5 -> "50 %". */
  format?: (value: number) => string;
  /** The values are counts. */
  whole?: boolean;
  height?: number;
  /** A vertical line, for a replayed moment. */
  mark?: number | null;
  empty?: string;
};

const LEFT = 44;
const BOTTOM = 18;
const TOP = 8;
const RIGHT = 6;

export function LineChart(props: Props) {
  const { title, series, range, format = String, whole = true, height = 130, mark = null, empty = "Nothing happened in this range." } = props;
  const [ref, width] = useWidth<HTMLDivElement>();
  const [cursor, setCursor] = useState<number | null>(null);
  const scale = new TimeScale(range, Math.max(1, width - LEFT - RIGHT));
  const shown = series.map((one) => within(one.points, range));
  const most = Math.max(0, ...shown.flatMap((points) => points.map((point) => point[1])));
  const values = valueTicks(most, whole);
  const top = values.at(-1) ?? 1;
  const plot = height - TOP - BOTTOM;
  const y = (value: number) => TOP + plot - (value / top) * plot;
  const at = cursor ?? mark ?? range.end;
  const texts = series.map((one) => `${one.name} ${format(valueAt(one.points, at) ?? 0)}`);
  const move = (event: PointerEvent) => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    setCursor(clamp(scale.at(event.clientX - box.left - LEFT), range));
  };
  const pressed = (event: KeyboardEvent) => {
    const next = nextStep(event.key, at, shown, range);
    if (next === undefined) return;
    setCursor(next);
    event.preventDefault();
  };
  return (
    <figure class="chart">
      <figcaption>
        <span class="chart-title">{title}</span>
        <span class="legend">
          {series.map((one) => (
            <span key={one.name} class={`key ${one.tone ?? ""}`} style={hueStyle(one.hue)}>
              {one.name} <b>{format(valueAt(one.points, at) ?? 0)}</b>
            </span>
          ))}
          <time class="muted">{cursor === null ? (mark === null ? "latest" : "then") : localDateTime(at)}</time>
        </span>
      </figcaption>
      <div
        ref={ref}
        class="plot"
        role="slider"
        tabIndex={0}
        aria-label={`${title}, from ${localDateTime(range.begin)} to ${localDateTime(range.end)}, highest ${format(most)}`}
        aria-valuemin={Math.round(range.begin)}
        aria-valuemax={Math.round(range.end)}
        aria-valuenow={Math.round(at)}
        aria-valuetext={`${localDateTime(at)}: ${texts.join(", ")}`}
        onPointerMove={move}
        onPointerLeave={() => setCursor(null)}
        onBlur={() => setCursor(null)}
        onKeyDown={pressed}
      >
        <svg width={width} height={height} aria-hidden="true">
          {values.map((value) => (
            <g key={value} class="grid">
              <line x1={LEFT} x2={width - RIGHT} y1={y(value)} y2={y(value)} />
              <text x={LEFT - 6} y={y(value) + 4} text-anchor="end">
                {format(value)}
              </text>
            </g>
          ))}
          {scale.ticks(width < 420 ? 70 : 90).map((tick) => (
            <text key={tick.at} class="tick" x={LEFT + scale.x(tick.at)} y={height - 3} text-anchor="middle">
              {tick.text}
            </text>
          ))}
          {series.map((one, index) => (
            <g key={one.name} class={`series ${one.tone ?? ""}`} style={hueStyle(one.hue)}>
              {series.length === 1 && <path class="area" d={area(shown[index] ?? [], scale, y, range.end)} />}
              <path class="line" d={steps(shown[index] ?? [], scale, y, range.end)} />
              {cursor !== null && <circle r={3.5} cx={LEFT + scale.x(at)} cy={y(valueAt(one.points, at) ?? 0)} />}
            </g>
          ))}
          {(cursor ?? mark) !== null && <line class="cursor" x1={LEFT + scale.x(at)} x2={LEFT + scale.x(at)} y1={TOP} y2={height - BOTTOM} />}
          {most === 0 && (
            <text class="none" x={LEFT + (width - LEFT) / 2} y={TOP + plot / 2} text-anchor="middle">
              {empty}
            </text>
          )}
        </svg>
      </div>
    </figure>
  );
}

const hueStyle = (hue: number | undefined) => (hue === undefined ? undefined : { "--hue": hue });
const clamp = (at: number, { begin, end }: Range) => Math.min(end, Math.max(begin, at));

/** Return the points of a range, with the value that was true at its begin. */
function within(points: Points, { begin, end }: Range): Points {
  const first = indexAt(points, begin);
  const inside = points.slice(first + 1, indexAt(points, end) + 1);
  return [[begin, points[first]?.[1] ?? 0], ...inside];
}

function steps(points: Points, scale: TimeScale, y: (value: number) => number, end: number): string {
  const parts = points.map(([at, value], index) => {
    const x = (LEFT + scale.x(at)).toFixed(1);
    return index ? `H${x}V${y(value).toFixed(1)}` : `M${x} ${y(value).toFixed(1)}`;
  });
  return `${parts.join("")}H${(LEFT + scale.x(end)).toFixed(1)}`;
}

function area(points: Points, scale: TimeScale, y: (value: number) => number, end: number): string {
  return `${steps(points, scale, y, end)}V${y(0)}H${LEFT}Z`;
}

/** Return the time that a key moves the cursor to: the next or previous change. */
function nextStep(key: string, at: number, shown: readonly Points[], range: Range): number | undefined {
  const times = shown.flatMap((points) => points.map((point) => point[0]));
  if (key === "ArrowRight") return Math.min(range.end, ...times.filter((time) => time > at));
  if (key === "ArrowLeft") return Math.max(range.begin, ...times.filter((time) => time < at));
  if (key === "Home") return range.begin;
  if (key === "End") return range.end;
  return undefined;
}
