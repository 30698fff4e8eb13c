/** The theme: the system's, or the one that the user chose. Loaded before the first paint. */
import { signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";

const KEY = "dibs.theme";

function chosenTheme(): Theme {
  const stored = localStorage.getItem(KEY);
  return stored === "light" || stored === "dark" ? stored : "system";
}

export const theme = signal(chosenTheme());

export function chooseTheme(chosen: Theme): void {
  if (chosen === "system") localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, chosen);
  theme.value = chosen;
  applyTheme();
}

function applyTheme(): void {
  if (theme.value === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
}

applyTheme();
