/** A card of the board: what the task is, who has it, and why it does not move on. */
import { setParams } from "../../router";
import { AgentName, Badge, TimeLeft } from "../../ui/parts";
import { now } from "../../time";
import { isQueued, type Task, titleOf, withTitles } from "./data";
import { dragged, startDrag } from "./drag";
import { menu } from "./menu";
import { make, moveTo, movesOf, refuse } from "./moves";

type Props = { task: Task; titles: ReadonlyMap<string, string>; loadedAt: number; chosen: boolean; refresh: () => void; readOnly: boolean };

export const PRIORITY_TONES: Record<string, "bad" | "warn" | "neutral"> = { critical: "bad", high: "warn", medium: "neutral", low: "neutral" };

export function Card({ task, titles, loadedAt, chosen, refresh, readOnly }: Props) {
  const movable = !readOnly && !isQueued(task) && movesOf(task).length > 0;
  const drop = (state: string) => {
    if (state === task.state) return;
    const move = moveTo(task, state);
    if (move) void make(task, move, refresh);
    else refuse(task, state);
  };
  const open = () => setParams({ task: task.id }, { replace: false });
  const key = (event: KeyboardEvent) => {
    if (event.target !== event.currentTarget) return;
    if (event.key === "Enter") open();
    else if (event.key === "m" && movable) menu.value = { task, refresh };
    else return;
    event.preventDefault();
  };
  return (
    <li
      class={`card ${chosen ? "chosen" : ""} ${movable ? "movable" : ""} ${dragged.value?.task.id === task.id ? "lifted" : ""}`}
      data-task={task.id}
      onPointerDown={movable ? (event) => startDrag(event, task, drop) : undefined}
    >
      <div class="card-body" role="link" tabIndex={0} aria-label={`${titleOf(task)}: open details`} onClick={open} onKeyDown={key}>
        <div class="card-title">{titleOf(task)}</div>
        <Facts task={task} loadedAt={loadedAt} />
        <Why task={task} titles={titles} />
        <div class="card-id mono">{task.id}</div>
      </div>
      {movable && (
        <button type="button" class="card-move" aria-label={`Move ${titleOf(task)}`} title="Move… (m)" onClick={() => (menu.value = { task, refresh })}>
          Move…
        </button>
      )}
    </li>
  );
}

function Facts({ task, loadedAt }: { task: Task; loadedAt: number }) {
  const priority = task.priority ?? "normal";
  const who = task.holder ?? task.doer ?? null;
  return (
    <div class="card-facts">
      {priority !== "normal" && <Badge tone={PRIORITY_TONES[priority] ?? "neutral"}>{priority}</Badge>}
      {isQueued(task) && <Badge>lock file</Badge>}
      {who ? <AgentName id={who} plain /> : task.agent ? <span class="muted">for {task.agent}</span> : null}
      {task.holder && task.expires_in != null && <TimeLeft until={loadedAt + task.expires_in} />}
      {task.retries > 0 && (
        <span class="muted">
          {task.retries} {task.retries === 1 ? "retry" : "retries"}
        </span>
      )}
    </div>
  );
}

function Why({ task, titles }: { task: Task; titles: ReadonlyMap<string, string> }) {
  const [first, ...more] = task.why ?? [];
  if (!first) return null;
  return (
    <div class={`card-why ${task.state === "error" ? "bad" : ""}`}>
      {withTitles(first, titles)}
      {more.length > 0 && ` (and ${more.length} more)`}
    </div>
  );
}

/** The time at which the rows were loaded: claims expire that many seconds after it. */
export const loadedNow = (): number => now.peek();
