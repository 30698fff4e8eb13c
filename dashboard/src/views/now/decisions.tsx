/** Decisions that wait for a human, to confirm or reject here. */
import { api } from "../../api/client";
import type { Loaded } from "../../api/resource";
import { useRights } from "../../api/rights";
import { href, Link } from "../../router";
import { act, ask } from "../../ui/actions";
import { AgentName, Age, Badge, Panel, Show } from "../../ui/parts";
import type { Decision } from "../inbox/data";

const SHOWN = 10;

export function DecisionsPanel({ of }: { of: Loaded<Decision[]> }) {
  const { human } = useRights();
  const decisions = of.data ?? [];
  return (
    <Panel title="Pending decisions" count={decisions.length}>
      <Show of={of}>
        {() =>
          decisions.length ? (
            <ul class="rows decisions">
              {decisions.slice(0, SHOWN).map((one) => (
                <DecisionRow key={one.id} decision={one} acts={human} />
              ))}
              {decisions.length > SHOWN && (
                <li>
                  <Link to={href("/inbox")}>and {decisions.length - SHOWN} more</Link>
                </li>
              )}
            </ul>
          ) : (
            <p class="muted">No decision is pending.</p>
          )
        }
      </Show>
    </Panel>
  );
}

function DecisionRow({ decision, acts }: { decision: Decision; acts: boolean }) {
  return (
    <li>
      <p>
        {decision.conflict && <Badge tone="warn">conflict</Badge>} <strong>{decision.title}</strong>
      </p>
      {decision.rationale && <p class="rationale">{decision.rationale}</p>}
      <p class="muted small-text">
        <AgentName id={decision.asker} /> · <Age at={decision.at} />
      </p>
      {acts && <DecisionButtons decision={decision} />}
    </li>
  );
}

/** Decide: a conflict about claims is settled in its own words. */
function DecisionButtons({ decision }: { decision: Decision }) {
  const conflict = decision.conflict;
  const yes = () => {
    const to = conflict ? "/api/v1/decisions/revoke" : "/api/v1/decisions/confirm";
    void act(() => api.POST(to, { body: { ids: [decision.id] } }), conflict ? "claim revoked" : "confirmed");
  };
  return (
    <p class="buttons">
      <button type="button" class={`small ${conflict ? "danger" : "primary"}`} onClick={yes}>
        {conflict ? "Revoke the claim" : "Confirm"}
      </button>
      <button type="button" class="small" onClick={() => refuse(decision)}>
        {conflict ? "Keep it" : "Reject"}
      </button>
      <Link to={href("/inbox", { decision: decision.id })}>Details</Link>
    </p>
  );
}

/** Ask why, then reject a decision, or leave a claim to its owner. */
export function refuse(decision: Decision, done?: () => void): void {
  const conflict = decision.conflict;
  const to = conflict ? "/api/v1/decisions/refuse" : "/api/v1/decisions/reject";
  ask({
    title: conflict ? "Keep the claim with its owner" : "Reject the decision",
    text: decision.title,
    fields: [{ name: "reason", label: "Reason", required: true }],
    button: conflict ? "Keep" : "Reject",
    run: ({ reason = "" }) => api.POST(to, { body: { ids: [decision.id], reason } }).then(done),
    done: conflict ? "the owner keeps its claim" : "rejected",
  });
}
