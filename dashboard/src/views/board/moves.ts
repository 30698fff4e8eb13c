/** Moving a task: the server says which moves are legal; this asks for what a move needs, and makes it. */
import { signal } from "@preact/signals";
import { api, ApiError, data } from "../../api/client";
import { act, ask, toast } from "../../ui/actions";
import { columnOf, type Task, titleOf } from "./data";

export type Move = NonNullable<Task["moves"]>[number];
type Values = Record<string, string>;
type Field = NonNullable<Parameters<typeof ask>[0]["fields"]>[number];

/** Tasks that were moved on this page, and are shown there until the server's answer arrives. */
export const moved = signal<ReadonlyMap<string, { state: string; version: number }>>(new Map());

/** Return the column that shows a task. */
export function shownIn(task: Task): string {
  const found = moved.value.get(task.id);
  return found && found.version === task.version ? found.state : columnOf(task.state).state;
}

const REASON: Field = { name: "reason", label: "Reason" };
const NEEDED: Field = { ...REASON, required: true };

type Verb = { label: string; done: string; fields?: readonly Field[]; danger?: boolean; post: (id: string, version: string, values: Values) => Promise<unknown> };

const at = (id: string, version: string) => ({ params: { path: { id }, header: { "If-Match": version } } });

/** The requests of the API that move a task. */
const VERBS: Record<string, Verb> = {
  start: {
    label: "Take it yourself",
    done: "you took",
    post: (id, version) => api.POST("/api/v1/tasks/{id}/start", { ...at(id, version), body: {} }),
  },
  done: {
    label: "Mark as done",
    done: "done:",
    fields: [{ name: "summary", label: "Result, in one sentence", multiline: true }],
    post: (id, version, { summary = "" }) => api.POST("/api/v1/tasks/{id}/done", { ...at(id, version), body: { summary } }),
  },
  fail: {
    label: "Mark as failed",
    done: "failed:",
    danger: true,
    fields: [{ name: "message", label: "What went wrong", required: true, multiline: true }],
    post: (id, version, { message = "" }) => api.POST("/api/v1/tasks/{id}/fail", { ...at(id, version), body: { message } }),
  },
  release: {
    label: "Put it back",
    done: "released",
    post: (id, version) => api.POST("/api/v1/tasks/{id}/release", { ...at(id, version), body: {} }),
  },
  retry: {
    label: "Retry",
    done: "made available again:",
    fields: [REASON],
    post: (id, version, { reason = "" }) => api.POST("/api/v1/tasks/{id}/retry", { ...at(id, version), body: { reason } }),
  },
  reopen: {
    label: "Reopen",
    done: "reopened",
    fields: [REASON],
    post: (id, version, { reason = "" }) => api.POST("/api/v1/tasks/{id}/reopen", { ...at(id, version), body: { reason } }),
  },
  block: {
    label: "Block",
    done: "blocked",
    fields: [NEEDED],
    post: (id, version, { reason = "" }) => api.POST("/api/v1/tasks/{id}/block", { ...at(id, version), body: { reason } }),
  },
  cancel: {
    label: "Cancel the task",
    done: "cancelled",
    danger: true,
    fields: [NEEDED],
    post: (id, version, { reason = "" }) => api.POST("/api/v1/tasks/{id}/cancel", { ...at(id, version), body: { reason } }),
  },
  reassign: {
    label: "Assign",
    done: "assigned",
    fields: [{ name: "to", label: "To (an agent, a role, or any)", required: true }, REASON],
    post: (id, version, { to = "any", reason = "" }) => api.POST("/api/v1/tasks/{id}/reassign", { ...at(id, version), body: { to, reason } }),
  },
};

export const labelOf = (verb: string): string => VERBS[verb]?.label ?? verb;

/** Return the moves of a task that the dashboard can make. */
export const movesOf = (task: Task): Move[] => (task.moves ?? []).filter((move) => move.verb in VERBS);

/** Return the first move of a task to a column. */
export const moveTo = (task: Task, state: string): Move | undefined => movesOf(task).find((move) => move.to === state);

/** Make a move: ask for what it needs first. A refusal puts the card back and says why. */
export async function make(task: Task, move: Move, refresh: () => void): Promise<void> {
  const verb = VERBS[move.verb];
  if (!verb) return;
  const run = async (values: Values) => {
    moved.value = new Map(moved.value).set(task.id, { state: move.to, version: task.version });
    try {
      await verb.post(task.id, String(task.version), values);
    } catch (error) {
      putBack(task.id);
      if (error instanceof ApiError && error.status === 412)
        throw new ApiError(412, error.code, "the task has changed since you saw it", "close this, and look at it again", "");
      throw error;
    } finally {
      refresh();
    }
    setTimeout(() => putBack(task.id), 5_000); // by then, the board was loaded again
  };
  const done = `${verb.done} ${titleOf(task)}`;
  const fields = move.verb === "reassign" ? await withAgents(verb.fields ?? [], move.to) : verb.fields;
  if (!fields?.length) await act(() => run({}), done);
  else
    ask({
      title: `${verb.label}: ${titleOf(task)}`,
      text: task.holder ? `${task.holder} works on it. It loses the task, and is notified.` : undefined,
      fields,
      button: verb.label,
      danger: verb.danger,
      run,
      done,
    });
}

function putBack(id: string): void {
  const rest = new Map(moved.value);
  if (rest.delete(id)) moved.value = rest;
}

async function withAgents(fields: readonly Field[], to: string): Promise<readonly Field[]> {
  const suggestions = await agentSuggestions();
  return fields.map((field) => (field.name === "to" ? { ...field, suggestions, value: to === "new" ? "any" : "" } : field));
}

/** Return agents and roles to choose from. */
export async function agentSuggestions(): Promise<{ value: string; label: string }[]> {
  const found = await data(api.GET("/api/v1/agents", { params: { query: { limit: 1000 } } })).catch(() => ({ agents: [] }));
  const active = found.agents.filter((one) => !one.ended && one.role !== "human");
  const roles = [...new Set(active.map((one) => one.role))].filter((role) => role && role !== "agent");
  return [...active.map((one) => ({ value: one.id, label: one.role })), ...roles.map((role) => ({ value: role, label: "every agent with this role" }))];
}

/** Say why a task cannot be moved to a column. */
export function refuse(task: Task, state: string): void {
  toast(whyNot(task, state), "bad", `possible: ${possible(task)}`);
}

export function whyNot(task: Task, state: string): string {
  const why = task.closed?.find((one) => one.to === state)?.why;
  return `“${titleOf(task)}” cannot move from ${columnOf(task.state).name} to ${columnOf(state).name}${why ? `: ${why}` : ""}`;
}

function possible(task: Task): string {
  const names = [...new Set(movesOf(task).map((move) => columnOf(move.to).name))];
  return names.join(", ") || "nothing";
}
