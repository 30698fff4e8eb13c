/** Times: local, with ages that count. */
import { computed, signal } from "@preact/signals";
import { moment } from "./moment";

/** The time now on the server's clock, in seconds, updated every second. */
export const clock = signal(Date.now() / 1000);
/** The time that the page shows: now, or the moment that it replays. */
export const now = computed(() => moment.value ?? clock.value);

/** How far the server's clock is ahead of this device's. */
let ahead = 0;
const tick = () => (clock.value = Date.now() / 1000 + ahead);
setInterval(tick, 1000);

/** Follow the server's clock: ages and times left are wrong on a device whose clock is. */
export function followClock(server: number): void {
  const found = server - Date.now() / 1000;
  if (Math.abs(found - ahead) < 2) return; // as long as an answer may take
  ahead = found;
  tick();
}

const short = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium", hourCycle: "h23" });

export const localTime = (at: number): string => short.format(at * 1000);
export const localDateTime = (at: number): string => full.format(at * 1000);

/** Return a duration as people say it: 45s, 5m, 2h, 3d. */
export function span(seconds: number): string {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s}s`;
  if (s < 3600) return s % 60 && s < 600 ? `${Math.floor(s / 60)}m ${s % 60}s` : `${Math.floor(s / 60)}m`;
  if (s < 86400) return `${Math.floor(s / 3600)}h ${Math.floor((s % 3600) / 60)}m`;
  return `${Math.floor(s / 86400)}d ${Math.floor((s % 86400) / 3600)}h`;
}
