/** The state of the connection, in words, and what to do about it. */
import type { ComponentChildren } from "preact";
import { useRights } from "../api/rights";
import { connection, receivedAt } from "../api/live";
import { clock, localTime, span } from "../time";

/** Seconds without a connection before the page says what to do. */
const PATIENCE = 2;
/** Seconds before the end of a session at which the page says so. */
const ENDS_SOON = 900;

export function ConnectionState() {
  const found = connection.value;
  return (
    <span class={`connection ${found.state}`} role="status" title={TITLES[found.state]}>
      {words()}
    </span>
  );
}

const TITLES = {
  connecting: "connecting to the server",
  live: "changes appear as they happen",
  behind: "the server runs, but its store answers late",
  offline: "the server does not answer",
  "signed-out": "this browser is signed out",
};

function words(): string {
  const found = connection.value;
  switch (found.state) {
    case "offline": {
      const left = Math.ceil(found.retryAt / 1000 - clock.value);
      return left > 0 ? `Reconnecting in ${span(left)}` : "Reconnecting";
    }
    case "behind":
      return `Behind by ${span(clock.value - found.since)}`;
    default:
      return { connecting: "Connecting", live: "Live", "signed-out": "Signed out" }[found.state];
  }
}

/** One line below the header for what a person should do something about. */
export function Banner() {
  const found = connection.value;
  const { until } = useRights();
  if (found.state === "offline" && clock.value - found.since > PATIENCE) {
    const last = receivedAt.value;
    return (
      <Line tone="bad">
        The server does not answer{last ? `; this page shows ${localTime(last)}` : ""}. To start it, run <code>dibs open</code>
      </Line>
    );
  }
  if (found.state === "behind") return <Line tone="warn">The store answers late: what you see may be out of date</Line>;
  if (until && until - clock.value < ENDS_SOON)
    return (
      <Line tone="warn">
        You are signed in for another {span(until - clock.value)}. To stay signed in, run <code>dibs open</code>
      </Line>
    );
  return null;
}

function Line({ tone, children }: { tone: "warn" | "bad"; children: ComponentChildren }) {
  return (
    <div class={`banner ${tone}`} role="status">
      {children}
    </div>
  );
}
