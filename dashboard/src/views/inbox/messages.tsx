/** Messages: read, reply, and write new ones. */
import { api, data } from "../../api/client";
import { useRights } from "../../api/rights";
import { act, ask } from "../../ui/actions";
import { AgentName, Age, Badge } from "../../ui/parts";
import { FoldedText } from "../../ui/folded";
import { isUnread, type Letter, markRead } from "./data";

export function MessageCard({ letter, mine }: { letter: Letter; mine: string }) {
  const rights = useRights();
  const own = letter.sender === mine;
  const unread = isUnread(letter, mine);
  const to = letter.to.replace(/^@/, "");
  return (
    <article class={`mail-card ${unread ? "unread" : ""}`} id={letter.id} tabIndex={0} aria-label={own ? `Message to ${to}` : `Message from ${letter.sender ?? "Dibs"}`}>
      <p class="byline">
        {unread && <Badge tone="info">new</Badge>}
        {own ? <b>You</b> : letter.sender ? <AgentName id={letter.sender} /> : <b>Dibs</b>}
        {(own || (to !== "human" && to !== mine)) && <span class="muted">to {to}</span>}
        {letter.reply_to && <span class="muted">in reply to {letter.reply_to}</span>}
        <Age at={letter.at} />
      </p>
      <FoldedText text={letter.text} />
      {rights.act && !own && (
        <footer class="mail-actions">
          {letter.sender && (
            <button type="button" class={unread ? "primary" : ""} data-key="r" onClick={() => reply(letter)}>
              Reply
            </button>
          )}
          {unread && (
            <button type="button" data-key="e" onClick={() => act(() => markRead([letter.id]), "marked as read")}>
              Mark as read
            </button>
          )}
        </footer>
      )}
    </article>
  );
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
    fields: [...to, { name: "text", label: "Message", required: true, multiline: true }],
    button: "Send",
    run: ({ to = "", text = "" }) => api.POST("/api/v1/messages", { body: { to, text } }),
    done: "message sent",
  });
}
