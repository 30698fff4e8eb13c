/** Replay: go to a moment, play from there, and return to live. The URL contains the moment. */
import { computed, effect, signal } from "@preact/signals";
import { moment } from "./moment";
import { param, setParams } from "./router";
import { clock } from "./time";

export const SPEEDS = [1, 10, 60] as const;
export const speed = signal<number>(10);
export const isPlaying = signal(false);

const TICK = 100;
/** The API takes a smaller number as a duration. */
const EARLIEST = 1e9;
/** Browsers limit how often a page may change its URL. */
const URL_PAUSE = 500;

let written = "";
let writeTimer = 0;
let playTimer = 0;

/** The replayed moment for requests to the server, as a time: while it plays, it changes once per second. */
export const until = computed(() => {
  if (moment.value === null) return "";
  const step = isPlaying.value ? speed.value : 0.001;
  return new Date(Math.floor(moment.value / step) * step * 1000).toISOString();
});

/** Show a moment; null, or a time in the future, is live. */
export function show(at: number | null): void {
  moment.value = at === null || at >= clock.value ? null : at;
  if (moment.value === null) stop();
  if (!writeTimer) writeTimer = window.setTimeout(write, moment.value === null ? 0 : URL_PAUSE);
}

export function play(): void {
  if (moment.value === null || isPlaying.value) return;
  isPlaying.value = true;
  let last = performance.now();
  playTimer = window.setInterval(() => {
    const time = performance.now();
    if (moment.value !== null) show(moment.value + ((time - last) / 1000) * speed.value);
    last = time;
  }, TICK);
}

export function pause(): void {
  stop();
  write();
}

function stop(): void {
  clearInterval(playTimer);
  isPlaying.value = false;
}

function write(): void {
  clearTimeout(writeTimer);
  writeTimer = 0;
  written = moment.value === null ? "" : (Math.ceil(moment.value * 1000) / 1000).toFixed(3);
  setParams({ at: written });
}

// A link or the browser's history leads to another moment.
effect(() => {
  const at = param("at");
  if (at === written) return;
  written = at;
  const time = Number(at);
  moment.value = at && time > EARLIEST && time < clock.peek() ? time : null;
  if (moment.value === null) stop();
});
