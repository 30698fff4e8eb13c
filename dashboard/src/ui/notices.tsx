/** Toasts for what a person should know wherever they are: crashes, restarts, and new alerts. */
import { useEffect } from "preact/hooks";
import { type LiveEvent, onEvent } from "../api/live";
import { href } from "../router";
import { clock } from "../time";
import { toast } from "./actions";

/** Seconds after which an event is no news: those that arrive late after a reconnection. */
const OLD = 60;

export function Notices() {
  useEffect(() => onEvent(notice), []);
  return null;
}

function notice(event: LiveEvent): void {
  if (clock.peek() - event.at > OLD) return;
  const about = { to: href("/crew", { agent: event.agent }), text: "Show the agent" };
  const { summary } = event.entry;
  switch (event.type) {
    case "agent:crashed":
    case "agent:restart_limit":
      return toast(summary, "bad", "", about);
    case "agent:auto_restarted":
      return toast(summary, "info", "", about);
    case "alert:new":
      return toast(summary, "info", "", { to: href("/"), text: "Show the alerts" });
  }
}
