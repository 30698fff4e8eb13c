/** Long lists that appear in steps, so that the page stays responsive meanwhile. */
import { useEffect, useState } from "preact/hooks";

/** Return how many of `count` rows to show: `step` at first and after `key` changes, then more in each frame. */
export function useGrowing(count: number, step: number, key: string): number {
  const [state, setState] = useState({ key, shown: step });
  const shown = state.key === key ? state.shown : step;
  useEffect(() => {
    if (shown >= count) return;
    const frame = requestAnimationFrame(() => setState({ key, shown: shown + step }));
    return () => cancelAnimationFrame(frame);
  }, [shown, count, key]);
  return Math.min(shown, count);
}
