/** A conflict that an agent escalated: both sides next to each other, and the two outcomes. */
import { api } from "../../api/client";
import { useRights } from "../../api/rights";
import { param } from "../../router";
import { ask } from "../../ui/actions";
import { AgentName, Age, Badge, FilePath, Show, TimeLeft } from "../../ui/parts";
import { FoldedText } from "../../ui/folded";
import { span } from "../../time";
import { type Ask, type Decision, type Sides, useDecision } from "./data";
import { Comments, commentOn, markAnnouncement } from "./decision";

export function Conflict({ id }: { id: string }) {
  return (
    <Show of={useDecision(id)}>
      {({ decision, sides }) => (
        <article class={`mail-card conflict ${param("decision") === id ? "chosen" : ""}`} id={id} tabIndex={0} aria-label={decision.title}>
          {sides ? <BothSides decision={decision} sides={sides} /> : <h3>{decision.title}</h3>}
          <Comments of={decision} />
          <Outcomes decision={decision} sides={sides} />
        </article>
      )}
    </Show>
  );
}

type Both = { decision: Decision; sides: Sides };

function BothSides({ decision, sides }: Both) {
  const wanted = (decision.data as { wanted?: string[] }).wanted ?? [];
  const { holder, asker } = sides;
  const place = sides.queue.find((one) => one.agent === asker.agent);
  return (
    <>
      <h3 class="conflict-title">
        Who gets{" "}
        {wanted.map((path) => (
          <FilePath key={path} path={path} />
        ))}
        ?
      </h3>
      <div class="both-sides">
        <section class="side" aria-label="The owner">
          <header>
            <Badge tone="info">holds it</Badge> <AgentName id={holder.agent} />
          </header>
          <dl>
            {(holder.claims ?? []).map((claim) => (
              <>
                <Row name="Claim">
                  <FilePath path={claim.pattern} /> {claim.mode === "shared" && "(shared)"}
                </Row>
                <Row name="Why">{claim.reason ? <FoldedText text={claim.reason} /> : <span class="muted">no reason given</span>}</Row>
                <Row name="Since">
                  <Age at={claim.since} />
                  {claim.expires_at && (
                    <>
                      , <TimeLeft until={claim.expires_at} /> unless renewed
                    </>
                  )}
                </Row>
              </>
            ))}
            {!holder.claims?.length && <Row name="Claim">holds it no longer</Row>}
            <About side={holder} />
          </dl>
        </section>
        <section class="side" aria-label="The agent that wants it">
          <header>
            <Badge tone="warn">wants it</Badge> <AgentName id={asker.agent} />
          </header>
          <dl>
            <Row name="Wants">
              {wanted.map((path) => (
                <FilePath key={path} path={path} />
              ))}
            </Row>
            <Row name="Why">{decision.rationale ? <FoldedText text={decision.rationale} /> : <span class="muted">no reason given</span>}</Row>
            <Row name="Since">
              <Age at={place ? place.since : decision.at} />
              {place ? `, number ${place.place} in the queue` : ", not in the queue"}
            </Row>
            <About side={asker} />
            {(asker.asks ?? []).map((one) => (
              <Row key={one.at} name="Asked">
                <Answered ask={one} />
              </Row>
            ))}
          </dl>
        </section>
      </div>
      {sides.queue.length > (place ? 1 : 0) && (
        <p class="muted">
          Also waiting:{" "}
          {sides.queue
            .filter((one) => one !== place)
            .map((one) => (
              <AgentName key={one.ticket} id={one.agent} />
            ))}
        </p>
      )}
    </>
  );
}

/** What became of a request to release. */
export function Answered({ ask: one }: { ask: Ask }) {
  const said = one.answer ? (
    <>
      the owner replied <b>{one.answer}</b>
      {one.promised ? (
        <>
          , <TimeLeft until={one.promised} />
        </>
      ) : null}
    </>
  ) : (
    <>
      no reply yet, <TimeLeft until={one.until} />
    </>
  );
  return (
    <>
      <Age at={one.at} />: {one.note && <>“{one.note}”, </>}
      {said}
    </>
  );
}

function About({ side }: { side: Sides["holder"] }) {
  return (
    <>
      {side.task && <Row name="Task">{side.task}</Row>}
      <Row name="Role">
        {side.role || "agent"}
        {side.silent_for !== null && <span class="muted">, last seen {span(side.silent_for)} ago</span>}
      </Row>
    </>
  );
}

function Row({ name, children }: { name: string; children: preact.ComponentChildren }) {
  return (
    <div class="row">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Outcomes({ decision, sides }: { decision: Decision; sides: Sides | undefined }) {
  const rights = useRights();
  const { id, asker } = decision;
  const holder = sides?.holder.agent ?? "the owner";
  if (!rights.human) return <p class="muted">{rights.why}</p>;
  const revoke = () =>
    ask({
      title: `Revoke the claim of ${holder}?`,
      text: `${holder} must stop working on it, and ${asker} can claim it. Both are notified.`,
      fields: [{ name: "reason", label: "Reason" }],
      button: "Revoke the claim",
      danger: true,
      run: async ({ reason = "" }) => {
        await api.POST("/api/v1/decisions/revoke", { body: { ids: [id], reason } });
        await markAnnouncement(decision);
      },
      done: `revoked the claim of ${holder}`,
    });
  const keep = () =>
    ask({
      title: `Let ${holder} keep it?`,
      text: `${asker} is told to work on something else.`,
      fields: [{ name: "reason", label: "Reason", required: true, value: `${holder} finishes its work first` }],
      button: `${holder} keeps it`,
      run: async ({ reason = "" }) => {
        await api.POST("/api/v1/decisions/refuse", { body: { ids: [id], reason } });
        await markAnnouncement(decision);
      },
      done: `${holder} keeps its claim`,
    });
  return (
    <footer class="mail-actions">
      <button type="button" class="danger" data-key="y" onClick={revoke}>
        Revoke the claim, for {asker}
      </button>
      <button type="button" class="primary" data-key="n" onClick={keep}>
        {holder} keeps it
      </button>
      <button type="button" data-key="c" onClick={() => commentOn(decision)}>
        Comment
      </button>
    </footer>
  );
}
