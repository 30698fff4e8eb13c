/** Findings of a check: the problems first. */
import { Badge } from "../../ui/parts";
import { found } from ".";

export type Finding = { part?: string; level: string; what: string; text: string };

const TONES = { ok: "good", warn: "warn", warning: "warn", bad: "bad", error: "bad", broken: "bad" } as const;
const tone = (level: string) => TONES[level as keyof typeof TONES] ?? "neutral";
const rank = (finding: Finding) => ["bad", "warn", "neutral", "good"].indexOf(tone(finding.level));

export function Findings({ findings }: { findings: readonly Finding[] }) {
  const shown = findings.filter((one) => found(one.part, one.what, one.text)).sort((a, b) => rank(a) - rank(b));
  return (
    <ul class="rows findings">
      {shown.map((one) => (
        <li key={`${one.part} ${one.what} ${one.text}`}>
          <Badge tone={tone(one.level)}>{one.level}</Badge>
          <span>
            <strong>{one.what}</strong> <Words text={one.text} />
          </span>
        </li>
      ))}
    </ul>
  );
}

/** A text in which `commands` are set as code. */
export function Words({ text }: { text: string }) {
  return (
    <>
      {text.split(/(`[^`]+`|\b(?:run|repair): .+$)/).map((part, index) =>
        index % 2 ? <code key={index}>{part.replaceAll("`", "")}</code> : part,
      )}
    </>
  );
}
