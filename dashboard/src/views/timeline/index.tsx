/** The timeline: who held what and when, who waited, and what happened; and the replay of any moment. */
import { useMemo, useRef } from "preact/hooks";
import { Gantt } from "../../history/gantt";
import { ContentionBars, LevelsChart, OverheadChart, ThroughputChart, WaitBars } from "../../history/figures";
import { zoom } from "../../history/keys";
import { type GroupBy, type Lane, lanesOf } from "../../history/lanes";
import { Legend } from "../../history/legend";
import { useHistory } from "../../history/load";
import type { History } from "../../history/types";
import { SHOWN_FIRST } from "../../history/words";
import { moment } from "../../moment";
import { play, show } from "../../replay";
import { param, setParams } from "../../router";
import { clock } from "../../time";
import { AgentName, Empty, FilePath, Panel, Problem } from "../../ui/parts";
import { openHit } from "./links";
import { SpanList } from "./list";
import { chooseRange, chosenRange, choosePreset, PRESETS, useRequested } from "./range";

const names = { agent: (id: string) => <AgentName id={id} />, file: (path: string) => <FilePath path={path} /> };
const nameOf = (lane: Lane) => (lane.by === "agent" ? <AgentName id={lane.name} /> : <FilePath path={lane.name} />);

export function TimelineView() {
  const now = clock.value;
  const { since, until } = useRequested(now);
  const loaded = useHistory(since, until);
  const last = useRef<History | undefined>(undefined);
  if (loaded.data) last.current = loaded.data;
  const history = last.current;
  return (
    <>
      <h1 class="visually-hidden">Timeline</h1>
      {loaded.error && <Problem error={loaded.error} />}
      {history ? <Loaded history={history} now={now} /> : !loaded.error && <p class="muted loading">Loading…</p>}
    </>
  );
}

function Loaded({ history, now }: { history: History; now: number }) {
  const by: GroupBy = param("by") === "file" ? "file" : "agent";
  const search = param("q");
  const marks = param("marks");
  const groups = useMemo(() => new Set(marks ? marks.split(",") : SHOWN_FIRST), [marks]);
  const lanes = useMemo(() => lanesOf(history, by, groups, search), [history, by, groups, search]);
  const range = chosenRange(now, history);
  const toggle = (group: string) => {
    const next = new Set(groups);
    if (!next.delete(group)) next.add(group);
    setParams({ marks: [...next].join(",") || "none" });
  };
  if (history.known_since === null) {
    return (
      <Empty title="Nothing has happened yet" command="dibs claim PATH">
        The timeline shows claims, waits, and commits as soon as an agent works. For a first claim, run:
      </Empty>
    );
  }
  return (
    <div class="timeline">
      <Panel title="Timeline" actions={<Controls by={by} range={range} now={now} search={search} />}>
        <Legend history={history} groups={groups} onToggle={toggle} />
        {lanes.length ? (
          <Gantt
            label={by === "agent" ? "Claims and waits of each agent" : "Claims and waits for each file"}
            lanes={lanes}
            range={range}
            now={now}
            nameOf={nameOf}
            moment={moment.value}
            onRange={(next) => chooseRange(next, now)}
            onMoment={show}
            onOpen={openHit}
          />
        ) : (
          <Nothing search={search} />
        )}
        {history.truncated && <p class="muted">Too much to show at once: the oldest claims and marks are left out. Zoom in to see them.</p>}
        <SpanList lanes={lanes} range={range} now={now} />
      </Panel>
      <div class="figures">
        <Panel title="Levels" class="bare"><LevelsChart history={history} range={range} mark={moment.value} /></Panel>
        <Panel title="Throughput" class="bare"><ThroughputChart history={history} range={range} mark={moment.value} /></Panel>
        <Panel title="Coordination overhead" class="bare"><OverheadChart history={history} range={range} mark={moment.value} /></Panel>
      </div>
      <div class="figures two">
        <Panel title="Contended files"><ContentionBars history={history} names={names} /></Panel>
        <Panel title="Waiting per agent"><WaitBars history={history} names={names} /></Panel>
      </div>
    </div>
  );
}

function Nothing({ search }: { search: string }) {
  return search ? (
    <Empty title={`Nothing matches “${search}” in this range`} />
  ) : (
    <Empty title="Nothing happened in this range">
      <button type="button" onClick={() => choosePreset("all")}>
        Show everything
      </button>
    </Empty>
  );
}

function Controls({ by, range, now, search }: { by: GroupBy; range: { begin: number; end: number }; now: number; search: string }) {
  const chosen = param("from") ? null : param("range");
  return (
    <div class="timeline-controls">
      <span class="choice" role="group" aria-label="A lane for each">
        {(["agent", "file"] as const).map((one) => (
          <button key={one} type="button" aria-pressed={by === one} onClick={() => setParams({ by: one === "agent" ? "" : one })}>
            {one === "agent" ? "By agent" : "By file"}
          </button>
        ))}
      </span>
      <span class="choice" role="group" aria-label="Range">
        {Object.entries(PRESETS).map(([key, { name }]) => (
          <button key={key} type="button" aria-pressed={chosen === key} onClick={() => choosePreset(key)}>
            {name}
          </button>
        ))}
      </span>
      <span class="choice" role="group" aria-label="Zoom">
        <button type="button" aria-label="Zoom out" onClick={() => chooseRange(zoom(range, 1 / 0.6), now)}>
          −
        </button>
        <button type="button" aria-label="Zoom in" onClick={() => chooseRange(zoom(range, 0.6), now)}>
          +
        </button>
      </span>
      <button
        type="button"
        onClick={() => {
          show(Math.max(range.begin, now - (now - range.begin)) + 1);
          play();
        }}
      >
        ▶ Replay
      </button>
      <input type="search" placeholder="Agent, file, or text" aria-label="Search the timeline" value={search} onInput={(event) => setParams({ q: event.currentTarget.value })} />
    </div>
  );
}
