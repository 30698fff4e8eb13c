/** The history of a project, as `GET /timeline` returns it and a report contains it. */
import type { Answer } from "../api/client";
import { assignHues } from "../hue";

export type History = Answer<"/api/v1/timeline">;
export type ClaimSpan = History["claims"][number];
export type WaitSpan = History["waits"][number];
export type AgentSpan = History["agents"][number];
export type TaskSpan = History["tasks"][number];
export type Mark = History["marks"][number];

/** Give the agents of a history their hues: first those that still work, as in the other views. */
export function withHues(history: History): History {
  for (const open of [true, false]) {
    assignHues(history.agents.filter((one) => (one.end === null) === open).map((one) => ({ id: one.agent, started: one.begin })));
  }
  return history;
}
