/** Messages in threads: read, acknowledge, reply, and write new ones. */
import { useState } from "preact/hooks";
import { api, data } from "../../api/client";
import { useRights } from "../../api/rights";
import { param } from "../../router";
import { act, ask } from "../../ui/actions";
import { AgentName, Age, Badge, TimeLeft } from "../../ui/parts";
import { FoldedText } from "../../ui/folded";
import { type Letter, markRead, type Thread } from "./data";

/** Earlier messages of a thread are folded. */
const SHOWN = 3;

export function ThreadCard({ thread, mine }: { thread: Thread; mine: string }) {
  const rights = useRights();
  const [open, setOpen] = useState(false);
  const hidden = open ? 0 : Math.max(0, thread.letters.length - SHOWN);
  const unread = thread.letters.filter((one) => !one.read && one.sender !== mine).map((one) => one.id);
  const due = thread.letters.filter((one) => one.wants_ack && !one.acked && one.sender !== mine).map((one) => one.id);
  const last = thread.letters.findLast((one) => one.sender !== mine) ?? thread.letters.at(-1);
  const first = thread.letters[0];
  if (!first || !last) return null;
  return (
    <article class={`mail-card ${unread.length ? "unread" : ""} ${param("thread") === thread.id ? "chosen" : ""}`} id={thread.id} tabIndex={0} aria-label={`Messages with ${first.sender ?? "Dibs"}`}>
      {hidden > 0 && (
        <button type="button" class="link" onClick={() => setOpen(true)}>
          Show {hidden} earlier {hidden === 1 ? "message" : "messages"}
        </button>
      )}
      {thread.letters.slice(hidden).map((one) => (
        <OneMessage key={one.id} letter={one} mine={mine} />
      ))}
      {rights.act && (
        <footer class="mail-actions">
          {last.sender && last.sender !== mine && (
            <button type="button" class={unread.length ? "primary" : ""} data-key="r" onClick={() => reply(last)}>
              Reply
            </button>
          )}
          {due.length > 0 && (
            <button type="button" data-key="a" onClick={() => act(() => acknowledge(due), "acknowledged")}>
              Acknowledge
            </button>
          )}
          {unread.length > 0 && (
            <button type="button" data-key="e" onClick={() => act(() => markRead(unread), "marked as read")}>
              Mark as read
            </button>
          )}
        </footer>
      )}
    </article>
  );
}

function OneMessage({ letter, mine }: { letter: Letter; mine: string }) {
  const own = letter.sender === mine;
  const to = letter.to.replace(/^@/, "");
  return (
    <div class={`message ${own ? "own" : ""}`}>
      <p class="byline">
        {!own && !letter.read && <Badge tone="info">new</Badge>}
        {own ? <b>You</b> : letter.sender ? <AgentName id={letter.sender} /> : <b>Dibs</b>}
        {(own || (to !== "human" && to !== mine)) && <span class="muted">to {to}</span>}
        <Age at={letter.at} />
        {letter.priority !== "normal" && <Badge tone={{ urgent: "bad", high: "warn" }[letter.priority] as "bad" | "warn" | undefined}>{letter.priority}</Badge>}
        {letter.wants_ack && !own && (letter.acked ? <Badge tone="good">acknowledged</Badge> : <Badge tone="warn">wants an acknowledgment</Badge>)}
        {letter.wants_ack && !own && !letter.acked && letter.due && <TimeLeft until={letter.due} />}
      </p>
      <FoldedText text={letter.text} />
    </div>
  );
}

async function acknowledge(ids: string[]): Promise<void> {
  await api.POST("/api/v1/messages/ack", { body: { ids } });
  await markRead(ids);
}

function reply(letter: Letter): void {
  ask({
    title: `Reply to ${letter.sender}`,
    fields: [{ name: "text", label: "Message", required: true, multiline: true }],
    button: "Send",
    run: async ({ text = "" }) => {
      await api.POST("/api/v1/messages", { body: { reply_to: letter.id, text } });
      await markRead([letter.id]);
    },
    done: `sent to ${letter.sender}`,
  });
}

/** Write to an agent. */
export function messageTo(agent: string): void {
  write([{ name: "to", label: "To", required: true, value: agent }]);
}

/** Write to an agent, a role, a group, or everyone. */
export async function newMessage(): Promise<void> {
  const [agents, groups] = await Promise.all([
    data(api.GET("/api/v1/agents", { params: { query: { limit: 1000 } } })).catch(() => ({ agents: [] })),
    data(api.GET("/api/v1/groups")).catch(() => ({ groups: [] })),
  ]);
  const active = agents.agents.filter((one) => one.role !== "human" && !one.ended);
  const roles = [...new Set(active.map((one) => one.role))].filter((role) => role !== "agent");
  write([
    {
      name: "to",
      label: "To (an agent, a role, a group, or all)",
      required: true,
      suggestions: [
        { value: "all", label: "everyone" },
        ...active.map((one) => ({ value: one.id, label: one.role })),
        ...roles.map((role) => ({ value: role, label: "every agent with this role" })),
        ...groups.groups.map((one) => ({ value: one.name, label: "group" })),
      ],
    },
  ]);
}

function write(to: NonNullable<Parameters<typeof ask>[0]["fields"]>): void {
  ask({
    title: "New message",
    text: "Agents see it in their next briefing, marked as a human's message.",
    fields: [
      ...to,
      { name: "text", label: "Message", required: true, multiline: true },
      { name: "priority", label: "Priority", required: true, choices: ["urgent", "high", "normal", "low"], value: "normal" },
      { name: "ack", label: "Ask for an acknowledgment", required: true, choices: ["no", "yes"], value: "no" },
    ],
    button: "Send",
    run: ({ to = "", text = "", priority = "normal", ack }) =>
      api.POST("/api/v1/messages", { body: { to, text, priority, wants_ack: ack === "yes" } }),
    done: "message sent",
  });
}
