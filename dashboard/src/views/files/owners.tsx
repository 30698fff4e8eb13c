/** How files look by their owners, or by contention: a color and, always, words. */
import { hueOf } from "../../hue";
import { counted, visible } from "../../ui/text";
import type { FileNode } from "./data";

export type Mode = "owner" | "heat";

/** Return the style and the class that show who holds a node, or how contended it is. */
export function lookOf(node: FileNode, mode: Mode, hottest: number): { class: string; style: Record<string, string | number> } {
  if (mode === "heat") {
    const level = heatLevel(node.contention, hottest);
    return { class: `heat${level}${node.conflicts ? " conflicts" : ""}`, style: {} };
  }
  const [first, second] = node.owners;
  if (!first) return { class: "unclaimed", style: {} };
  const whole = first.files >= node.files;
  if (second) return { class: "shared", style: { "--hue": hueOf(first.agent), "--hue2": hueOf(second.agent) } };
  // The held part of a folder, but never so little that no one sees it.
  const share = Math.max(12, Math.round((100 * first.files) / Math.max(1, node.files)));
  return { class: whole ? "held" : "partly", style: { "--hue": hueOf(first.agent), "--share": `${share}%` } };
}

/** Return 0 for no contention, and 1 to 4 for more; the hottest node of the view has 4. */
export function heatLevel(contention: number, hottest: number): number {
  if (!contention) return 0;
  return Math.max(1, Math.ceil((4 * Math.log1p(contention)) / Math.log1p(Math.max(1, hottest))));
}

/** Return what the color says, in words. */
export function stateText(node: FileNode, mode: Mode): string {
  if (mode === "heat") {
    const parts = [
      node.contention ? counted(node.contention, "wait or denial", "waits or denials") : "",
      node.conflicts ? counted(node.conflicts, "forecast conflict") : "",
    ].filter(Boolean);
    return parts.join(", ") || "no contention";
  }
  return ownerText(node);
}

export function ownerText(node: FileNode): string {
  const [first, ...rest] = node.owners;
  if (!first) return "unclaimed";
  const who = rest.length > 1 ? `${rest.length + 1} owners` : node.owners.map((one) => one.agent).join(", ");
  return node.folder && !rest.length && first.files < node.files ? `${who}: ${first.files} of ${counted(node.files, "file")}` : who;
}

/** Return one line about a node for a screen reader or a tooltip. */
export function describe(node: FileNode, mode: Mode, size: string): string {
  const waiting = node.waiting ? `, ${counted(node.waiting, "agent")} waiting` : "";
  return `${node.path || "repository"}, ${node.folder ? counted(node.files, "file") : "file"}, ${size}, ${stateText(node, mode)}${waiting}`;
}

export function Legend({ mode, owners }: { mode: Mode; owners: readonly string[] }) {
  return (
    <ul class="file-legend" aria-label="Legend">
      {mode === "owner" ? (
        <>
          {owners.slice(0, 10).map((agent) => (
            <li key={agent} class="legend-agent">
              <span class="swatch held" style={{ "--hue": hueOf(agent) }} /> {visible(agent, 40)}
            </li>
          ))}
          {owners.length > 10 && <li class="muted legend-agent">and {owners.length - 10} more</li>}
          <li>
            <span class="swatch shared" style={{ "--hue": 30, "--hue2": 260 }} /> several owners
          </li>
          <li>
            <span class="swatch unclaimed" /> unclaimed
          </li>
        </>
      ) : (
        <>
          <li class="muted">Waits and denied claims in the last day:</li>
          {["none", "few", "some", "many", "most"].map((word, level) => (
            <li key={word}>
              <span class={`swatch heat${level}`} /> {word}
            </li>
          ))}
          <li>
            <span class="swatch conflicts" /> forecast merge conflict
          </li>
        </>
      )}
    </ul>
  );
}
