/** The repository as a map: an area for each file, as large as it is, in the color of its owner. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { setParams } from "../../router";
import { Empty, Show } from "../../ui/parts";
import { counted, visible } from "../../ui/text";
import { type Listing, parentOf, sizeText, useMap } from "./data";
import { type By, type Cell, cellsOf, neighbor } from "./layout";
import { describe, heatLevel, lookOf, type Mode, ownerText } from "./owners";

type Props = { folder: string; by: By; mode: Mode; selected: string; onOpen: (path: string) => void };

export function FileMap(props: Props) {
  const loaded = useMap(props.folder);
  return <Show of={loaded}>{(listing) => (listing.nodes.length ? <Map listing={listing} {...props} /> : <NoFiles />)}</Show>;
}

export function NoFiles() {
  return <Empty title="This folder has no files">Files that git ignores are not shown.</Empty>;
}

function Map({ listing, by, mode, selected, folder, onOpen }: Props & { listing: Listing }) {
  const box = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState<readonly [number, number]>([0, 0]);
  const [focus, setFocus] = useState("");
  useEffect(() => {
    const watch = new ResizeObserver(() => box.current && setSize([box.current.clientWidth, box.current.clientHeight]));
    if (box.current) watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  const cells = useMemo(() => (size[0] ? cellsOf(listing, by, ...size) : []), [listing, by, size]);
  const hottest = useMemo(() => Math.max(1, ...listing.nodes.filter((node) => !node.folder).map((node) => node.contention)), [listing]);
  const active = cells.find((cell) => cell.node.path === (focus || selected)) ?? cells[0];
  const open = (cell: Cell) => (cell.node.folder ? setParams({ folder: cell.node.path }, { replace: false }) : onOpen(cell.node.path));
  const pressed = (event: KeyboardEvent) => {
    if (event.metaKey || event.ctrlKey || event.altKey) return;
    if (event.key === "Backspace" && folder) setParams({ folder: parentOf(folder) }, { replace: false });
    else if (event.key.startsWith("Arrow") && active) {
      const next = neighbor(cells, active, event.key);
      if (!next) return;
      setFocus(next.node.path);
      box.current?.querySelector<HTMLElement>(`[data-index="${cells.indexOf(next)}"]`)?.focus();
    } else return;
    event.preventDefault();
  };
  return (
    <div class="file-map" ref={box} role="group" aria-label={`Map of ${folder || "the repository"}. Arrow keys move, Enter opens, Backspace goes up.`} onKeyDown={pressed}>
      {cells.map((cell, index) => {
        const { node } = cell;
        const look = lookOf(node, mode, hottest);
        const said = describe(node, mode, sizeText(node.bytes));
        return (
          <button
            type="button"
            key={node.path}
            data-index={index}
            tabIndex={cell === active ? 0 : -1}
            class={`cell ${cell.inner ? "inner" : look.class}${node.path === selected ? " selected" : ""}${node.changed ? " changed" : ""}`}
            style={{ ...look.style, left: `${cell.x}px`, top: `${cell.y}px`, width: `${cell.width}px`, height: `${cell.height}px` }}
            title={visible(said, 600)}
            aria-label={visible(said, 600)}
            onClick={() => open(cell)}
            onFocus={() => setFocus(node.path)}
          >
            {cell.width > 34 && cell.height > 15 && <CellText cell={cell} mode={mode} hot={heatLevel(node.contention, hottest) > 0} />}
          </button>
        );
      })}
    </div>
  );
}

function CellText({ cell, mode, hot }: { cell: Cell; mode: Mode; hot: boolean }) {
  const { node } = cell;
  const who = mode === "owner" ? (node.owners.length ? ownerText(node) : "") : hot ? counted(node.contention, "wait or denial", "waits or denials") : "";
  const waits = node.waiting && !cell.inner ? `, ${node.waiting} waiting` : "";
  const marks = `${node.changed && !node.folder ? " •" : ""}${waits}`;
  return (
    <>
      <bdi class="cell-name">
        {visible(node.name, 80)}
        {node.folder ? "/" : ""}
        {marks}
      </bdi>
      {who && (cell.inner ? <span class="cell-who">{visible(who, 80)}</span> : cell.height > 32 && <span class="cell-who">{visible(who, 80)}</span>)}
    </>
  );
}
