/** The merge queue: who merges now, who waits, and how the last merges went. */
import { api, data } from "../../api/client";
import { useResource } from "../../api/resource";
import { AgentName, Age, Badge, Empty, Panel, Show, TimeLeft } from "../../ui/parts";
import { found } from ".";

/** The queue of a branch is a claim on this name. */
const QUEUE = "@merge/";

export function QueuePanel() {
  const merges = useResource("merges", () => data(api.GET("/api/v1/merges", { params: { query: { limit: 20 } } })), { on: ["merge", "lock"], every: 10 });
  const { running = [], waiting = [] } = merges.data ?? {};
  return (
    <Panel title="Merge queue" count={running.length + waiting.length}>
      {merges.data && running.length + waiting.length === 0 && <p class="muted">No merge is running or waiting.</p>}
      <ol class="rows">
        {running.map((claim) => (
          <li key={claim.id}>
            <Badge tone="info">merging now</Badge> <AgentName id={claim.agent} /> into <code>{claim.pattern.slice(QUEUE.length)}</code>{" "}
            {claim.expires_at && <TimeLeft until={claim.expires_at} />}
          </li>
        ))}
        {waiting.map((ticket) => (
          <li key={ticket.ticket}>
            <Badge>number {ticket.place} in the queue</Badge> <AgentName id={ticket.agent} /> into{" "}
            <code>{ticket.patterns.map((pattern) => pattern.slice(QUEUE.length)).join(", ")}</code>
          </li>
        ))}
      </ol>
      <h3>Last results</h3>
      <Show of={merges}>
        {({ results }) =>
          results.length ? (
            <ul class="rows">
              {results
                .filter((entry) => found(entry.agent, entry.summary))
                .map((entry) => (
                  <li key={entry.seq}>
                    <Badge tone={entry.kind === "merge" ? "good" : "bad"}>{entry.kind === "merge" ? "merged" : "refused"}</Badge> <AgentName id={entry.agent} />{" "}
                    {entry.summary} · <Age at={entry.at} />
                  </li>
                ))}
            </ul>
          ) : (
            <Empty title="Nothing was merged yet" command="dibs merge --all">
              To merge every agent's branch that has new commits, run:
            </Empty>
          )
        }
      </Show>
    </Panel>
  );
}
