/** Place the tasks of a dependency graph, from left to right; on a narrow screen, from top to bottom. */
import { Graph, layout as place } from "@dagrejs/dagre";

export type Node = { id: string; x: number; y: number; width: number; height: number };
export type Edge = { from: string; to: string; d: string };
export type Placed = {
  nodes: Node[];
  edges: Edge[];
  width: number;
  height: number;
  /** The tasks directly before and after each task. */
  before: Map<string, string[]>;
  after: Map<string, string[]>;
};

const WIDTH = 232;
const HEIGHT = 52;

export function layout(tasks: readonly { id: string; dependencies: readonly string[] }[], down: boolean): Placed {
  const graph = new Graph();
  graph.setGraph({ rankdir: down ? "TB" : "LR", nodesep: 16, ranksep: down ? 36 : 56, marginx: 16, marginy: 16, ranker: tasks.length > 150 ? "longest-path" : "network-simplex" });
  graph.setDefaultEdgeLabel(() => ({}));
  const known = new Set(tasks.map((one) => one.id));
  const before = new Map<string, string[]>();
  const after = new Map<string, string[]>();
  for (const { id } of tasks) graph.setNode(id, { width: WIDTH, height: HEIGHT });
  for (const { id, dependencies } of tasks)
    for (const needed of new Set(dependencies)) {
      if (!known.has(needed)) continue;
      graph.setEdge(needed, id);
      before.set(id, [...(before.get(id) ?? []), needed]);
      after.set(needed, [...(after.get(needed) ?? []), id]);
    }
  place(graph);
  const size = graph.graph() as { width?: number; height?: number };
  return {
    nodes: tasks.map(({ id }) => ({ id, ...(graph.node(id) as Omit<Node, "id">) })),
    edges: graph.edges().map(({ v, w }) => ({ from: v, to: w, d: curve((graph.edge(v, w) as { points: Point[] }).points) })),
    width: size.width ?? WIDTH,
    height: size.height ?? HEIGHT,
    before,
    after,
  };
}

type Point = { x: number; y: number };

/** Return a smooth path through points. */
function curve([first, ...rest]: readonly Point[]): string {
  if (!first) return "";
  let d = `M${first.x},${first.y}`;
  for (let i = 0; i < rest.length; i++) {
    const point = rest[i] as Point;
    const next = rest[i + 1];
    d += next ? ` Q${point.x},${point.y} ${(point.x + next.x) / 2},${(point.y + next.y) / 2}` : ` L${point.x},${point.y}`;
  }
  return d;
}
