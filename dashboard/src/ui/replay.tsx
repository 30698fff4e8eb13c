/** The bar above every view while the page shows the past. */
import { useEffect, useMemo } from "preact/hooks";
import { eventTimes } from "../history/at";
import { useReplayed } from "../history/load";
import { moment } from "../moment";
import { isPlaying, pause, play, show, speed, SPEEDS } from "../replay";
import { clock, localDateTime, span } from "../time";

const toggle = () => (isPlaying.value ? pause() : play());

export function ReplayBar() {
  const at = moment.value;
  const { data, error } = useReplayed();
  const times = useMemo(() => (data ? eventTimes(data) : []), [data]);
  const next = at === null ? undefined : times.find((time) => time > at + 0.001);
  const previous = at === null ? undefined : times.findLast((time) => time < at - 0.001);
  const step = (to: number | undefined) => to !== undefined && show(to);
  const keys = (event: KeyboardEvent) => {
    const busy = event.target instanceof Element && event.target.closest("input, textarea, select, button, a, dialog");
    if (busy || event.metaKey || event.ctrlKey || event.altKey) return;
    if (event.key === ",") step(previous);
    else if (event.key === ".") step(next);
    else if (event.key === " ") toggle();
    else return;
    event.preventDefault();
  };
  useEffect(() => {
    if (at === null) return undefined;
    addEventListener("keydown", keys);
    return () => removeEventListener("keydown", keys);
  });
  if (at === null) return null;
  const first = Math.min(at, Math.max(data?.since ?? at, data?.known_since ?? at));
  return (
    <section class="replay" aria-label="Replay">
      <span>Replay</span>
      <strong>
        <time dateTime={new Date(at * 1000).toISOString()}>{localDateTime(at)}</time>
      </strong>
      <span class="muted">{span(clock.value - at)} ago{error ? `, ${error.message}` : data ? "" : ", loading"}</span>
      <span class="choice" role="group" aria-label="Play">
        <button type="button" disabled={previous === undefined} title="Previous event (,)" aria-label="Previous event" onClick={() => step(previous)}>
          ◀◀
        </button>
        <button type="button" aria-label={isPlaying.value ? "Pause" : "Play"} title="Play or pause (space)" onClick={toggle}>
          {isPlaying.value ? "❚❚" : "▶"}
        </button>
        <button type="button" disabled={next === undefined} title="Next event (.)" aria-label="Next event" onClick={() => step(next)}>
          ▶▶
        </button>
      </span>
      <span class="choice" role="group" aria-label="Speed">
        {SPEEDS.map((one) => (
          <button key={one} type="button" aria-pressed={speed.value === one} onClick={() => (speed.value = one)}>
            {one}×
          </button>
        ))}
      </span>
      <input
        type="range"
        aria-label="Moment"
        aria-valuetext={localDateTime(at)}
        min={first}
        max={clock.value}
        step="any"
        value={at}
        onInput={(event) => show(Number(event.currentTarget.value))}
      />
      <button type="button" class="primary" onClick={() => show(null)}>
        Back to live
      </button>
    </section>
  );
}
