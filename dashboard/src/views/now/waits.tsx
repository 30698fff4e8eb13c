/** Who waits for whom: a graph, and a list to act on. */
import { useState } from "preact/hooks";
import type { Agent } from "../../api/client";
import { now, span } from "../../time";
import { AgentName, Badge, FilePath, Panel } from "../../ui/parts";
import { openConflict } from "./conflict";
import { WaitGraph } from "./graph";
import type { Wait } from "./model";

const SHOWN = 6;

export function WaitsPanel({ waits, agents, acts }: { waits: readonly Wait[]; agents: readonly Agent[]; acts: boolean }) {
  const [shown, setShown] = useState(SHOWN);
  const narrow = matchMedia("(max-width: 760px)").matches;
  if (!waits.length) return null;
  const left = waits.length - shown;
  return (
    <Panel title="Who waits for whom" count={waits.length} class="waits">
      <div class="waits-body">
        <ul class="rows">
          {waits.slice(0, shown).map((wait) => (
            <WaitRow key={`${wait.ticket.ticket} ${wait.holder}`} wait={wait} acts={acts} />
          ))}
          {left > 0 && (
            <li>
              <button type="button" class="plain more" onClick={() => setShown(shown + 50)}>
                and {left} more
              </button>
            </li>
          )}
        </ul>
        <WaitGraph waits={waits} agents={agents} down={narrow} />
      </div>
    </Panel>
  );
}

function WaitRow({ wait, acts }: { wait: Wait; acts: boolean }) {
  const { ticket, holder, queued } = wait;
  return (
    <li class="wait-row">
      <div>
        <p>
          <AgentName id={ticket.agent} /> <span class="muted">waits for</span> <AgentName id={holder} />
        </p>
        <p>
          <Badge tone="warn">{span(now.value - ticket.since)}</Badge>{" "}
          {ticket.patterns.slice(0, 3).map((pattern) => (
            <FilePath key={pattern} path={pattern} />
          ))}
          {queued && <span class="muted"> (ahead in the queue)</span>}
        </p>
      </div>
      {acts && !queued && (
        <button type="button" class="small primary" onClick={() => openConflict(wait)}>
          Resolve
        </button>
      )}
    </li>
  );
}
