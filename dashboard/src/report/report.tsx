/** A report: what a crew did, who waited for whom, and what coordination cost. */
import { useMemo, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import type { Range } from "../charts";
import { Gantt } from "../history/gantt";
import { ContentionBars, LevelsChart, OverheadChart, ThroughputChart, TotalsList, WaitBars, WorkTable } from "../history/figures";
import { type Lane, lanesOf } from "../history/lanes";
import { Legend } from "../history/legend";
import type { History } from "../history/types";
import { SHOWN_FIRST } from "../history/words";
import { hueOf } from "../hue";
import { localDateTime, span } from "../time";

const GROUPS: ReadonlySet<string> = new Set(SHOWN_FIRST);
const names = {
  agent: (id: string) => (
    <span class="agent">
      <span class="dot" style={{ "--hue": hueOf(id) }} aria-hidden="true" />
      <span class="agent-name">{id}</span>
    </span>
  ),
  file: (path: string) => <span class="path">{path}</span>,
};
const nameOf = (lane: Lane) => names.agent(lane.name);

export function Report({ history }: { history: History }) {
  const whole = { begin: history.since, end: Math.max(history.until, history.since + 1) };
  const [range, setRange] = useState<Range | null>(null);
  const lanes = useMemo(() => lanesOf(history, "agent", GROUPS, ""), [history]);
  const shown = range ?? whole;
  return (
    <main class="report">
      <header>
        <h1>
          {history.project}: what the agents did
        </h1>
        <p class="muted">
          <time>{localDateTime(whole.begin)}</time> to <time>{localDateTime(whole.end)}</time> {zone(whole.end)} ({span(whole.end - whole.begin)}), by Dibs
        </p>
        <TotalsList history={history} />
      </header>
      {lanes.length ? (
        <>
          <Part title="Timeline" more={range && <button type="button" onClick={() => setRange(null)}>Show the whole range</button>}>
            <Legend history={history} groups={GROUPS} />
            <Gantt label="Claims and waits of each agent" lanes={lanes} range={shown} now={history.until} nameOf={nameOf} onRange={setRange} full />
            {history.truncated && <p class="muted">The oldest claims and marks are left out: there are too many to show.</p>}
          </Part>
          <div class="pair">
            <Part title="Contention">
              <p class="muted">Files that agents had to wait for, or were denied.</p>
              <ContentionBars history={history} names={names} />
            </Part>
            <Part title="Waiting">
              <p class="muted">How long each agent waited for others.</p>
              <WaitBars history={history} names={names} />
            </Part>
          </div>
          <Part title="Work per agent">
            <WorkTable history={history} names={names} />
          </Part>
          <Part title="Over time">
            <div class="pair">
              <LevelsChart history={history} range={shown} />
              <ThroughputChart history={history} range={shown} />
            </div>
            <OverheadChart history={history} range={shown} />
          </Part>
        </>
      ) : (
        <p>Nothing happened in this range.</p>
      )}
    </main>
  );
}

/** The time zone: an image leaves the machine that wrote it. */
function zone(at: number): string {
  const parts = new Intl.DateTimeFormat(undefined, { timeZoneName: "short" }).formatToParts(at * 1000);
  return parts.find((one) => one.type === "timeZoneName")?.value ?? "";
}

function Part({ title, more, children }: { title: string; more?: ComponentChildren; children: ComponentChildren }) {
  return (
    <section class="panel" aria-label={title}>
      <header>
        <h2>{title}</h2>
        {more}
      </header>
      {children}
    </section>
  );
}
