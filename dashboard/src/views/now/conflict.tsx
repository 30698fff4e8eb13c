/** One conflict: both sides, and what a human can do about it. Its address is `?wait=TICKET&owner=AGENT`. */
import { useEffect, useRef, useState } from "preact/hooks";
import { api, type Status } from "../../api/client";
import { useRights } from "../../api/rights";
import { param, setParams } from "../../router";
import { now, span } from "../../time";
import { useActions } from "../../ui/actions";
import { AgentName, Age, Badge, FilePath, Problem } from "../../ui/parts";
import type { Decision } from "../inbox/data";
import { refuse } from "./decisions";
import { ClaimLine } from "./lane";
import type { Wait } from "./model";
import { pathsText } from "./model";

export function openConflict({ ticket, holder }: Pick<Wait, "ticket" | "holder">): void {
  setParams({ wait: String(ticket.ticket), owner: holder }, { replace: false });
}

const closeConflict = () => setParams({ wait: "", owner: "" });

type Props = { status: Status; waits: readonly Wait[]; decisions: readonly Decision[] };

export function ConflictDialog({ status, waits, decisions }: Props) {
  const [number, owner] = [param("wait"), param("owner")];
  if (!number) return null;
  const wait = waits.find((one) => String(one.ticket.ticket) === number && one.holder === owner);
  return <Dialog key={`${number} ${owner}`} wait={wait} status={status} decisions={decisions} />;
}

type DialogProps = Omit<Props, "waits"> & { wait: Wait | undefined };

function Dialog({ wait, status, decisions }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="action conflict" aria-labelledby="conflict-title" onClose={closeConflict}>
      <header>
        <h2 id="conflict-title">{wait ? `${wait.ticket.agent} waits for ${wait.holder}` : "This conflict is over"}</h2>
        <button type="button" class="plain" aria-label="Close" onClick={() => dialog.current?.close()}>
          ×
        </button>
      </header>
      {wait ? (
        <>
          <div class="sides">
            <WaiterSide wait={wait} status={status} />
            <OwnerSide wait={wait} status={status} />
          </div>
          <Actions wait={wait} decision={decisions.find((one) => isAbout(one, wait))} />
        </>
      ) : (
        <p>The agent no longer waits for this claim.</p>
      )}
    </dialog>
  );
}

function isAbout(decision: Decision, { ticket, holder }: Wait): boolean {
  const data = decision.data as { holder?: string; ticket?: number };
  return decision.conflict && decision.asker === ticket.agent && data.holder === holder && data.ticket === ticket.ticket;
}

function About({ id, status }: { id: string; status: Status }) {
  const agent = status.agents.find((one) => one.id === id);
  if (!agent) return <p class="muted">not registered</p>;
  const silent = now.value - agent.last_seen;
  return (
    <>
      <p class="muted">{[agent.role, agent.model].filter(Boolean).join(" · ")}</p>
      {agent.task && <p>{agent.task}</p>}
      <p class="muted">
        {agent.status === "running" ? "working" : agent.status}, last active {span(silent)} ago
      </p>
    </>
  );
}

function WaiterSide({ wait, status }: { wait: Wait; status: Status }) {
  const { ticket } = wait;
  return (
    <section aria-label="Waiting">
      <h3>Waiting</h3>
      <AgentName id={ticket.agent} />
      <About id={ticket.agent} status={status} />
      <ul class="facts">
        {ticket.patterns.map((pattern) => (
          <li key={pattern}>
            <FilePath path={pattern} /> {ticket.mode === "shared" && <Badge>shared</Badge>}
          </li>
        ))}
      </ul>
      {ticket.reason && <p class="quote">{ticket.reason}</p>}
      <p class="muted">
        since <Age at={ticket.since} />
      </p>
    </section>
  );
}

function OwnerSide({ wait, status }: { wait: Wait; status: Status }) {
  const held = status.claims.filter((claim) => claim.agent === wait.holder && wait.conflicts.some((one) => one.held === claim.pattern));
  return (
    <section aria-label="Owner">
      <h3>{wait.queued ? "Ahead in the queue" : "Owner"}</h3>
      <AgentName id={wait.holder} />
      <About id={wait.holder} status={status} />
      <ul class="facts">
        {held.map((claim) => (
          <ClaimLine key={claim.id} claim={claim} />
        ))}
      </ul>
      {held.flatMap((claim) =>
        claim.asked_by.map((asked) => (
          <p key={`${claim.id} ${asked.asker}`} class="muted">
            {asked.asker} asked for {claim.pattern} {span(now.value - asked.at)} ago: {asked.answer ? `the answer is ${asked.answer}` : "no answer yet"}
          </p>
        )),
      )}
    </section>
  );
}

function Actions({ wait, decision }: { wait: Wait; decision: Decision | undefined }) {
  const { act: acts, human, why } = useRights();
  const { ticket, holder } = wait;
  const wanted = pathsText(ticket.patterns);
  const [reason, setReason] = useState(() => `${ticket.agent} has waited for ${wanted} for ${span(now.value - ticket.since)}`);
  const held = [...new Set(wait.conflicts.map((one) => one.held))];
  const say = reason.trim();
  const actions = useActions();
  const run = (call: () => Promise<unknown>, done: string) => async () => {
    if (await actions.run(call, done)) closeConflict();
  };
  const revoke = async () => {
    if (decision) return api.POST("/api/v1/decisions/revoke", { body: { ids: [decision.id], reason: say } });
    for (const pattern of held) await api.POST("/api/v1/claims/revoke", { body: { pattern, reason: say } });
  };
  if (!acts) return <p class="muted">{why}</p>;
  if (wait.queued) return <p class="muted">It waits for its turn: {holder} is ahead of it in the queue.</p>;
  return (
    <div class="conflict-actions">
      {decision && (
        <p class="asked-human">
          <strong>{ticket.agent} asked a human to decide.</strong> {decision.rationale}
        </p>
      )}
      <label>
        <span>
          Reason <span class="muted">(the agents see it)</span>
        </span>
        <input value={reason} maxLength={500} onInput={(event) => setReason(event.currentTarget.value)} autocomplete="off" />
      </label>
      {actions.error && <Problem error={actions.error} />}
      <div class="buttons">
        <button type="button" class="danger" disabled={!human || !say} title={human ? undefined : why} onClick={run(revoke, `revoked: ${pathsText(held)}`)}>
          Revoke {holder}'s claim
        </button>
        {decision && human && (
          <button type="button" onClick={() => refuse(decision, closeConflict)}>
            {holder} keeps it
          </button>
        )}
        <button type="button" onClick={run(() => api.POST("/api/v1/claims/ask", { body: { patterns: ticket.patterns, note: say } }), `asked ${holder} to release it`)}>
          Ask {holder} to release it
        </button>
        {!decision && (
          <button type="button" title="a human decides later; both agents are told" onClick={run(() => escalate(ticket.agent, ticket.patterns, say), "added to the pending decisions")}>
            Escalate
          </button>
        )}
        <button type="button" disabled={!say} onClick={run(() => api.POST("/api/v1/messages", { body: { to: holder, text: say } }), `sent to ${holder}`)}>
          Send as a message
        </button>
      </div>
      <p class="muted small-text">Revoking ends the claim at once, and {holder} learns why. Its files stay as they are, and it is the next agent's turn.</p>
    </div>
  );
}

/** Escalate for the waiting agent: it is one side of the conflict. */
function escalate(agent: string, patterns: string[], note: string): Promise<unknown> {
  return api.POST("/api/v1/claims/escalate", { body: { patterns, note }, headers: { "Dibs-Agent": agent } });
}
