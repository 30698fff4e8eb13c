/** The repository as a tree; the keys of the ARIA tree pattern. Folders are loaded when they are opened. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { AgentName, Badge, Show } from "../../ui/parts";
import { counted, visible } from "../../ui/text";
import { Scroller, VirtualList } from "../../ui/virtual";
import { type FileNode, type Listing, parentOf, sizeText, useFolders, useFound } from "./data";
import { describe, heatLevel, lookOf, type Mode, ownerText } from "./owners";

type Props = { mode: Mode; selected: string; search: string; onOpen: (path: string) => void };
type Row = { node: FileNode; level: number; open: boolean };

const ROW = 32;

/** Return the folders above a path, and the root. */
const above = (path: string): string[] => path.split("/").map((_, depth, parts) => parts.slice(0, depth).join("/"));

export function FileTree(props: Props) {
  return props.search ? <Found {...props} /> : <Folders {...props} />;
}

function Folders(props: Props) {
  const [open, setOpen] = useState<ReadonlySet<string>>(() => new Set(["", ...above(props.selected)]));
  useEffect(() => {
    if (props.selected) setOpen((known) => new Set([...known, ...above(props.selected)]));
  }, [props.selected]);
  const wanted = useMemo(() => [...open].filter((folder) => above(folder).every((one) => open.has(one))).sort(), [open]);
  const loaded = useFolders(wanted);
  const toggle = (folder: string, to: boolean) =>
    setOpen((known) => {
      const next = new Set(known);
      if (to) next.add(folder);
      else next.delete(folder);
      return next;
    });
  return <Show of={loaded}>{(folders) => <Rows {...props} rows={rowsOf(folders, open, "", 1)} toggle={toggle} more={left(folders, wanted)} />}</Show>;
}

function Found(props: Props) {
  const loaded = useFound(props.search);
  return (
    <Show of={loaded}>
      {({ nodes, more }) => <Rows {...props} rows={nodes.map((node) => ({ node, level: 1, open: false }))} toggle={() => {}} more={more} whole />}
    </Show>
  );
}

const left = (folders: Map<string, Listing>, open: readonly string[]): number => open.reduce((sum, folder) => sum + (folders.get(folder)?.more ?? 0), 0);

function rowsOf(folders: Map<string, Listing>, open: ReadonlySet<string>, folder: string, level: number): Row[] {
  const nodes = [...(folders.get(folder)?.nodes ?? [])].sort((a, b) => Number(b.folder) - Number(a.folder) || (a.name < b.name ? -1 : 1));
  return nodes.flatMap((node) => {
    const isOpen = node.folder && open.has(node.path);
    return [{ node, level, open: isOpen }, ...(isOpen ? rowsOf(folders, open, node.path, level + 1) : [])];
  });
}

type RowsProps = Props & { rows: readonly Row[]; toggle: (folder: string, to: boolean) => void; more: number; whole?: boolean };

function Rows({ rows, toggle, selected, onOpen, mode, more, whole = false }: RowsProps) {
  const scroller = useMemo(() => new Scroller(ROW), []);
  const [cursor, setCursor] = useState(selected);
  const found = rows.findIndex((row) => row.node.path === cursor);
  const at = Math.max(0, found);
  const hottest = useMemo(() => Math.max(1, ...rows.filter((row) => !row.node.folder).map((row) => row.node.contention)), [rows]);
  const shown = useRef("");
  useEffect(() => {
    const row = rows.findIndex((one) => one.node.path === selected);
    if (!selected || row < 0 || shown.current === selected) return;
    shown.current = selected;
    setCursor(selected);
    scroller.show(row, 0.5);
  }, [selected, rows, scroller]);
  const go = (to: number) => {
    const row = Math.max(0, Math.min(rows.length - 1, to));
    setCursor(rows[row]?.node.path ?? "");
    scroller.show(row);
  };
  const pressed = (event: KeyboardEvent) => {
    const row = rows[at];
    if (!row || event.metaKey || event.ctrlKey || event.altKey) return;
    const { node } = row;
    const inner = () => (row.open ? go(at + 1) : toggle(node.path, true));
    const outer = () => (row.open ? toggle(node.path, false) : go(rows.findIndex((one) => one.node.path === parentOf(node.path))));
    const keys: Record<string, () => void> = {
      ArrowDown: () => go(at + 1), j: () => go(at + 1), ArrowUp: () => go(at - 1), k: () => go(at - 1),
      Home: () => go(0), End: () => go(rows.length - 1), PageDown: () => go(at + scroller.page), PageUp: () => go(at - scroller.page),
      ArrowRight: () => node.folder && inner(), ArrowLeft: () => (row.open || row.level > 1) && outer(),
      Enter: () => onOpen(node.path), " ": () => (node.folder ? toggle(node.path, !row.open) : onOpen(node.path)),
    }; // prettier-ignore
    const act = keys[event.key];
    if (!act) return;
    act();
    event.preventDefault();
  };
  return (
    <div class="file-tree">
      <VirtualList
        class="virtual"
        role="tree"
        aria-label="Files"
        aria-activedescendant={rows.length ? `file-${at}` : undefined}
        count={rows.length}
        scroller={scroller}
        onKeyDown={pressed}
        row={(index) => {
          const row = rows[index] as Row;
          return (
            <TreeRow key={row.node.path} row={row} index={index} whole={whole} mode={mode} hottest={hottest}
              active={index === at} selected={row.node.path === selected}
              onClick={() => { setCursor(row.node.path); onOpen(row.node.path); }}
              onToggle={() => { setCursor(row.node.path); toggle(row.node.path, !row.open); }} />
          ); // prettier-ignore
        }}
      />
      {!rows.length && <p class="muted tree-note">No files match.</p>}
      {more > 0 && <p class="muted tree-note">{counted(more, "more file")} not shown. Search to find them.</p>}
    </div>
  );
}

type TreeRowProps = { row: Row; index: number; whole: boolean; mode: Mode; hottest: number; active: boolean; selected: boolean; onClick: () => void; onToggle: () => void };

function TreeRow({ row, index, whole, mode, hottest, active, selected, onClick, onToggle }: TreeRowProps) {
  const { node } = row;
  const look = lookOf(node, mode, hottest);
  return (
    <div
      id={`file-${index}`}
      role="treeitem"
      aria-level={row.level}
      aria-expanded={node.folder ? row.open : undefined}
      aria-selected={selected}
      aria-label={visible(describe(node, mode, sizeText(node.bytes)), 600)}
      class={`file-row${active ? " active" : ""}${selected ? " selected" : ""}`}
      style={{ paddingLeft: `${8 + (row.level - 1) * 18}px` }}
      onClick={onClick}
    >
      <span
        class="twist"
        aria-hidden="true"
        onClick={(event) => {
          if (!node.folder) return;
          event.stopPropagation();
          onToggle();
        }}
      >
        {node.folder ? (row.open ? "▾" : "▸") : ""}
      </span>
      <span class={`swatch ${look.class}`} style={look.style} aria-hidden="true" />
      <bdi class="file-name" title={visible(node.path, 4096)}>
        {visible(whole ? node.path : node.name, 300)}
        {node.folder ? "/" : ""}
      </bdi>
      <Marks node={node} />
      <span class="file-owner">{mode === "heat" ? <Heat node={node} hottest={hottest} /> : <Owners node={node} />}</span>
      <span class="file-size muted">{node.folder ? counted(node.files, "file") : sizeText(node.bytes)}</span>
    </div>
  );
}

function Owners({ node }: { node: FileNode }) {
  if (!node.owners.length) return null;
  if (node.owners.length === 1 && node.owners[0]) return <AgentName id={node.owners[0].agent} plain />;
  return <span title={node.owners.map((one) => one.agent).join(", ")}>{ownerText(node)}</span>;
}

function Heat({ node, hottest }: { node: FileNode; hottest: number }) {
  return node.contention ? <span class={`heat-text heat${heatLevel(node.contention, hottest)}`}>{counted(node.contention, "wait or denial", "waits or denials")}</span> : null;
}

function Marks({ node }: { node: FileNode }) {
  return (
    <span class="file-marks">
      {node.missing && <Badge>new</Badge>}
      {node.changed > 0 && !node.folder && <Badge tone="info">changed</Badge>}
      {node.waiting > 0 && <Badge tone="warn">{node.waiting} waiting</Badge>}
      {node.conflicts > 0 && <Badge tone="bad">{counted(node.conflicts, "conflict")}</Badge>}
    </span>
  );
}
