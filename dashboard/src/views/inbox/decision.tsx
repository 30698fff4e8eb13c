/** Decisions: confirm, reject, comment; and what was decided. */
import { api } from "../../api/client";
import { useRights } from "../../api/rights";
import { param } from "../../router";
import { act, ask } from "../../ui/actions";
import { AgentName, Age, Badge } from "../../ui/parts";
import { FoldedText } from "../../ui/folded";
import { type Decision, markRead } from "./data";

const TONES = { pending: "warn", confirmed: "good", rejected: "bad", recorded: "info" } as const;

export function PendingDecision({ decision }: { decision: Decision }) {
  const rights = useRights();
  const { id, title, asker } = decision;
  const confirm = () =>
    act(async () => {
      await api.POST("/api/v1/decisions/confirm", { body: { ids: [id] } });
      await markAnnouncement(decision);
    }, `confirmed ${id}: ${title}`);
  const reject = () =>
    ask({
      title: `Reject “${title}”?`,
      text: `${asker} is notified, with your reason.`,
      fields: [{ name: "reason", label: "Reason", required: true, multiline: true }],
      button: "Reject",
      danger: true,
      run: async ({ reason = "" }) => {
        await api.POST("/api/v1/decisions/reject", { body: { ids: [id], reason } });
        await markAnnouncement(decision);
      },
      done: `rejected ${id}: ${title}`,
    });
  return (
    <article class={`mail-card ${param("decision") === id ? "chosen" : ""}`} id={id} tabIndex={0} aria-label={title}>
      <Head decision={decision} />
      <Comments of={decision} />
      <footer class="mail-actions">
        {rights.human ? (
          <>
            <button type="button" class="primary" data-key="y" onClick={confirm}>
              Confirm
            </button>
            <button type="button" data-key="n" onClick={reject}>
              Reject
            </button>
            <button type="button" data-key="c" onClick={() => commentOn(decision)}>
              Comment
            </button>
          </>
        ) : (
          <span class="muted">{rights.why}</span>
        )}
      </footer>
    </article>
  );
}

export function DecidedDecision({ decision }: { decision: Decision }) {
  const { outcome, decided_by: by, decided_at: at } = decision;
  return (
    <article class="mail-card" id={decision.id} tabIndex={0} aria-label={decision.title}>
      <Head decision={decision} />
      <p>
        <Badge tone={TONES[outcome as keyof typeof TONES] ?? "neutral"}>{outcome}</Badge> {by ? <AgentName id={by} /> : outcome !== "recorded" && outcome !== "pending" && "automatically"} {at && <Age at={at} />}
      </p>
      {decision.reason && <FoldedText text={decision.reason} />}
      <Comments of={decision} />
    </article>
  );
}

function Head({ decision }: { decision: Decision }) {
  return (
    <>
      <header>
        <h3>{decision.title}</h3>
        {decision.conflict && <Badge>conflict</Badge>}
      </header>
      <p class="byline">
        <AgentName id={decision.asker} /> {decision.outcome === "recorded" ? "recorded this" : "asks"} <Age at={decision.at} />
      </p>
      {decision.rationale && <FoldedText text={decision.rationale} />}
    </>
  );
}

export function Comments({ of }: { of: Decision }) {
  if (!of.comments.length) return null;
  return (
    <ul class="comments" aria-label="Comments">
      {of.comments.map((one) => (
        <li key={one.at}>
          <AgentName id={one.by} /> <Age at={one.at} />
          <FoldedText text={one.text} />
        </li>
      ))}
    </ul>
  );
}

export function commentOn({ id, title, asker }: Decision): void {
  ask({
    title: `Comment on “${title}”`,
    text: `${asker} is notified. The decision stays open.`,
    fields: [{ name: "text", label: "Comment", required: true, multiline: true }],
    button: "Comment",
    run: ({ text = "" }) => api.POST("/api/v1/decisions/{id}/comment", { params: { path: { id } }, body: { text } }),
    done: `commented on ${id}`,
  });
}

/** Mark the message that announced a decision as read, now that it is decided. */
export async function markAnnouncement(decision: Decision): Promise<void> {
  const message = (decision.data as { told?: Record<string, string> }).told?.["@human"];
  if (message) await markRead([message]).catch(() => undefined);
}
