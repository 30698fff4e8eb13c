/** The navigation: a row at the top, or a bar at the bottom of a phone. */
import { useEffect, useState } from "preact/hooks";
import { useStatus } from "../api/status";
import { href, Link, path } from "../router";
import { VIEWS } from "../views";
import { InboxCount } from "../views/inbox/count";
import { useAlerts } from "../views/now/alerts";

/** The views that a phone's bar shows; the others are behind "More". */
const FIRST = ["/", "/files", "/board", "/inbox"];

type Count = { number: number; what: string; urgent?: boolean };

/** Return what waits in a view, by path; a reader must not open each to find out. */
function useCounts(): Record<string, Count> {
  const { data: status } = useStatus();
  const { data: alerts } = useAlerts();
  return {
    "/": { number: alerts?.alerts.length ?? 0, what: "alerts", urgent: true },
    "/files": { number: status?.claims.length ?? 0, what: "claims" },
    "/crew": { number: status?.agents.length ?? 0, what: "agents" },
  };
}

export function Navigation() {
  const counts = useCounts();
  const [open, setOpen] = useState(false);
  useEffect(() => setOpen(false), [path.value]);
  const current = VIEWS.find((one) => one.path === path.value);
  const hidden = current && !FIRST.includes(current.path);
  return (
    <nav aria-label="Views" class={open ? "views open" : "views"} onKeyDown={(event) => event.key === "Escape" && setOpen(false)}>
      {VIEWS.map((one) => {
        const count = counts[one.path];
        return (
          <Link
            key={one.path}
            to={href(one.path)}
            class={FIRST.includes(one.path) ? "" : "later"}
            aria-current={one === current ? "page" : undefined}
            title={`${one.name} (g ${one.key})`}
          >
            {one.name}
            {one.path === "/inbox" && <InboxCount />}
            {count && count.number > 0 && (
              <span class={count.urgent ? "number urgent-number" : "number"} title={`${count.number} ${count.what}`}>
                {count.number > 999 ? "999+" : count.number}
                <span class="visually-hidden"> {count.what}</span>
              </span>
            )}
          </Link>
        );
      })}
      <button type="button" class={hidden ? "views-more current" : "views-more"} aria-expanded={open} onClick={() => setOpen(!open)}>
        {hidden ? current.name : "More"} <span aria-hidden="true">{open ? "▾" : "▴"}</span>
      </button>
    </nav>
  );
}
