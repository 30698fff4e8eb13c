/** One agent: who it is, what it holds and waits for, and what it does. */
import { useState } from "preact/hooks";
import type { Entry } from "../../api/client";
import { isReplay } from "../../moment";
import { now, span } from "../../time";
import { AgentName, Badge, FilePath, hueOf } from "../../ui/parts";
import { TaskName } from "../../ui/task";
import { deed } from "./activity";
import { openConflict } from "./conflict";
import type { Claim, Lane, Wait } from "./model";
import { pathsText, SILENT } from "./model";

const SHOWN = 5;
/** How the names of claims on tasks begin. */
const TASK = "task:";
const MORE = 100;

type LaneProps = { lane: Lane; entry: Entry | undefined; acts: boolean };

export function LaneRow({ lane, entry, acts }: LaneProps) {
  const { agent, claims, waits } = lane;
  const [shown, setShown] = useState(SHOWN);
  const left = claims.length - shown;
  return (
    <li class="lane" style={{ "--hue": hueOf(agent.id) }} data-agent={agent.id}>
      <div class="lane-who">
        <AgentName id={agent.id} />
        <p class="muted">{[agent.role, agent.model].filter(Boolean).join(" · ")}</p>
        <AgentState lane={lane} />
      </div>
      <div class="lane-holds">
        {waits.map((wait) => (
          <WaitLine key={`${wait.ticket.ticket} ${wait.holder}`} wait={wait} acts={acts} />
        ))}
        <ul>
          {claims.slice(0, shown).map((claim) => (
            <ClaimLine key={claim.id} claim={claim} task={agent.task} />
          ))}
        </ul>
        {left > 0 && (
          <button type="button" class="plain more" onClick={() => setShown(shown + MORE)}>
            and {left} more
          </button>
        )}
        {!claims.length && !waits.length && <p class="muted">holds nothing</p>}
      </div>
      <div class="lane-does">
        {agent.task && (
          <p class="task">
            <TaskName id={agent.task} />
          </p>
        )}
        {entry && <LastDeed entry={entry} />}
      </div>
    </li>
  );
}

function LastDeed({ entry }: { entry: Entry }) {
  return (
    <p class="muted deed" title={entry.summary}>
      {deed(entry)} <span class="nowrap">{span(now.value - entry.at)} ago</span>
    </p>
  );
}

function AgentState({ lane: { agent, waits } }: { lane: Lane }) {
  const silent = now.value - agent.last_seen;
  const [tone, word] = waits.length
    ? (["warn", "waiting"] as const)
    : agent.status === "running"
      ? (["good", "working"] as const)
      : (["neutral", agent.status] as const);
  return (
    <p class="lane-state">
      <Badge tone={tone}>{word}</Badge>
      {silent >= SILENT && <span class="silent">silent for {span(silent)}</span>}
    </p>
  );
}

/** A claim; `task` is the task that the page shows next to it anyway. */
export function ClaimLine({ claim, task = "" }: { claim: Claim; task?: string }) {
  const named = claim.pattern.startsWith(TASK) ? claim.pattern.slice(TASK.length) : "";
  const forTask = claim.task && claim.task !== named && claim.task !== task;
  return (
    <li class="claim">
      <div class="claim-path">
        {named ? (
          <>
            <span class="muted">task</span> <TaskName id={named} />
          </>
        ) : (
          <FilePath path={claim.pattern} />
        )}
        {claim.mode === "shared" && <Badge>shared</Badge>}
        {claim.asked_by.length > 0 && (
          <Badge tone="warn">asked by {pathsText(claim.asked_by.map((one) => one.asker))}</Badge>
        )}
      </div>
      {isReplay.value ? <span class="time-left muted">for {span(now.value - claim.since)}</span> : <ClaimTime claim={claim} />}
      {(claim.reason || forTask) && (
        <p class="muted claim-reason">
          {claim.reason}
          {claim.reason && forTask && " · "}
          {forTask && <TaskName id={claim.task} />}
        </p>
      )}
    </li>
  );
}

/** The time left, as a text and a thin bar. */
export function ClaimTime({ claim }: { claim: Pick<Claim, "expires_at" | "ttl" | "while_running"> }) {
  if (claim.while_running) return <span class="time-left muted" title="its process runs, so the claim does not expire">while it runs</span>;
  if (!claim.expires_at) return null; // a replayed claim
  const left = claim.expires_at - now.value;
  const share = Math.max(0, Math.min(1, left / claim.ttl));
  return (
    <span class={`time-left ${left < 30 ? "urgent" : ""}`} title="then it expires, unless the agent does something">
      {left > 0 ? `${span(left)} left` : "expired"}
      <span class="bar" aria-hidden="true">
        <span style={{ width: `${share * 100}%` }} />
      </span>
    </span>
  );
}

function WaitLine({ wait, acts }: { wait: Wait; acts: boolean }) {
  const { ticket, holder, queued } = wait;
  return (
    <div class="wait-line">
      <span>
        waiting for <span class="path">{pathsText(ticket.patterns)}</span>, {queued ? "behind" : "held by"}{" "}
        <AgentName id={holder} />, {span(now.value - ticket.since)}
      </span>
      {acts && !queued && (
        <button type="button" class="small" onClick={() => openConflict(wait)}>
          Resolve
        </button>
      )}
    </div>
  );
}
