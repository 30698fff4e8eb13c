/** A file, folder, glob, or resource: owner and time left, queue, history, uncommitted changes, and actions. */
import { api, data, type Schemas } from "../../api/client";
import { useResource } from "../../api/resource";
import { useRights } from "../../api/rights";
import { href, Link } from "../../router";
import { until } from "../../replay";
import { now, span } from "../../time";
import { ask } from "../../ui/actions";
import { AgentName, Age, Badge, FilePath, Show, TimeLeft } from "../../ui/parts";
import { Side } from "../../ui/side";
import { counted, visible } from "../../ui/text";

type Held = Schemas["held_claim"];
type Span = Schemas["claim_span"];

export function FilePanel({ path, onClose }: { path: string; onClose: () => void }) {
  const at = until.value;
  return (
    <Side title={visible(path, 300)} onClose={onClose}>
      {at ? <OwnersAt path={path} at={at} /> : <Owners path={path} />}
      {!at && <Changes path={path} />}
      <History path={path} />
      <footer class="side-actions">
        <Link class="button" to={href("/ledger", { file: path })}>
          Open in ledger
        </Link>
        <Link class="button" to={href("/timeline", { q: path, by: "file" })}>
          Open in timeline
        </Link>
      </footer>
    </Side>
  );
}

function Owners({ path }: { path: string }) {
  const loaded = useResource(`who ${path}`, () => data(api.GET("/api/v1/claims/{path}", { params: { path: { path } } })), { on: ["lock", "release", "agent"], every: 10 });
  return (
    <Show of={loaded}>
      {({ holders, waiters }) => (
        <>
          <section aria-label="Owners">
            <h3>{holders.length > 1 ? counted(holders.length, "claim") : "Owner"}</h3>
            {holders.length ? (
              <ul class="rows">
                {holders.map((claim) => (
                  <OneClaim key={claim.id} claim={claim} path={path} />
                ))}
              </ul>
            ) : (
              <p class="muted">Unclaimed. The next agent that edits it claims it.</p>
            )}
          </section>
          {waiters.length > 0 && (
            <section aria-label="Queue">
              <h3>Waiting in the queue</h3>
              <ol class="rows">
                {waiters.map((ticket) => (
                  <li key={ticket.ticket}>
                    <div class="claim-line">
                      <AgentName id={ticket.agent} /> <span class="muted">for {span(now.value - ticket.since)}</span>
                    </div>
                    <p class="muted">
                      wants{" "}
                      {ticket.patterns.map((one) => (
                        <FilePath key={one} path={one} />
                      ))}
                    </p>
                    {ticket.reason && <p class="quote">{visible(ticket.reason)}</p>}
                  </li>
                ))}
              </ol>
            </section>
          )}
        </>
      )}
    </Show>
  );
}

function OneClaim({ claim, path }: { claim: Held; path: string }) {
  return (
    <li>
      <div class="claim-line">
        <AgentName id={claim.agent} /> {claim.mode === "shared" && <Badge>shared</Badge>} {claim.expires_at && <TimeLeft until={claim.expires_at} />}
      </div>
      {claim.pattern !== path && (
        <p class="muted">
          holds <FilePath path={claim.pattern} />
        </p>
      )}
      {claim.reason && <p class="quote">{visible(claim.reason)}</p>}
      <p class="muted">since {<Age at={claim.since} />}</p>
      {claim.asked_by.map((asked) => (
        <p key={asked.asker}>
          <AgentName id={asked.asker} /> asked for it {span(now.value - asked.at)} ago: {asked.answer ? `the answer is ${asked.answer}` : "no answer yet"}
          {asked.note && <span class="quote">{visible(asked.note)}</span>}
        </p>
      ))}
      <ClaimActions claim={claim} />
    </li>
  );
}

function ClaimActions({ claim }: { claim: Held }) {
  const { act, human, why } = useRights();
  const { agent, pattern } = claim;
  if (!act) return why ? <p class="muted">{why}</p> : null;
  const request = () =>
    ask({
      title: `Ask ${agent} to release ${pattern}`,
      text: "The agent gets a message, and replies yes, later, or no.",
      fields: [{ name: "note", label: "Note", multiline: true }],
      button: "Ask",
      run: ({ note }) => api.POST("/api/v1/claims/ask", { body: { patterns: [pattern], note: note ?? "" } }),
      done: `asked ${agent}`,
    });
  const revoke = () =>
    ask({
      title: `Revoke ${agent}’s claim on ${pattern}`,
      text: "The agent loses the claim at once. Its uncommitted changes stay in the working tree.",
      fields: [{ name: "reason", label: "Reason", required: true }],
      button: "Revoke",
      danger: true,
      run: ({ reason }) => api.POST("/api/v1/claims/revoke", { body: { pattern, reason: reason ?? "" } }),
      done: `revoked ${agent}’s claim on ${pattern}`,
    });
  const message = () =>
    ask({
      title: `Message to ${agent}`,
      fields: [{ name: "text", label: "Message", required: true, multiline: true }],
      button: "Send",
      run: ({ text }) => api.POST("/api/v1/messages", { body: { to: agent, text: text ?? "" } }),
      done: `sent to ${agent}`,
    });
  return (
    <div class="side-actions">
      <button type="button" onClick={request}>
        Ask to release
      </button>
      <button type="button" onClick={message}>
        Message
      </button>
      <button type="button" class="danger" disabled={!human} title={human ? "" : why} onClick={revoke}>
        Revoke
      </button>
    </div>
  );
}

/** The owners at the replayed moment. */
function OwnersAt({ path, at }: { path: string; at: string }) {
  const query = { since: at, until: at, path };
  const loaded = useResource(`owners at ${at} ${path}`, () => data(api.GET("/api/v1/timeline", { params: { query } })), { on: [] });
  return (
    <Show of={loaded}>
      {({ claims }) => (
        <section aria-label="Owners">
          <h3>Owner at this moment</h3>
          {claims.length ? <Spans spans={claims} path={path} /> : <p class="muted">Unclaimed.</p>}
        </section>
      )}
    </Show>
  );
}

type Changed = { path: string; what?: string };

function Changes({ path }: { path: string }) {
  const loaded = useResource("changes", () => data(api.GET("/api/v1/changes")), { on: ["commit", "file", "foreign", "lock"], every: 15 });
  const inside = (file: Changed) => file.path === path || file.path.startsWith(`${path.replace(/\/\*\*$/, "")}/`);
  const found = (loaded.data?.trees ?? []).flatMap((tree) => [
    ...(tree.agents as { agent: string; files: Changed[] }[]).flatMap(({ agent, files }) => files.filter(inside).map((file) => ({ agent, file }))),
    ...(tree.nobody as Changed[]).filter(inside).map((file) => ({ agent: "", file })),
  ]);
  if (!found.length) return null;
  return (
    <section aria-label="Uncommitted changes">
      <h3>Uncommitted changes</h3>
      <ul class="rows">
        {found.slice(0, 30).map(({ agent, file }) => (
          <li key={`${agent} ${file.path}`} class="claim-line">
            {file.path !== path && <FilePath path={file.path} />} <Badge tone="info">{file.what ?? "changed"}</Badge> {agent ? <AgentName id={agent} /> : <span class="muted">unclaimed</span>}
          </li>
        ))}
        {found.length > 30 && <li class="muted">and {found.length - 30} more</li>}
      </ul>
    </section>
  );
}

function History({ path }: { path: string }) {
  const at = until.value;
  const query = { since: "all", path, limit: 40, ...(at ? { until: at } : {}) };
  const loaded = useResource(`history ${path} ${at}`, () => data(api.GET("/api/v1/timeline", { params: { query } })), { on: ["lock"] });
  return (
    <Show of={loaded}>
      {({ claims, totals }) => {
        const past = claims.filter((one) => one.end !== null).reverse();
        return (
          <section aria-label="Earlier claims">
            <h3>Earlier claims</h3>
            {past.length ? <Spans spans={past.slice(0, 20)} path={path} /> : <p class="muted">None.</p>}
            {(totals.denied > 0 || totals.waits > 0) && (
              <p class="muted">
                {counted(totals.denied, "denied claim")}, {counted(totals.waits, "wait")}
              </p>
            )}
          </section>
        );
      }}
    </Show>
  );
}

function Spans({ spans, path }: { spans: readonly Span[]; path: string }) {
  return (
    <ul class="rows">
      {spans.map((one) => (
        <li key={`${one.agent} ${one.token} ${one.pattern}`}>
          <div class="claim-line">
            <AgentName id={one.agent} />{" "}
            <span class="muted">
              {one.end !== null ? `for ${span(one.end - one.begin)}` : "still held"}
              {one.how ? `, ${one.how}` : ""}
              {one.by ? ` by ${one.by}` : ""}
            </span>
          </div>
          {one.pattern !== path && <FilePath path={one.pattern} />}
          {one.reason && <p class="quote">{visible(one.reason)}</p>}
          <Age at={one.begin} />
        </li>
      ))}
    </ul>
  );
}
