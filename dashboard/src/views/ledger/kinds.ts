/** What screens call the kinds of ledger entries. The ledger says "lock"; people say "claim". */
type Tone = "neutral" | "good" | "warn" | "bad" | "info";
type Group = { id: string; name: string; kinds: Record<string, [label: string, tone?: Tone]> };

export const GROUPS: readonly Group[] = [
  {
    id: "claims",
    name: "Claims",
    kinds: {
      lock_acquired: ["Claimed", "good"],
      lock_denied: ["Claim denied", "bad"],
      lock_queued: ["Joined queue", "warn"],
      lock_unqueued: ["Left queue"],
      lock_turn: ["Turn in queue", "info"],
      lock_renewed: ["Claim renewed"],
      lock_released: ["Claim released"],
      lock_expired: ["Claim expired", "warn"],
      lock_revoked: ["Claim revoked", "bad"],
      lock_transferred: ["Claim transferred", "info"],
      release_requested: ["Release requested", "warn"],
      release_answered: ["Request answered", "info"],
      conflict_escalated: ["Conflict escalated", "bad"],
    },
  },
  {
    id: "agents",
    name: "Agents",
    kinds: {
      agent_joined: ["Agent joined", "info"],
      sub_agent_spawned: ["Subagent joined", "info"],
      agent_exited: ["Agent left"],
      agent_crashed: ["Agent crashed", "bad"],
      agent_auto_restarted: ["Agent restarted", "warn"],
      agent_restart_limit: ["Restart limit", "bad"],
      crew_changed: ["Crew changed", "info"],
      agent_terminated: ["Agent stopped", "warn"],
      agent_guarded: ["Guard active", "good"],
      status_change: ["Status changed"],
      progress_update: ["Progress"],
    },
  },
  {
    id: "files",
    name: "Files",
    kinds: {
      file_edit: ["File edited"],
      file_read: ["File read"],
      write_refused: ["Edit blocked", "bad"],
      foreign_write: ["Changed another's file", "bad"],
      wiring_changed: ["Changed what guards agents", "bad"],
    },
  },
  {
    id: "tasks",
    name: "Tasks",
    kinds: {
      task_added: ["Task added", "info"],
      task_assigned: ["Task assigned"],
      task_started: ["Task started", "info"],
      task_completed: ["Task completed", "good"],
      task_failed: ["Task failed", "bad"],
      task_returned: ["Task returned", "warn"],
      task_reopened: ["Task reopened"],
      task_blocked: ["Task blocked", "warn"],
      task_cancelled: ["Task cancelled"],
      task_reassigned: ["Task reassigned"],
      task_edited: ["Task edited"],
      task_refused: ["Task file refused", "bad"],
      task_stuck: ["Task stuck", "warn"],
      task_archived: ["Task archived"],
      task_clash: ["Tasks overlap", "warn"],
      handoff_created: ["Handed off", "info"],
      handoff_refused: ["Handoff refused", "bad"],
      delegated: ["Delegated", "info"],
      delegation_cancelled: ["Delegation cancelled"],
      board_cycle: ["Board updated"],
    },
  },
  {
    id: "git",
    name: "Commits and merges",
    kinds: {
      commit: ["Committed", "good"],
      commit_refused: ["Commit refused", "bad"],
      tests_passed: ["Tests passed", "good"],
      tests_failed: ["Tests failed", "bad"],
      merge: ["Merged", "good"],
      merge_refused: ["Merge refused", "bad"],
      conflict_forecast: ["Conflict forecast", "warn"],
      head_moved: ["Branch switched", "warn"],
      history_rewritten: ["History rewritten", "warn"],
      worktree_added: ["Worktree added"],
      worktree_removed: ["Worktree removed"],
      work_salvaged: ["Work salvaged", "info"],
      salvage_expired: ["Saved copies deleted"],
    },
  },
  {
    id: "messages",
    name: "Messages and decisions",
    kinds: {
      message_sent: ["Message"],
      group_message: ["Group message"],
      group_changed: ["Group changed"],
      decision_asked: ["Decision pending", "warn"],
      decision_commented: ["Decision comment"],
      decision_made: ["Decided", "good"],
    },
  },
  {
    id: "alerts",
    name: "Alerts and errors",
    kinds: {
      alert_opened: ["Alert", "bad"],
      alert_raised: ["Alert raised", "bad"],
      alert_acknowledged: ["Alert acknowledged"],
      alert_resolved: ["Alert resolved", "good"],
      error: ["Error", "bad"],
      ledger_restarted: ["Ledger restarted", "bad"],
    },
  },
];

const ALL = new Map(GROUPS.flatMap((group) => Object.entries(group.kinds)));

export const kindLabel = (kind: string): string => ALL.get(kind)?.[0] ?? kind.replaceAll("_", " ");
export const kindTone = (kind: string): Tone => ALL.get(kind)?.[1] ?? "neutral";

/** Return the kinds that the words of an address mean: kinds, or whole groups. */
export function kindsOf(words: readonly string[]): string[] {
  return words.flatMap((word) => {
    const group = GROUPS.find((one) => one.id === word);
    return group ? Object.keys(group.kinds) : [word.replace(/^claim_/, "lock_")];
  });
}
