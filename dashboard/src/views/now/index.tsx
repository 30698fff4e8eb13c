/** Now: who holds what, who waits for whom, and what is stuck; and what to do about it. */
import { useMemo } from "preact/hooks";
import type { Status } from "../../api/client";
import { useRights } from "../../api/rights";
import { useStatus } from "../../api/status";
import { isReplay } from "../../moment";
import { param, setParams } from "../../router";
import { useGrowing } from "../../ui/growing";
import { moveFocus } from "../../ui/keys";
import { Empty, Panel, Show } from "../../ui/parts";
import { usePending } from "../inbox/data";
import { useActivity } from "./activity";
import { AlertsPanel, useAlerts } from "./alerts";
import { ConflictDialog } from "./conflict";
import { DecisionsPanel } from "./decisions";
import { HealthLine } from "./health";
import { LaneRow } from "./lane";
import { lanesOf, matching, type Wait, waitsOf } from "./model";
import { WaitsPanel } from "./waits";

/** The most lanes at once; those that wait, block, or hold something are the first. */
const MOST = 100;
const STEP = 12;

export function NowView() {
  return (
    <>
      <h1 class="visually-hidden">Now</h1>
      <Show of={useStatus()}>{(status) => <Now status={status} />}</Show>
    </>
  );
}

function Now({ status }: { status: Status }) {
  const live = !isReplay.value;
  const alerts = useAlerts();
  const pending = usePending();
  const rights = useRights();
  const waits = useMemo(() => waitsOf(status), [status]);
  const found = alerts.data?.alerts ?? [];
  const acts = live && rights.act;
  return (
    <div class="now">
      <HealthLine status={status} waiting={status.queue.length} alerts={found.length} critical={found.some((one) => one.severity === "critical")} live={live} />
      <WaitsPanel waits={waits} agents={status.agents} acts={acts} />
      <div class="now-body">
        <Lanes status={status} waits={waits} acts={acts} />
        {live && (
          <div class="now-side">
            <DecisionsPanel of={pending} />
            <AlertsPanel of={alerts} />
          </div>
        )}
      </div>
      {live && <ConflictDialog status={status} waits={waits} decisions={pending.data ?? []} />}
    </div>
  );
}

function Lanes({ status, waits, acts }: { status: Status; waits: readonly Wait[]; acts: boolean }) {
  const entries = useActivity();
  const search = param("q");
  const lanes = useMemo(() => lanesOf(status, waits), [status, waits]);
  const shown = lanes.flatMap((lane) => matching(lane, search) ?? []);
  const visible = useGrowing(Math.min(MOST, shown.length), STEP, search);
  const box = (
    <input type="search" placeholder="Search agents and paths" aria-label="Search agents and paths" value={search} onInput={(event) => setParams({ q: event.currentTarget.value })} />
  );
  if (!lanes.length && isReplay.value) return <Empty title="No agent ran then" />;
  if (!lanes.length)
    return (
      <Empty title="No agents yet" command="dibs init">
        Connect your coding agents with this command. Each agent appears here with its first action.
      </Empty>
    );
  return (
    <Panel title="Agents" count={lanes.length} actions={box} class="lanes">
      <ul onKeyDown={(event) => moveFocus(event, ".lane-who a.agent")}>
        {shown.slice(0, visible).map((lane) => (
          <LaneRow key={lane.agent.id} lane={lane} entry={isReplay.value ? undefined : entries.get(lane.agent.id)} acts={acts} />
        ))}
      </ul>
      {shown.length > MOST && <p class="muted">and {shown.length - MOST} more agents: search for one</p>}
      {!shown.length && <p class="muted">No agent or path matches “{search}”.</p>}
    </Panel>
  );
}
