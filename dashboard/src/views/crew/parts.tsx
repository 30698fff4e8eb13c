/** Small parts of the crew view. */
import type { Agent } from "../../api/client";
import { now, span } from "../../time";
import { Badge } from "../../ui/parts";

type Tone = "neutral" | "good" | "warn" | "bad" | "info";
const TONES: Record<string, Tone> = { running: "good", failed: "bad", terminated: "bad", completed: "info" };
const WORDS: Record<string, string> = { running: "working", terminated: "stopped" };

export function StatusBadge({ agent }: { agent: Agent }) {
  return <Badge tone={TONES[agent.status] ?? "neutral"}>{WORDS[agent.status] ?? agent.status}</Badge>;
}

/** How much of its context window an agent has used; the server's alerts say when that is too much. */
export function ContextBar({ share }: { share: number | null }) {
  if (share === null) return <span class="muted">unknown</span>;
  const percent = Math.round(share * 100);
  return (
    <span class="context" title={`${percent}% of its context window is used`}>
      <span class="bar" aria-hidden="true">
        <span class={percent > 95 ? "bad" : percent > 85 ? "warn" : ""} style={{ width: `${Math.min(100, percent)}%` }} />
      </span>
      {percent}%
    </span>
  );
}

export function Ago({ at }: { at: number }) {
  return <>{span(now.value - at)} ago</>;
}

export function place(agent: Agent): string {
  return [agent.host, agent.pid && `process ${agent.pid}`].filter(Boolean).join(", ");
}
