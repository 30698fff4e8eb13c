/** The state of the crew: agents, claims, and the queue; now, or at the replayed moment. */
import { useMemo } from "preact/hooks";
import { statusAt, tasksAt } from "../history/at";
import { useReplayed } from "../history/load";
import { assignHues } from "../hue";
import type { TaskSpan } from "../history/types";
import { moment } from "../moment";
import { followClock } from "../time";
import { api, data, type Status } from "./client";
import { type Loaded, useResource } from "./resource";

async function loadStatus(): Promise<Status> {
  const status = await data(api.GET("/api/v1/status"));
  assignHues(status.agents);
  followClock(status.now);
  return status;
}

export function useStatus(): Loaded<Status> {
  const live = useResource("status", loadStatus, {
    on: ["lock", "agent", "status", "decision", "release", "conflict", "progress"],
    every: 5,
  });
  const past = useReplayed();
  const at = moment.value;
  return at === null ? live : { ...past, data: past.data && statusAt(past.data, at) };
}

/** Use the state of each task at the replayed moment, by its id; null while the page is live. */
export function useTasksAt(): Map<string, TaskSpan> | null {
  const past = useReplayed();
  const at = moment.value;
  return useMemo(() => (at === null || !past.data ? null : tasksAt(past.data, at)), [past.data, at]);
}
