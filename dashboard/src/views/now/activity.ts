/** The last ledger entry of each agent: loaded once, then kept current by the events. */
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { api, data, type Entry } from "../../api/client";
import { onEvent, onReset } from "../../api/live";
import { param } from "../../router";

const LOADED = 500;
const last = signal<ReadonlyMap<string, Entry>>(new Map());

/** Return the last entry of each agent, as far as the newest entries contain one. */
export function useActivity(): ReadonlyMap<string, Entry> {
  const project = param("project");
  useEffect(() => {
    const fresh = new Map<string, Entry>();
    let frame = 0;
    const show = () => {
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        last.value = new Map(fresh);
      });
    };
    const add = (entry: Entry) => {
      if (entry.seq > (fresh.get(entry.agent)?.seq ?? 0)) fresh.set(entry.agent, entry);
    };
    const load = async () => {
      const found = await data(api.GET("/api/v1/log", { params: { query: { limit: LOADED } } })).catch(() => null);
      found?.entries.forEach(add);
      show();
    };
    const stops = [onReset(load), onEvent((event) => (add(event.entry), show()))];
    last.value = fresh;
    void load();
    return () => {
      cancelAnimationFrame(frame);
      for (const stop of stops) stop();
    };
  }, [project]);
  return last.value;
}

/** Return what an agent did, without its name in front of it. */
export function deed({ agent, summary }: Entry): string {
  const named = [`${agent}: `, `${agent} `].find((start) => summary.startsWith(start));
  return named ? summary.slice(named.length) : summary;
}
