/** One task in a side panel: what it is, its result or error, its dependencies, and its history. */
import { useEffect, useRef } from "preact/hooks";
import { api, data } from "../../api/client";
import { useResource } from "../../api/resource";
import { href, Link, setParams } from "../../router";
import { AgentName, Age, Badge, FilePath, Show, TimeLeft } from "../../ui/parts";
import { FoldedText } from "../../ui/folded";
import { PRIORITY_TONES } from "./card";
import { columnOf, isQueued, type Task, titleOf, withTitles } from "./data";
import { labelOf, make, movesOf } from "./moves";

type Props = { id: string; known: ReadonlyMap<string, Task>; titles: ReadonlyMap<string, string>; loadedAt: number; refresh: () => void; readOnly: boolean };

export function Details({ id, known, titles, loadedAt, refresh, readOnly }: Props) {
  const panel = useRef<HTMLElement>(null);
  const close = () => {
    setParams({ task: "" }, { replace: false });
    document.querySelector<HTMLElement>(`[data-task="${CSS.escape(id)}"] .card-body`)?.focus();
  };
  useEffect(() => {
    panel.current?.focus();
    const pressed = (event: KeyboardEvent) => {
      if (event.key === "Escape" && !document.querySelector("dialog[open]")) close();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, [id]);
  const queued = known.get(id);
  return (
    <aside class="details" ref={panel} tabIndex={-1} aria-label="Task details">
      <header>
        <span class="muted">Task</span>
        <button type="button" class="plain" aria-label="Close details" title="Close (Esc)" onClick={close}>
          ×
        </button>
      </header>
      {queued && isQueued(queued) ? (
        <Queued task={queued} loadedAt={loadedAt} />
      ) : (
        <Loaded key={id} id={id} known={known} titles={titles} refresh={refresh} readOnly={readOnly} />
      )}
    </aside>
  );
}

function Queued({ task, loadedAt }: { task: Task; loadedAt: number }) {
  return (
    <>
      <h2>{titleOf(task)}</h2>
      <p>
        <Badge tone={columnOf(task.state).tone}>{columnOf(task.state).name}</Badge> a file of the lock-file queue
      </p>
      {task.holder && (
        <p>
          <AgentName id={task.holder} /> {task.expires_in != null && <TimeLeft until={loadedAt + task.expires_in} />}
        </p>
      )}
      {task.reason && <FoldedText text={task.reason} />}
      <p class="muted">Agents take it with: dibs task take</p>
    </>
  );
}

function Loaded({ id, known, titles, refresh, readOnly }: Omit<Props, "loadedAt">) {
  const found = useResource(`task ${id}`, () => load(id), { on: ["task", "handoff", "lock"], every: 15 });
  const again = () => {
    refresh();
    found.refresh();
  };
  return (
    <Show of={found}>
      {({ task, log, loadedAt }) => (
        <>
          <h2>{titleOf(task)}</h2>
          <div class="card-facts">
            <Badge tone={columnOf(task.state).tone}>{columnOf(task.state).name}</Badge>
            {task.priority && <Badge tone={PRIORITY_TONES[task.priority] ?? "neutral"}>{task.priority} priority</Badge>}
            {task.retries > 0 && <Badge tone="warn">{task.retries === 1 ? "1 retry" : `${task.retries} retries`}</Badge>}
          </div>
          {!readOnly && <Actions task={task} refresh={again} />}
          <Section title="Description" show={!!task.description?.length}>
            {task.description?.map((one) => <FoldedText key={one} text={one} />)}
          </Section>
          <Section title="Why it does not move on" show={task.state !== "error" && !!task.why?.length}>
            {task.why?.map((one) => <FoldedText key={one} text={withTitles(one, titles)} />)}
          </Section>
          <Section title="Error" show={!!task.error}>
            <div class="task-error">
              <FoldedText text={task.error ?? ""} />
            </div>
          </Section>
          <Result task={task} />
          <Facts task={task} loadedAt={loadedAt} />
          <Dependencies title="Needs" ids={task.dependencies} known={known} />
          <Dependencies title="Needed by" ids={task.dependents ?? []} known={known} />
          {task.dependencies.length + (task.dependents?.length ?? 0) > 0 && (
            <button type="button" class="link" onClick={() => setParams({ show: "graph", around: id, path: "" }, { replace: false })}>
              Show in the graph of dependencies
            </button>
          )}
          <History log={log} titles={titles} own={id} />
          {task.text && (
            <details>
              <summary>Task file</summary>
              <p class="path muted">{task.file}</p>
              <pre class="task-file">{task.text}</pre>
            </details>
          )}
        </>
      )}
    </Show>
  );
}

async function load(id: string) {
  const found = await data(api.GET("/api/v1/tasks/{id}", { params: { path: { id } } }));
  return { ...found, task: found.task as Task, loadedAt: Date.now() / 1000 };
}

function Actions({ task, refresh }: { task: Task; refresh: () => void }) {
  const moves = movesOf(task);
  const verbs = moves.filter((move, at) => moves.findIndex((one) => one.verb === move.verb) === at);
  if (!verbs.length) return null;
  return (
    <div class="mail-actions">
      {verbs.map((move) => (
        <button key={move.verb} type="button" onClick={() => void make(task, move, refresh)}>
          {labelOf(move.verb)}
        </button>
      ))}
    </div>
  );
}

function Section({ title, show = true, children }: { title: string; show?: boolean; children: preact.ComponentChildren }) {
  if (!show) return null;
  return (
    <section class="details-section">
      <h3>{title}</h3>
      {children}
    </section>
  );
}

function Result({ task: { result } }: { task: Task }) {
  if (!result) return null;
  return (
    <Section title="Result">
      {result.summary && <FoldedText text={result.summary} />}
      <Paths paths={result.artefacts} />
      {result.next && (
        <p>
          Next: {result.next.title || "a follow-up"} for {result.next.agent}
        </p>
      )}
    </Section>
  );
}

function Paths({ paths }: { paths: readonly string[] }) {
  return (
    <ul>
      {paths.map((path) => (
        <li key={path}>
          <FilePath path={path} />
        </li>
      ))}
    </ul>
  );
}

function Facts({ task, loadedAt }: { task: Task; loadedAt: number }) {
  const times: [string, number | null][] = [
    ["Created", task.created_at],
    ["Started", task.started_at],
    ["Finished", task.completed_at],
  ];
  return (
    <dl class="facts">
      {task.holder && (
        <Fact name="Held by">
          <AgentName id={task.holder} /> {task.expires_in != null && <TimeLeft until={loadedAt + task.expires_in} />}
        </Fact>
      )}
      {task.doer && (
        <Fact name="Done by">
          <AgentName id={task.doer} />
        </Fact>
      )}
      <Fact name="For">{task.agent ?? "anyone"}</Fact>
      {task.artefacts.length > 0 && (
        <Fact name="Files">
          <Paths paths={task.artefacts} />
        </Fact>
      )}
      {times.map(
        ([name, at]) =>
          at !== null && (
            <Fact key={name} name={name}>
              <Age at={at} /> {name === "Created" && task.created_by && `by ${task.created_by}`}
            </Fact>
          ),
      )}
      {task.follow_up && (
        <Fact name="Follow-up">
          <Link to={href("/board", { task: task.follow_up })}>{task.follow_up}</Link>
        </Fact>
      )}
      <Fact name="Id">
        <span class="path">{task.id}</span>
      </Fact>
    </dl>
  );
}

function Fact({ name, children }: { name: string; children: preact.ComponentChildren }) {
  return (
    <div class="row">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Dependencies({ title, ids, known }: { title: string; ids: readonly string[]; known: ReadonlyMap<string, Task> }) {
  return (
    <Section title={title} show={ids.length > 0}>
      <ul class="dependencies">
        {ids.map((id) => {
          const task = known.get(id);
          const column = task && columnOf(task.state);
          return (
            <li key={id}>
              {column && <Badge tone={column.tone}>{column.name}</Badge>}
              <button type="button" class="link" onClick={() => setParams({ task: id }, { replace: false })}>
                {task ? titleOf(task) : id}
              </button>
            </li>
          );
        })}
      </ul>
    </Section>
  );
}

function History({ log, titles, own }: { own: string; log: readonly { seq: number; at: number; agent: string; summary: string }[]; titles: ReadonlyMap<string, string> }) {
  return (
    <Section title="History" show={log.length > 0}>
      <ol class="history">
        {[...log].reverse().map((entry) => (
          <li key={entry.seq}>
            <Age at={entry.at} />
            <div class="said">{withTitles(entry.summary, titles, own)}</div>
          </li>
        ))}
      </ol>
    </Section>
  );
}
