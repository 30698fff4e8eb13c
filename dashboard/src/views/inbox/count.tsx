/** How many things wait for the human, next to the inbox in the navigation. */
import { announces, usePending, useUnread } from "./data";

export function InboxCount() {
  const unread = (useUnread().data ?? []).filter((one) => !announces(one)).length;
  const pending = (usePending().data ?? []).length;
  if (!unread && !pending) return null;
  return (
    <span class={`number ${pending ? "urgent-number" : ""}`} title={`${pending} to decide, ${unread} unread`}>
      {unread + pending}
      <span class="visually-hidden"> open: {pending} to decide, {unread} unread</span>
    </span>
  );
}
