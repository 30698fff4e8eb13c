/**
 * Data of the server that is loaded again when an event says that it changed.
 *
 * The server decides everything; the dashboard keeps no rules of its own. Requests for the same data are shared,
 * never overlap, and are at least as far apart as four times their own duration, so that a busy crew or a slow
 * server is not flooded.
 */
import { type Signal, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { param } from "../router";
import { type ApiError, asApiError } from "./client";
import { onEvent, onReset } from "./live";

const SHORTEST_PAUSE = 80;
const KEPT_UNUSED = 20_000;

type Options = {
  /** Events that change the data: whole names (`alert:new`) or groups (`lock`). */
  on: readonly string[];
  /** Load it regularly, too, in seconds: for what changes without an event. */
  every?: number;
  /** The same for all projects. */
  shared?: boolean;
};

export type Loaded<T> = { data: T | undefined; error: ApiError | null; refresh: () => void };

class Resource<T> {
  readonly data: Signal<T | undefined> = signal(undefined);
  readonly error = signal<ApiError | null>(null);
  private users = 0;
  private timer = 0;
  private unused = 0;
  private every = 0;
  private busy = false;
  private wanted = false;
  private pause = SHORTEST_PAUSE;
  private stops: (() => void)[] = [];

  constructor(
    private readonly load: () => Promise<T>,
    private readonly options: Options,
    private readonly forget: () => void,
  ) {}

  use(): () => void {
    clearTimeout(this.unused);
    if (this.users++ === 0) this.start();
    return () => {
      if (--this.users === 0) this.unused = window.setTimeout(() => this.stop(), KEPT_UNUSED);
    };
  }

  refresh = (): void => {
    this.wanted = true;
    if (!this.busy && !this.timer) void this.run();
  };

  private start(): void {
    if (!this.stops.length) {
      this.stops = [
        onEvent((event) => {
          const group = event.type.split(":", 1)[0] ?? "";
          if (this.options.on.includes(event.type) || this.options.on.includes(group)) this.refresh();
        }),
        onReset(this.refresh),
      ];
      if (this.options.every) this.every = window.setInterval(this.refresh, this.options.every * 1000);
    }
    this.refresh();
  }

  private stop(): void {
    for (const stop of this.stops) stop();
    this.stops = [];
    clearInterval(this.every);
    this.forget();
  }

  private async run(): Promise<void> {
    this.busy = true;
    this.wanted = false;
    const began = performance.now();
    try {
      this.data.value = await this.load();
      this.error.value = null;
    } catch (error) {
      this.error.value = asApiError(error);
    }
    this.busy = false;
    this.pause = Math.max(SHORTEST_PAUSE, 4 * (performance.now() - began));
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      if (this.wanted) void this.run();
    }, this.pause);
  }
}

const resources = new Map<string, Resource<unknown>>();

/** Load data again after an action that no event reports. */
export function reload(...keys: string[]): void {
  for (const [full, resource] of resources) if (keys.some((key) => full.endsWith(` ${key}`))) resource.refresh();
}

/** Use data of the server in a component; `key` names the request, with all its parameters. */
export function useResource<T>(key: string, load: () => Promise<T>, options: Options): Loaded<T> {
  const full = `${options.shared ? "" : param("project")} ${key}`;
  let found = resources.get(full) as Resource<T> | undefined;
  if (!found) {
    found = new Resource(load, options, () => resources.delete(full));
    resources.set(full, found as Resource<unknown>);
  }
  const resource = found;
  useEffect(() => resource.use(), [resource]);
  return { data: resource.data.value, error: resource.error.value, refresh: resource.refresh };
}
