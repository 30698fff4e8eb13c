/** Load parts of the history. */
import { api, data } from "../api/client";
import { type Loaded, useResource } from "../api/resource";
import { moment } from "../moment";
import { clock } from "../time";
import { type History, withHues } from "./types";

/** Events that change a timeline. */
const CHANGES = ["lock", "agent", "status", "progress", "task", "commit", "merge", "alert", "decision", "write", "release", "file", "foreign"];
const MOST = 50_000;
/** Replay loads this many seconds at a time, with as many before and after. */
const CHUNK = 12 * 3600;

/** Use the history between two times: durations before now, times, or "all". Without an end, it stays current. */
export function useHistory(since: string, until = "", limit = 5000): Loaded<History> {
  return useResource(
    `timeline ${since} ${until} ${limit}`,
    async () => withHues(await data(api.GET("/api/v1/timeline", { params: { query: { since, until, limit } } }))),
    { on: until ? [] : CHANGES, every: until ? undefined : 15 },
  );
}

/** Use the history around the replayed moment; undefined while the page is live. */
export function useReplayed(): Loaded<History | undefined> {
  const at = moment.value;
  const chunk = at === null ? 0 : Math.floor(at / CHUNK);
  const until = (chunk + 2) * CHUNK;
  const reachesNow = until >= clock.peek();
  return useResource<History | undefined>(
    at === null ? "no replay" : `replay ${chunk}`,
    async () => {
      if (at === null) return undefined;
      const query = { since: String((chunk - 1) * CHUNK), until: reachesNow ? "" : String(until), limit: MOST };
      return withHues(await data(api.GET("/api/v1/timeline", { params: { query } })));
    },
    { on: at !== null && reachesNow ? CHANGES : [] },
  );
}
