/** The details of what is selected: beside the view, or a sheet over it on a phone. Escape closes it. */
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";

export function Side({ title, onClose, children }: { title: string; onClose: () => void; children: ComponentChildren }) {
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || event.defaultPrevented || document.querySelector("dialog[open]")) return;
      event.preventDefault();
      onClose();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, [onClose]);
  return (
    <aside class="side-panel" aria-label="Details">
      <header>
        <h2>{title}</h2>
        <button type="button" class="plain" aria-label="Close details" title="Close (Esc)" onClick={onClose}>
          ×
        </button>
      </header>
      <div class="side-body">{children}</div>
    </aside>
  );
}
