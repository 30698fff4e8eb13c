/** Inbox: everything that waits for the human. Conflicts first, then decisions, requests, and messages. */
import type { ComponentChild } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useRights } from "../../api/rights";
import { param, setParams } from "../../router";
import { Empty, Panel, Show } from "../../ui/parts";
import { Conflict } from "./conflict";
import { type Decision, isUnread, type Letter, sorted, useDecided, useMail, usePending, useRequests } from "./data";
import { DecidedDecision, PendingDecision } from "./decision";
import { useCardKeys } from "./keys";
import { MessageCard, newMessage } from "./messages";
import { ReleaseRequest } from "./requests";

const STEP = 50;
const TABS = [
  { show: "", name: "Open" },
  { show: "messages", name: "All messages" },
  { show: "decided", name: "All decisions" },
];

export function InboxView() {
  const show = param("show");
  const rights = useRights();
  const words = param("q").toLowerCase().split(/\s+/);
  const has = (value: unknown) => words.every((word) => JSON.stringify(value).toLowerCase().includes(word));
  useCardKeys();
  return (
    <div class="inbox">
      <h1 class="visually-hidden">Inbox</h1>
      <div class="toolbar">
        <div class="tabs" role="group" aria-label="Show">
          {TABS.map((tab) => (
            <button key={tab.show} type="button" aria-pressed={show === tab.show} onClick={() => setParams({ show: tab.show })}>
              {tab.name}
            </button>
          ))}
        </div>
        <input type="search" aria-label="Search the inbox" placeholder="Search" value={param("q")} onInput={(event) => setParams({ q: event.currentTarget.value })} />
        {rights.act && (
          <button type="button" class="primary" onClick={newMessage}>
            New message
          </button>
        )}
      </div>
      {show === "decided" ? <Decided has={has} /> : show === "messages" ? <Messages has={has} mine={rights.who} all /> : <Open has={has} mine={rights.who} />}
    </div>
  );
}

type Test = { has: (value: unknown) => boolean };

function Open({ has, mine }: Test & { mine: string }) {
  const pending = usePending();
  const requests = useRequests().filter(has);
  useScrollTo(param("decision"), pending.data !== undefined);
  return (
    <Show of={pending}>
      {(found) => {
        const conflicts = found.filter((one) => one.conflict && has(one));
        const decisions = found.filter((one) => !one.conflict && has(one));
        const left = conflicts.length + decisions.length + requests.length > 0;
        return (
          <div class={left ? "inbox-columns" : ""}>
            {left && (
              <div class="inbox-column">
                {conflicts.length > 0 && (
                  <Panel title={conflicts.length === 1 ? "Conflict for you to decide" : "Conflicts for you to decide"} count={conflicts.length} class="needs-you">
                    {conflicts.map((one) => (
                      <Conflict key={one.id} id={one.id} />
                    ))}
                  </Panel>
                )}
                {decisions.length > 0 && (
                  <Panel title="Decisions to confirm" count={decisions.length}>
                    {decisions.map((one) => (
                      <PendingDecision key={one.id} decision={one} />
                    ))}
                  </Panel>
                )}
                {requests.length > 0 && (
                  <Panel title="Release requests" count={requests.length}>
                    {requests.map((one) => (
                      <ReleaseRequest key={`${one.asker} ${one.pattern} ${one.holder}`} ask={one} mine={mine} />
                    ))}
                  </Panel>
                )}
              </div>
            )}
            <Messages has={has} mine={mine} shown={requests.map((one) => one.message)} />
          </div>
        );
      }}
    </Show>
  );
}

/** Show messages; `shown` are messages that are shown elsewhere. */
function Messages({ has, mine, all = false, shown = [] }: Test & { mine: string; all?: boolean; shown?: (string | null)[] }) {
  return (
    <Show of={useMail()}>
      {(letters: Letter[]) => {
        const rows = sorted(letters, mine).filter((one) => !shown.includes(one.id) && (all || isUnread(one, mine)) && has(one));
        return (
          <Panel title={all ? "Messages" : "Unread messages"} count={rows.length}>
            {rows.length > 0 ? (
              <Limited rows={rows}>{(one) => <MessageCard key={one.id} letter={one} mine={mine} />}</Limited>
            ) : (
              <Empty title={param("q") ? "No message matches" : all ? "No messages" : "No unread messages"} command={param("q") ? undefined : 'dibs say human "I need a decision"'}>
                {param("q") ? "Change or clear the search." : "Agents reach you with:"}
              </Empty>
            )}
          </Panel>
        );
      }}
    </Show>
  );
}

function Decided({ has }: Test) {
  return (
    <Show of={useDecided()}>
      {(found: Decision[]) => {
        const shown = [...found].reverse().filter(has);
        return (
          <Panel title="Decisions" count={shown.length}>
            {shown.length > 0 ? (
              <Limited rows={shown}>{(one) => <DecidedDecision key={one.id} decision={one} />}</Limited>
            ) : (
              <Empty title={param("q") ? "No decision matches" : "No decisions yet"} command={param("q") ? undefined : 'dibs decide new "use httpx" --confirm'}>
                {param("q") ? "Change or clear the search." : "Agents record decisions, or ask for one, with:"}
              </Empty>
            )}
          </Panel>
        );
      }}
    </Show>
  );
}

/** Show the first rows, and a button for more. */
function Limited<T>({ rows, children }: { rows: readonly T[]; children: (row: T) => ComponentChild }) {
  const [limit, setLimit] = useState(STEP);
  return (
    <>
      {rows.slice(0, limit).map(children)}
      {rows.length > limit && (
        <button type="button" class="show-more" onClick={() => setLimit(limit + STEP)}>
          Show {Math.min(STEP, rows.length - limit)} more of {rows.length - limit}
        </button>
      )}
    </>
  );
}

function useScrollTo(id: string, ready: boolean): void {
  useEffect(() => {
    const found = id && ready ? document.getElementById(id) : null;
    found?.scrollIntoView({ block: "center" });
    found?.focus();
  }, [id, ready]);
}
