/** The meaning of colors and shapes; in the dashboard, each is also a switch. */
import { glyph } from "./draw";
import type { History } from "./types";
import { MARKS } from "./words";

type Props = { history: History; groups: ReadonlySet<string>; onToggle?: (group: string) => void };

export function Legend({ history, groups, onToggle }: Props) {
  const counts = new Map<string, number>();
  for (const mark of history.marks) counts.set(mark.group, (counts.get(mark.group) ?? 0) + 1);
  const shown = Object.keys(MARKS).filter((group) => (onToggle ? counts.has(group) : groups.has(group) && counts.has(group)));
  return (
    <div class="mark-legend" role={onToggle ? "group" : undefined} aria-label={onToggle ? "Marks to show" : undefined}>
      <span class="sample held">claim</span>
      <span class="sample waited">waiting</span>
      {shown.map((group) => {
        const inside = (
          <>
            <svg width="14" height="14" aria-hidden="true">
              <path class={`mark ${group}`} d={glyph(group, 7, 7)} />
            </svg>
            {MARKS[group]} <span class="count">{counts.get(group)}</span>
          </>
        );
        return onToggle ? (
          <button key={group} type="button" class="switch" aria-pressed={groups.has(group)} onClick={() => onToggle(group)}>
            {inside}
          </button>
        ) : (
          <span key={group} class="switch">
            {inside}
          </span>
        );
      })}
    </div>
  );
}
