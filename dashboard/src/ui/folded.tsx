/** Long text of agents: shown as text with its line breaks, folded. */
import { useState } from "preact/hooks";

const LINES = 6;
const LETTERS = 420;

export function FoldedText({ text, lines = LINES, mono = false }: { text: string; lines?: number; mono?: boolean }) {
  const [open, setOpen] = useState(false);
  const rows = text.split("\n");
  const short = rows.slice(0, lines).join("\n").slice(0, LETTERS);
  const folded = short.length < text.trimEnd().length;
  return (
    <div class={mono ? "said mono" : "said"}>
      <span>{open || !folded ? text : `${short.trimEnd()}…`}</span>
      {folded && (
        <button type="button" class="link" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? "Show less" : `Show all (${rows.length > lines ? `${rows.length} lines` : `${text.length} characters`})`}
        </button>
      )}
    </div>
  );
}
