/** Names with values as horizontal bars: a list that reads well without its colors. */
import type { ComponentChildren } from "preact";

export type Bar = {
  key: string;
  name: ComponentChildren;
  value: number;
  /** The value as text, with its unit. */
  text: string;
  hue?: number;
  tone?: "accent" | "warn" | "bad" | "good" | "info";
  /** More about the bar, below its name. */
  note?: ComponentChildren;
};

type Props = { label: string; bars: readonly Bar[]; empty: string; most?: number };

/** `most` is the value of a full bar; without it, the largest value. */
export function BarList({ label, bars, empty, most }: Props) {
  if (!bars.length) return <p class="muted">{empty}</p>;
  const full = most ?? Math.max(...bars.map((bar) => bar.value), 1e-9);
  return (
    <ul class="bars" aria-label={label}>
      {bars.map((bar) => (
        <li key={bar.key} class={bar.tone ?? ""} style={bar.hue === undefined ? undefined : { "--hue": bar.hue }}>
          <span class="bar-name">{bar.name}</span>
          <span class="bar-value">{bar.text}</span>
          <span class="bar-track" aria-hidden="true">
            <span class="bar-fill" style={{ width: `${Math.max(bar.value > 0 ? 1 : 0, Math.min(100, (100 * bar.value) / full))}%` }} />
          </span>
          {bar.note && <span class="bar-note muted">{bar.note}</span>}
        </li>
      ))}
    </ul>
  );
}
