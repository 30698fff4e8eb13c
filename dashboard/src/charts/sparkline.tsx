/** A small line beside a number. Its label says what it shows, because it has no axes. */
import type { Points } from "./scale";

type Props = { label: string; points: Points; hue?: number; width?: number; height?: number };

export function Sparkline({ label, points, hue, width = 96, height = 22 }: Props) {
  const begin = points[0]?.[0] ?? 0;
  const length = Math.max(1e-6, (points.at(-1)?.[0] ?? 1) - begin);
  const most = Math.max(1e-9, ...points.map((point) => point[1]));
  const path = points.map(([at, value], index) => {
    const x = (1 + ((at - begin) / length) * (width - 2)).toFixed(1);
    const y = (height - 2 - (value / most) * (height - 4)).toFixed(1);
    return index ? `H${x}V${y}` : `M${x} ${y}`;
  });
  return (
    <svg class="sparkline series" role="img" aria-label={label} width={width} height={height} style={hue === undefined ? undefined : { "--hue": hue }}>
      <title>{label}</title>
      <path class="line" d={path.join("")} />
    </svg>
  );
}
