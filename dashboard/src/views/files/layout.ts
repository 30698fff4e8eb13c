/** Where the rectangles of the map are. */
import { hierarchy, treemap, treemapSquarify } from "d3-hierarchy";
import type { FileNode, Listing } from "./data";

export type By = "size" | "files";
export type Cell = { node: FileNode; x: number; y: number; width: number; height: number; inner: boolean };
type Branch = { node: FileNode; children: Branch[]; weight: number };

const HEADER = 20;
/** Rectangles that no one can see are not drawn. */
const SMALLEST = 3;

/** Return the rectangles of a folder's nodes; those of folders come before those in them. */
export function cellsOf(listing: Listing, by: By, width: number, height: number): Cell[] {
  const root: Branch = { node: listing.total, children: [], weight: 0 };
  const least = listing.total.bytes / 300;
  const known = new Map<string, Branch>([[listing.folder, root]]);
  for (const node of [...listing.nodes].sort((a, b) => a.path.length - b.path.length)) {
    const branch = { node, children: [], weight: by === "files" ? node.files : Math.max(node.bytes, matters(node) ? least : 1) };
    known.set(node.path, branch);
    known.get(node.path.slice(0, Math.max(0, node.path.lastIndexOf("/"))))?.children.push(branch);
  }
  const tree = hierarchy(root, (branch) => branch.children)
    .sum((branch) => (branch.children.length ? 0 : branch.weight))
    .sort((a, b) => (b.value ?? 0) - (a.value ?? 0));
  treemap<Branch>().tile(treemapSquarify).size([width, height]).round(true).paddingInner(2).paddingOuter(2).paddingTop((one) => (one.depth ? HEADER : 0))(tree);
  const cells: Cell[] = [];
  tree.eachBefore((one) => {
    if (!one.depth) return;
    const { x0, y0, x1, y1 } = one as unknown as { x0: number; y0: number; x1: number; y1: number };
    if (x1 - x0 < SMALLEST || y1 - y0 < SMALLEST) return;
    cells.push({ node: one.data.node, x: x0, y: y0, width: x1 - x0, height: y1 - y0, inner: Boolean(one.children) });
  });
  return cells;
}

/** A file that someone holds or wants can be seen, however small it is. */
const matters = (node: FileNode): boolean => node.owners.length > 0 || node.waiting > 0 || node.contention > 0 || node.conflicts > 0;

/** Return the nearest cell in a direction, for the arrow keys. */
export function neighbor(cells: readonly Cell[], from: Cell, key: string): Cell | undefined {
  const center = (cell: Cell) => [cell.x + cell.width / 2, cell.y + (cell.inner ? HEADER / 2 : cell.height / 2)] as const;
  const [x, y] = center(from);
  let best: Cell | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const cell of cells) {
    if (cell === from) continue;
    const [cx, cy] = center(cell);
    const isRow = key === "ArrowRight" || key === "ArrowLeft";
    const along = (isRow ? cx - x : cy - y) * (key === "ArrowRight" || key === "ArrowDown" ? 1 : -1);
    const across = isRow ? cy - y : cx - x;
    const distance = along + 2 * Math.abs(across);
    if (along > 1 && distance < least) {
      least = distance;
      best = cell;
    }
  }
  return best;
}
