/** Board: tasks by state, with filters, details, and the graph of their dependencies. */
import { useMemo } from "preact/hooks";
import { useRights } from "../../api/rights";
import { param, setParams } from "../../router";
import { Empty, Show } from "../../ui/parts";
import { type Board, COLUMNS, filters, matches, type Task, titleOf, useBoard } from "./data";
import { Columns } from "./columns";
import { Details } from "./details";
import { GraphView } from "./graph";
import { MoveMenu } from "./menu";
import { newTask } from "./new";

const PRIORITIES = ["critical", "high", "medium", "normal", "low"];

export function BoardView() {
  const board = useBoard();
  return <Show of={board}>{(found) => <Whole board={found} refresh={board.refresh} />}</Show>;
}

function Whole({ board, refresh }: { board: Board; refresh: () => void }) {
  const { tasks, done } = board;
  const readOnly = !useRights().act;
  const loadedAt = useMemo(() => Date.now() / 1000, [board]);
  const known = useMemo(() => new Map(tasks.map((task) => [task.id, task])), [tasks]);
  const titles = useMemo(() => new Map(tasks.map((task) => [task.id, titleOf(task)])), [tasks]);
  const wanted = filters();
  const shown = useMemo(() => tasks.filter((task) => matches(task, wanted)), [tasks, wanted.q, wanted.agent, wanted.priority, wanted.state]);
  const rest = { titles, loadedAt, refresh, readOnly };
  const graph = param("show") === "graph";
  return (
    <div class={`board ${param("task") ? "with-details" : ""}`}>
      <div class="board-main">
        <h1 class="visually-hidden">Board</h1>
        <Toolbar tasks={tasks} count={shown.length} refresh={refresh} readOnly={readOnly} />
        <Notes board={board} />
        {tasks.length === 0 && !param("task") ? (
          <Empty title="No tasks yet" command='dibs task new "Fix the login" --for developer'>
            A task goes to one agent at a time. Create the first one here with “New task”, or in a terminal:
          </Empty>
        ) : graph ? (
          <GraphView shown={new Set(shown.map((task) => task.id))} filtered={shown.length < tasks.length} />
        ) : shown.length === 0 ? (
          <Empty title="No task matches">Change or clear the filters.</Empty>
        ) : (
          <Columns tasks={shown} done={done} {...rest} />
        )}
      </div>
      {param("task") && <Details id={param("task")} known={known} {...rest} />}
      <MoveMenu />
    </div>
  );
}

function Toolbar({ tasks, count, refresh, readOnly }: { tasks: readonly Task[]; count: number; refresh: () => void; readOnly: boolean }) {
  const agents = useMemo(() => [...new Set(tasks.flatMap((task) => [task.holder, task.agent, task.doer].filter((one) => one != null)))].sort(), [tasks]);
  const { q, agent, priority, state } = filters();
  const graph = param("show") === "graph";
  const filtered = q || agent || priority || state;
  return (
    <div class="toolbar">
      <div class="tabs" role="group" aria-label="Show as">
        <button type="button" aria-pressed={!graph} onClick={() => setParams({ show: "", around: "", path: "" })}>
          Board
        </button>
        <button type="button" aria-pressed={graph} onClick={() => setParams({ show: "graph" })}>
          Dependencies
        </button>
      </div>
      <input type="search" aria-label="Search tasks" placeholder="Search tasks" value={q} onInput={(event) => setParams({ q: event.currentTarget.value })} />
      <Choice name="agent" label="Any agent or role" value={agent} options={agents.map((one) => [one, one])} />
      <Choice name="priority" label="Any priority" value={priority} options={PRIORITIES.map((one) => [one, one])} />
      <Choice name="state" label="Any state" value={state} options={COLUMNS.map((one) => [one.state, one.name])} />
      {filtered && (
        <button type="button" onClick={() => setParams({ q: "", agent: "", priority: "", state: "" })}>
          Clear
        </button>
      )}
      <span class="muted" role="status">
        {filtered ? `${count} of ${tasks.length} tasks` : ""}
      </span>
      {!readOnly && (
        <button type="button" class="primary last" onClick={() => void newTask(tasks, refresh)}>
          New task
        </button>
      )}
    </div>
  );
}

function Choice({ name, label, value, options }: { name: string; label: string; value: string; options: [string, string][] }) {
  return (
    <select aria-label={label} value={value} onChange={(event) => setParams({ [name]: event.currentTarget.value })}>
      <option value="">{label}</option>
      {options.map(([key, text]) => (
        <option key={key} value={key}>
          {text}
        </option>
      ))}
      {value && !options.some(([key]) => key === value) && <option value={value}>{value}</option>}
    </select>
  );
}

/** Files that the board could not accept. */
function Notes({ board }: { board: Board }) {
  const wrong = board.setAside.length;
  if (!wrong && !board.stale) return null;
  return (
    <div class="board-notes">
      {board.stale && <p class="muted">{board.stale}</p>}
      {wrong > 0 && (
        <details>
          <summary>
            {wrong === 1 ? "1 task file cannot be read" : `${wrong} task files cannot be read`}, so agents cannot take {wrong === 1 ? "it" : "them"}
          </summary>
          <ul class="rows">
            {board.setAside.map((one) => (
              <li key={`${one.file} ${one.line} ${one.code}`}>
                <span class="path">
                  {one.file}
                  {one.line ? `:${one.line}` : ""}
                </span>{" "}
                {one.message}
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}
