/** The tasks of the board and of the lock-file queue, and how they are shown: columns, labels, filters. */
import { useMemo } from "preact/hooks";
import { api, data, type Schemas } from "../../api/client";
import { type Loaded, useResource } from "../../api/resource";
import { useTasksAt } from "../../api/status";
import type { TaskSpan } from "../../history/types";
import { param } from "../../router";

export type Task = Omit<Schemas["task"], "priority"> & { priority: string | null };
export type Board = { tasks: Task[]; done: number; setAside: Schemas["finding"][]; stale: string };

/** Finished tasks that the board shows, the newest. */
const RECENT = 200;
const PAGE = 1000;

export type Column = { state: string; name: string; tone: Tone; about: string };
export type Tone = "neutral" | "good" | "warn" | "bad" | "info";

/** The states of the board, in the order of a task's life. */
export const COLUMNS: readonly Column[] = [
  { state: "new", name: "New", tone: "neutral", about: "ready to be taken" },
  { state: "assigned", name: "Assigned", tone: "info", about: "its agent has not started yet" },
  { state: "in_progress", name: "In progress", tone: "info", about: "an agent works on it" },
  { state: "blocked", name: "Blocked", tone: "warn", about: "waits for another task or a person" },
  { state: "error", name: "Failed", tone: "bad", about: "waits for a retry" },
  { state: "done", name: "Done", tone: "good", about: "finished" },
  { state: "cancelled", name: "Cancelled", tone: "neutral", about: "not needed anymore" },
];

/** States of files in the lock-file queue and of the graph, by the column that shows them. */
const SAME: Record<string, string> = {
  free: "new", ready: "new", held: "in_progress", "in progress": "in_progress",
  broken: "blocked", failed: "error", archive: "done",
};
export const FINISHED = ["done", "cancelled"];

export function columnOf(state: string): Column {
  const wanted = SAME[state] ?? state;
  return COLUMNS.find((one) => one.state === wanted) ?? { state, name: state, tone: "neutral", about: "" };
}

/** A file of the lock-file queue has no title and no versions: it is not on the board. */
export const isQueued = (task: Task): boolean => task.version === undefined;
export const titleOf = (task: Pick<Task, "title" | "id">): string => task.title || task.id;

export function useBoard(): Loaded<Board> {
  const live = useResource("board", loadBoard, { on: ["task", "handoff", "delegated", "delegation", "board", "lock", "ledger"], every: 15 });
  const then = useTasksAt();
  return useMemo(() => (then && live.data ? { ...live, data: { ...live.data, done: 0, tasks: tasksThen(live.data.tasks, then) } } : live), [then, live.data, live.error]);
}

/** Return the tasks that existed at the replayed moment, in their state then. */
function tasksThen(tasks: readonly Task[], then: ReadonlyMap<string, TaskSpan>): Task[] {
  return tasks.flatMap((task) => {
    const found = then.get(task.id);
    if (!found) return [];
    const holder = found.state === "in_progress" ? found.agent : null;
    return { ...task, state: found.state, holder, expires_in: null, error: null, why: [], moves: [] };
  });
}

async function loadBoard(): Promise<Board> {
  const tasks: Task[] = [];
  for (let cursor = ""; ; ) {
    const query = { recent: RECENT, limit: PAGE, ...(cursor && { cursor }) };
    const page = await data(api.GET("/api/v1/tasks", { params: { query } }));
    tasks.push(...(page.tasks as Task[]));
    if (!page.next_cursor) return { tasks, done: page.done, setAside: page.set_aside, stale: page.stale ?? "" };
    cursor = page.next_cursor;
  }
}

export type Filters = { q: string; agent: string; priority: string; state: string };

export function filters(): Filters {
  return { q: param("q"), agent: param("agent"), priority: param("priority"), state: param("state") };
}

export function matches(task: Task, { q, agent, priority, state }: Filters): boolean {
  if (agent && task.agent !== agent && task.holder !== agent && task.doer !== agent) return false;
  if (priority && (task.priority ?? "normal") !== priority) return false;
  if (state && columnOf(task.state).state !== state) return false;
  if (!q) return true;
  const text = [task.title, task.id, task.agent, task.holder, task.error, task.reason, ...(task.why ?? []), ...(task.artefacts ?? [])];
  return q
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.some((one) => one?.toLowerCase().includes(word)));
}

/** Return a text with the titles of tasks instead of their ids, which are long. */
export function withTitles(text: string, titles: ReadonlyMap<string, string>, own = ""): string {
  return text.replace(/[\w.-]{3,}/g, (word) => {
    const title = titles.get(word);
    return word === own ? "this task" : title && title !== word ? `“${title}”` : word;
  });
}
