/** Requests to release a claim: a human answers for their own claims, and can revoke any other. */
import { api } from "../../api/client";
import { useRights } from "../../api/rights";
import { ask } from "../../ui/actions";
import { AgentName, FilePath } from "../../ui/parts";
import { Answered } from "./conflict";
import type { Ask } from "./data";
import { messageTo } from "./messages";

export function ReleaseRequest({ ask: one, mine }: { ask: Ask; mine: string }) {
  const rights = useRights();
  const own = one.holder === mine;
  return (
    <article class="mail-card" tabIndex={0} aria-label={`${one.asker} asks for ${one.pattern}`}>
      <p class="byline">
        <AgentName id={one.asker} /> asks {own ? "you" : <AgentName id={one.holder} />} to release <FilePath path={one.pattern} />
      </p>
      <p>
        <Answered ask={one} />
      </p>
      <footer class="mail-actions">
        {own && rights.act && <OwnAnswers ask={one} />}
        {!own && rights.act && (
          <button type="button" data-key="r" onClick={() => messageTo(one.holder)}>
            Message {one.holder}
          </button>
        )}
        {!own && rights.human && (
          <button type="button" class="danger" onClick={() => revoke(one)}>
            Revoke the claim
          </button>
        )}
      </footer>
    </article>
  );
}

function OwnAnswers({ ask: one }: { ask: Ask }) {
  const answer = (reply: "yes" | "later" | "no", title: string, text: string) =>
    ask({
      title,
      text,
      fields: [
        ...(reply === "later" ? [{ name: "within", label: "Minutes until you release it", required: true, value: "10" }] : []),
        { name: "note", label: "Note" },
      ],
      button: "Reply",
      run: ({ note = "", within = "" }) =>
        api.POST("/api/v1/claims/answer", {
          body: { ...(one.message ? { message: one.message } : { pattern: one.pattern }), answer: reply, note, ...(within && { within: Number(within) * 60 }) },
        }),
      done: `replied ${reply} to ${one.asker}`,
    });
  return (
    <>
      <button type="button" class="primary" data-key="y" onClick={() => answer("yes", "Release it now?", `${one.asker} is notified, and your claim ends.`)}>
        Yes, release it
      </button>
      <button type="button" onClick={() => answer("later", "Release it later?", `${one.asker} is told when to expect it.`)}>
        Later
      </button>
      <button type="button" data-key="n" onClick={() => answer("no", "Keep it?", `${one.asker} is told that you keep it.`)}>
        No
      </button>
    </>
  );
}

function revoke(one: Ask): void {
  ask({
    title: `Revoke the claim of ${one.holder} on ${one.pattern}?`,
    text: `${one.holder} is told to stop working on it.`,
    fields: [{ name: "reason", label: "Reason", required: true }],
    button: "Revoke the claim",
    danger: true,
    run: ({ reason = "" }) => api.POST("/api/v1/claims/revoke", { body: { pattern: one.pattern, reason } }),
    done: `revoked the claim of ${one.holder} on ${one.pattern}`,
  });
}
