/** Who waits for whom, as a graph: an arrow leads from an agent to the owner of what it waits for. */
import { Graph, layout } from "@dagrejs/dagre";
import { useMemo } from "preact/hooks";
import type { Agent } from "../../api/client";
import { now, span } from "../../time";
import { hueOf } from "../../ui/parts";
import { openConflict } from "./conflict";
import { SILENT, type Wait } from "./model";

const MOST_EDGES = 60;
const HEIGHT = 38;
/** The smallest scale at which the text is readable; a larger graph scrolls. */
const SMALLEST = 0.8;
const [LONGEST_NAME, LONGEST_LABEL] = [20, 26];

type Point = { x: number; y: number };
type Box = Point & { width: number };
type Node = Box & { id: string };
type Edge = { key: string; waits: Wait[]; label: string; points: Point[]; at: Box };
type Drawing = { width: number; height: number; nodes: Node[]; edges: Edge[] };

export function WaitGraph({ waits, agents, down }: { waits: readonly Wait[]; agents: readonly Agent[]; down: boolean }) {
  const shown = waits.slice(0, MOST_EDGES);
  const structure = shown.map((one) => `${one.ticket.ticket}\t${one.holder}\t${one.ticket.patterns.join("\t")}`).join("\n");
  const drawing = useMemo(() => draw(shown, down), [structure, down]);
  const seen = new Map(agents.map((agent) => [agent.id, agent.last_seen]));
  return (
    <div class="graph" tabIndex={0} role="group" aria-label="Who waits for whom">
      <svg viewBox={`0 0 ${drawing.width} ${drawing.height}`} style={{ width: drawing.width, minWidth: drawing.width * SMALLEST }}>
        <defs>
          <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">
            <path d="M0 0 8 4 0 8z" />
          </marker>
        </defs>
        {drawing.edges.map((edge) => (
          <EdgeLine key={edge.key} edge={edge} />
        ))}
        {drawing.nodes.map((node) => (
          <NodeBox key={node.id} node={node} seen={seen.get(node.id)} />
        ))}
      </svg>
    </div>
  );
}

function EdgeLine({ edge }: { edge: Edge }) {
  const [first] = edge.waits;
  if (!first) return null;
  const open = () => openConflict(first);
  const words = `${first.ticket.agent} waits for ${first.ticket.patterns.join(", ")}, ${first.queued ? "behind" : "held by"} ${first.holder}`;
  return (
    <g
      class={`edge ${first.queued ? "queued" : ""}`}
      role="button"
      tabIndex={0}
      aria-label={words}
      onClick={open}
      onKeyDown={(event) => {
        if (event.key === "Enter" || event.key === " ") open();
      }}
    >
      <title>{words}</title>
      <path d={curve(edge.points)} class="hit" />
      <path d={curve(edge.points)} class="line" marker-end="url(#arrow)" />
      <rect x={edge.at.x - edge.at.width / 2} y={edge.at.y - 11} width={edge.at.width} height={22} rx={11} />
      <text x={edge.at.x} y={edge.at.y + 4} text-anchor="middle">
        {edge.label}
      </text>
    </g>
  );
}

function NodeBox({ node, seen }: { node: Node; seen: number | undefined }) {
  const left = node.x - node.width / 2;
  const silent = seen === undefined ? 0 : now.value - seen;
  const says = silent >= SILENT;
  return (
    <g class={`node ${says ? "silent" : ""}`} style={{ "--hue": hueOf(node.id) }}>
      <title>{node.id}</title>
      <rect x={left} y={node.y - HEIGHT / 2} width={node.width} height={HEIGHT} rx={8} />
      <circle cx={left + 14} cy={node.y} r={5} />
      <text x={left + 25} y={node.y + (says ? -2 : 4.5)}>
        {shorten(node.id, LONGEST_NAME)}
      </text>
      {says && (
        <text x={left + 25} y={node.y + 12} class="note">
          silent for {span(silent)}
        </text>
      )}
    </g>
  );
}

function draw(waits: readonly Wait[], down: boolean): Drawing {
  const graph = new Graph();
  graph.setGraph({ rankdir: down ? "TB" : "LR", nodesep: 14, edgesep: 14, ranksep: 22, marginx: 4, marginy: 4 });
  const between = new Map<string, Wait[]>();
  for (const wait of waits) {
    const key = `${wait.ticket.agent}\n${wait.holder}`;
    between.set(key, [...(between.get(key) ?? []), wait]);
    for (const id of [wait.ticket.agent, wait.holder]) graph.setNode(id, { width: 36 + 8 * Math.min(id.length, LONGEST_NAME), height: HEIGHT });
  }
  const labels = new Map([...between].map(([key, found]) => [key, labelOf(found)]));
  for (const [key, label] of labels) graph.setEdge(...ends(key), { width: 16 + 6.7 * label.length, height: 24, labelpos: "c" });
  layout(graph);
  const nodes = graph.nodes().map((id): Node => ({ id, ...(graph.node(id) as Box) }));
  const edges = [...between].map(([key, found]): Edge => {
    const { points, ...at } = graph.edge(...ends(key)) as Box & { points: Point[] };
    return { key, waits: found, label: labels.get(key) ?? "", points, at };
  });
  const { width, height } = graph.graph() as { width: number; height: number };
  return { width, height, nodes, edges };
}

function ends(key: string): [string, string] {
  const [from = "", to = ""] = key.split("\n");
  return [from, to];
}

function labelOf(waits: readonly Wait[]): string {
  const paths = [...new Set(waits.flatMap((one) => one.ticket.patterns))];
  const more = paths.length > 1 ? ` +${paths.length - 1}` : "";
  return shorten(paths[0] ?? "", LONGEST_LABEL - more.length) + more;
}

/** Return a smooth path through points. */
function curve(points: readonly Point[]): string {
  const [start, ...rest] = points;
  const end = rest.pop();
  if (!start || !end) return "";
  let path = `M${start.x} ${start.y}`;
  rest.forEach((point, index) => {
    const next = rest[index + 1] ?? end;
    const to = index === rest.length - 1 ? end : { x: (point.x + next.x) / 2, y: (point.y + next.y) / 2 };
    path += `Q${point.x} ${point.y} ${to.x} ${to.y}`;
  });
  return rest.length ? path : `${path}L${end.x} ${end.y}`;
}

/** Shorten a text in its middle: the end of a path says most. */
export function shorten(text: string, length: number): string {
  if (text.length <= length) return text;
  const end = Math.ceil((length - 1) * 0.65);
  return `${text.slice(0, length - 1 - end)}…${text.slice(-end)}`;
}
