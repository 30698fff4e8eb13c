/** The graph of dependencies: each task after the tasks that it needs, and the longest chain highlighted. */
import { useMemo } from "preact/hooks";
import { api, data } from "../../api/client";
import { useResource } from "../../api/resource";
import { param, setParams } from "../../router";
import { Badge, Empty, Show } from "../../ui/parts";
import { columnOf, titleOf } from "./data";
import { type Edge, layout, type Node, type Placed } from "./layout";
import { usePanZoom } from "./panzoom";

type GraphTask = { id: string; status: string; state: string; title: string; agent: string; priority: string; dependencies: string[] };

export function GraphView({ shown, filtered }: { shown: ReadonlySet<string>; filtered: boolean }) {
  const around = param("around");
  const only = param("path") === "critical";
  const load = () => data(api.GET("/api/v1/board/graph", { params: { query: { task: around } } }));
  const graph = useResource(`graph ${around}`, load, { on: ["task", "handoff"], every: 30 });
  return (
    <Show of={graph}>
      {({ tasks, critical_path: path, cycles, width }) => {
        const rows = tasks as GraphTask[];
        const nodes = only ? rows.filter((one) => path.includes(one.id)) : connected(rows, filtered ? shown : null);
        if (!nodes.length && !only && !around)
          return (
            <Empty title={filtered ? "No task with dependencies matches" : "No task depends on another"} command='dibs task new "Write the tests" --needs ID'>
              A task that needs another one waits until it is done:
            </Empty>
          );
        const open = rows.filter((one) => !isOver(one)).length;
        return (
          <>
            <p class="deps-summary">
              {around && (
                <>
                  Only tasks connected to “{rows.find((one) => one.id === around)?.title ?? around}”:{" "}
                  <button type="button" class="link" onClick={() => setParams({ around: "" })}>
                    show all
                  </button>
                  .{" "}
                </>
              )}
              {open} unfinished {open === 1 ? "task" : "tasks"}. At most {width} can be worked on at the same time.{" "}
              {path.length > 1 && (
                <>
                  <span class="critical-key" aria-hidden="true" /> The critical path, the longest chain of unfinished tasks, has {path.length} tasks:{" "}
                  <button type="button" class="link" onClick={() => setParams({ path: only ? "" : "critical" })}>
                    {only ? "show all tasks" : "show only these"}
                  </button>
                  .
                </>
              )}
              {cycles.length > 0 && <Badge tone="bad">{cycles.length === 1 ? "1 cycle: these tasks can never start" : `${cycles.length} cycles: these tasks can never start`}</Badge>}
            </p>
            <Drawing nodes={nodes} path={path} />
          </>
        );
      }}
    </Show>
  );
}

const isOver = (task: GraphTask): boolean => ["done", "cancelled", "archive"].includes(task.status);

/** Return the unfinished tasks that depend on others or are needed, and the finished tasks they need directly. */
function connected(all: readonly GraphTask[], only: ReadonlySet<string> | null): GraphTask[] {
  const open = all.filter((one) => !isOver(one) && (!only || only.has(one.id)));
  const needed = new Set(open.flatMap((one) => one.dependencies));
  const known = new Set(all.map((one) => one.id));
  const linked = (one: GraphTask) => needed.has(one.id) || one.dependencies.some((id) => known.has(id));
  return all.filter((one) => needed.has(one.id) || (open.includes(one) && linked(one)));
}

function Drawing({ nodes, path }: { nodes: readonly GraphTask[]; path: readonly string[] }) {
  const shape = nodes.map((one) => `${one.id}<${one.dependencies.join()}`).join("\n");
  const down = innerWidth < 700;
  const placed = useMemo(() => layout(nodes, down), [shape, down]);
  const rows = new Map(nodes.map((one) => [one.id, one]));
  const steps = new Set(path.map((id, at) => `${path[at - 1]} ${id}`));
  const focus = placed.nodes.find((one) => one.id === (param("task") || path[0])) ?? placed.nodes[0] ?? { x: 0, y: 0 };
  const view = usePanZoom(placed.width, placed.height, focus);
  return (
    <div class="deps" ref={view.frame}>
      <div class="deps-buttons">
        <button type="button" aria-label="Zoom in" onClick={() => view.zoom(1.3)}>
          +
        </button>
        <button type="button" aria-label="Zoom out" onClick={() => view.zoom(1 / 1.3)}>
          −
        </button>
        <button type="button" onClick={view.fit}>
          Fit
        </button>
      </div>
      <svg role="group" aria-label="Dependencies of tasks" {...view.handlers}>
        <defs>
          <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerUnits="userSpaceOnUse" markerWidth="12" markerHeight="12" orient="auto-start-reverse">
            <path d="M0,0 L8,4 L0,8 z" class="deps-arrow" />
          </marker>
        </defs>
        <g transform={view.transform}>
          {placed.edges.map((edge) => (
            <Line key={`${edge.from} ${edge.to}`} edge={edge} critical={steps.has(`${edge.from} ${edge.to}`)} />
          ))}
          {placed.nodes.map((node) => {
            const task = rows.get(node.id);
            return task && <Box key={node.id} node={node} task={task} critical={path.includes(node.id)} placed={placed} />;
          })}
        </g>
      </svg>
    </div>
  );
}

function Line({ edge, critical }: { edge: Edge; critical: boolean }) {
  return <path class={`deps-edge ${critical ? "critical" : ""}`} d={edge.d} marker-end="url(#arrow)" />;
}

const LETTERS = 27;
const short = (text: string): string => (text.length > LETTERS ? `${text.slice(0, LETTERS - 1)}…` : text);

function Box({ node, task, critical, placed }: { node: Node; task: GraphTask; critical: boolean; placed: Placed }) {
  const column = columnOf(task.state);
  const open = () => setParams({ task: task.id }, { replace: false });
  const key = (event: KeyboardEvent) => {
    if (event.key === "Enter") open();
    const wanted = { ArrowLeft: placed.before, ArrowRight: placed.after }[event.key]?.get(task.id)?.[0];
    if (!wanted) return;
    document.querySelector<SVGGElement>(`[data-node="${CSS.escape(wanted)}"]`)?.focus();
    event.preventDefault();
  };
  const who = task.agent ? ` · ${task.agent}` : "";
  return (
    <g
      class={`deps-node ${column.tone} ${critical ? "critical" : ""} ${param("task") === task.id ? "chosen" : ""}`}
      data-node={task.id}
      transform={`translate(${node.x - node.width / 2},${node.y - node.height / 2})`}
      role="link"
      tabIndex={0}
      aria-label={`${titleOf(task)}: ${column.name}${critical ? ", on the critical path" : ""}`}
      onClick={open}
      onKeyDown={key}
    >
      <title>{`${titleOf(task)}\n${task.id}`}</title>
      <rect width={node.width} height={node.height} rx="8" />
      <text x="12" y="22" class="deps-title">
        {short(titleOf(task))}
      </text>
      <text x="12" y="40" class="deps-state">
        {short(`${column.name}${who}`)}
      </text>
    </g>
  );
}
