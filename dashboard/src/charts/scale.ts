/** Scales that all charts share: time on the x-axis, values on the y-axis. */

/** A range of time, in seconds. */
export type Range = { begin: number; end: number };
export type Tick = { at: number; text: string };

const MINUTE = 60;
const HOUR = 3600;
const DAY = 86400;
const STEPS = [
  1, 2, 5, 10, 15, 30, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR,
  6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY, 30 * DAY, 90 * DAY, 365 * DAY,
] as const;

const formats = {
  seconds: new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" }),
  minutes: new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" }),
  days: new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" }),
};

export class TimeScale {
  constructor(
    readonly range: Range,
    readonly width: number,
  ) {}

  /** Return the x-coordinate of a time. */
  x(at: number): number {
    return ((at - this.range.begin) / this.length) * this.width;
  }

  /** Return the time at an x-coordinate. */
  at(x: number): number {
    return this.range.begin + (x / Math.max(1, this.width)) * this.length;
  }

  get length(): number {
    return Math.max(1e-6, this.range.end - this.range.begin);
  }

  /** Return round local times, at least `apart` pixels from each other. */
  ticks(apart = 84): Tick[] {
    const wanted = (this.length * apart) / Math.max(1, this.width);
    const step = STEPS.find((one) => one >= wanted) ?? 365 * DAY;
    const offset = new Date(this.range.begin * 1000).getTimezoneOffset() * -MINUTE;
    const found: Tick[] = [];
    for (let at = Math.ceil((this.range.begin + offset) / step) * step - offset; at <= this.range.end; at += step) {
      const isMidnight = (at + offset) % DAY === 0;
      const format = step >= DAY || (isMidnight && step >= MINUTE) ? formats.days : step < MINUTE ? formats.seconds : formats.minutes;
      found.push({ at, text: format.format(at * 1000) });
    }
    return found;
  }
}

/** Return round values from 0 to at least `most`; the last one is the top of the axis. */
export function valueTicks(most: number, whole = true): number[] {
  if (most <= 0) return [0, 1];
  const wanted = Math.max(most, whole ? 1 : 1e-9) / 3;
  const power = 10 ** Math.floor(Math.log10(wanted));
  let step = ([1, 2, 5, 10].find((one) => one * power >= wanted) ?? 10) * power;
  if (whole) step = Math.max(1, step);
  const found = [0];
  while ((found.at(-1) ?? 0) < most || found.length < 2) found.push(Number((found.length * step).toPrecision(12)));
  return found;
}

/** A value that changes at its points and is constant between them. */
export type Points = readonly (readonly [at: number, value: number])[];

/** Return the index of the last point at or before a time, -1 if there is none. */
export function indexAt(points: Points, at: number): number {
  let low = 0;
  let high = points.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((points[middle]?.[0] ?? 0) <= at) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

export const valueAt = (points: Points, at: number): number | undefined => points[indexAt(points, at)]?.[1];
