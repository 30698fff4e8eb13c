/** Arrow keys move between the cards of the inbox; the keys of a card press its buttons. */
import { useEffect } from "preact/hooks";

export function useCardKeys(): void {
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      const target = event.target instanceof HTMLElement ? event.target : null;
      if (!target || target.closest("input, textarea, select, dialog") || event.ctrlKey || event.metaKey || event.altKey) return;
      const cards = [...document.querySelectorAll<HTMLElement>(".inbox .mail-card")];
      const here = target.closest<HTMLElement>(".mail-card");
      const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
      if (step && (here || event.key.length === 1)) {
        const next = cards[here ? cards.indexOf(here) + step : 0];
        next?.focus();
        next?.scrollIntoView({ block: "nearest" });
        event.preventDefault();
        return;
      }
      if (here && here === target) {
        const button = event.key === "Enter" ? here.querySelector("button") : here.querySelector(`button[data-key="${CSS.escape(event.key)}"]`);
        if (button instanceof HTMLButtonElement) {
          button.click();
          event.preventDefault();
        }
      }
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
}
