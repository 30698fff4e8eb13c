/** The board: one column for each state. Empty columns are narrow, long ones show their first cards. */
import { useEffect, useRef, useState } from "preact/hooks";
import { param, setParams } from "../../router";
import { Badge } from "../../ui/parts";
import { Card } from "./card";
import { type Column, COLUMNS, columnOf, FINISHED, type Task, titleOf } from "./data";
import { dragged } from "./drag";
import { moveTo, shownIn, whyNot } from "./moves";

const FIRST = 60;
const FIRST_FINISHED = 8;
const MORE = 200;

type Props = { tasks: readonly Task[]; titles: ReadonlyMap<string, string>; loadedAt: number; done: number; refresh: () => void; readOnly: boolean };

export function Columns({ tasks, done, ...rest }: Props) {
  const found = new Map<string, Task[]>(COLUMNS.map((column) => [column.state, []]));
  for (const task of tasks) found.get(shownIn(task))?.push(task);
  for (const state of FINISHED) found.get(state)?.sort((a, b) => (b.completed_at ?? 0) - (a.completed_at ?? 0));
  const board = useRef<HTMLDivElement>(null);
  useArrows(board);
  const narrowed = tasks.length === 0 || param("q") || param("agent") || param("priority");
  return (
    <div class={`columns ${dragged.value ? "dragging" : ""}`} ref={board}>
      {COLUMNS.filter((column) => !param("state") || column.state === param("state")).map((column) => {
        const rows = found.get(column.state) ?? [];
        const count = column.state === "done" && !narrowed ? Math.max(done, rows.length) : rows.length;
        return <OneColumn key={column.state} column={column} rows={rows} count={count} {...rest} />;
      })}
      <Ghost />
    </div>
  );
}

type ColumnProps = Omit<Props, "tasks" | "done"> & { column: Column; rows: readonly Task[]; count: number };

function OneColumn({ column, rows, count, ...rest }: ColumnProps) {
  const finished = FINISHED.includes(column.state);
  const [limit, setLimit] = useState(finished ? FIRST_FINISHED : FIRST);
  const shown = rows.slice(0, limit);
  const left = rows.length - shown.length;
  const chosen = param("task");
  const closed = folded().includes(column.state);
  return (
    <section class={`column ${rows.length && !closed ? "" : "narrow"} ${light(column)}`} data-column={column.state} aria-label={`${column.name}: ${count}`}>
      <header title={column.about}>
        <h2>
          {rows.length > 0 ? (
            <button type="button" aria-expanded={!closed} title={closed ? "Show these tasks" : `Fold: ${column.about}`} onClick={() => fold(column.state)}>
              {column.name}
            </button>
          ) : (
            column.name
          )}
        </h2>
        <Badge tone={count ? column.tone : "neutral"}>{count}</Badge>
      </header>
      {rows.length > 0 && !closed && <p class="column-about">{column.about}</p>}
      <Hint column={column} />
      {!closed && rows.length > 0 && (
        <ul class="cards">
          {shown.map((task) => (
            <Card key={task.id} task={task} chosen={task.id === chosen} {...rest} />
          ))}
        </ul>
      )}
      {left > 0 && !closed && (
        <button type="button" class="show-more" onClick={() => setLimit(limit + MORE)}>
          Show {Math.min(left, MORE)} more
        </button>
      )}
      {left === 0 && !closed && count > rows.length && <p class="muted show-more">{count - rows.length} older: run dibs task ls --all</p>}
    </section>
  );
}

/** Columns that show only their count; the choice is in the URL. */
const folded = (): string[] => (param("fold") || "cancelled").split(",");

function fold(state: string): void {
  const old = folded().filter((one) => one !== "none");
  const next = old.includes(state) ? old.filter((one) => one !== state) : [...old, state];
  setParams({ fold: next.join() === "cancelled" ? "" : next.join() || "none" });
}

/** How a column looks while a card is dragged. */
function light(column: Column): string {
  const drag = dragged.value;
  if (!drag || columnOf(drag.task.state).state === column.state) return "";
  const over = drag.over === column.state ? "over" : "";
  return moveTo(drag.task, column.state) ? `legal ${over}` : `illegal ${over}`;
}

function Hint({ column }: { column: Column }) {
  const drag = dragged.value;
  if (drag?.over !== column.state || columnOf(drag.task.state).state === column.state || moveTo(drag.task, column.state)) return null;
  return <p class="column-hint">{whyNot(drag.task, column.state)}</p>;
}

function Ghost() {
  const drag = dragged.value;
  if (!drag) return null;
  return (
    <div class="ghost" style={{ left: `${drag.x}px`, top: `${drag.y}px` }} aria-hidden="true">
      {titleOf(drag.task)}
    </div>
  );
}

/** Arrow keys move the focus between cards: up and down in a column, left and right between columns. */
function useArrows(board: { current: HTMLElement | null }): void {
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      const here = event.target instanceof Element ? event.target.closest(".card") : null;
      const column = here?.closest("[data-column]");
      if (!here || !column || !board.current) return;
      const columns = [...board.current.querySelectorAll("[data-column]")].filter((one) => one.querySelector(".card"));
      const cards = (one: Element | undefined) => [...(one?.querySelectorAll<HTMLElement>(".card-body") ?? [])];
      const row = cards(column).findIndex((card) => here.contains(card));
      const at = columns.indexOf(column);
      const sideways = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const down = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!sideways && !down) return;
      const next = sideways ? cards(columns[at + sideways]) : cards(column);
      const target = sideways ? next[Math.min(row, next.length - 1)] : next[row + (down ?? 0)];
      target?.focus();
      target?.scrollIntoView({ block: "nearest", inline: "nearest" });
      event.preventDefault();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, [board]);
}
