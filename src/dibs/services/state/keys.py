"""Store keys: each prefix with its row, the module that owns it, and how long a row is kept.

Only modules in ``services/state`` spell keys. ``scripts/reference.py`` writes the table to
docs/reference/store.md.
"""

from __future__ import annotations

# Claims and agents
AT, IN, WAIT = "at/", "in/", "wait/"
BEAT, AGENT, WORKER = "beat/", "agent/", "worker/"
LOST, ASK, REFUSED, REQUEST = "lost/", "ask/", "refused/", "req/"
# Sessions of guarded agents, and files they left uncommitted
SESSION, SEAT, GUARDED, LEFT = "session/", "seat/", "guarded/", "left/"
# Messages and decisions
MAIL, BOX, UNREAD, RATE, GROUP = "mail/", "box/", "unread/", "rate/", "group/"
OFFER, BRIEFED = "offer/", "briefed/"
DECISION, OPEN, DUE, JOB = "decision/", "open/", "due/", "job/"
# Tasks
TASK, VERSION, PAST, BOARD = "task/", "version/", "past/", "board"
READY, NEEDS, BUSY, FRESH = "ready/", "needs/", "busy//", "fresh//"
SINCE, HANDOFF, OVER, ASIDE = "since//", "handoff//", "over//", "aside//"
TURN, CLASH = "turn/", "clash//"
TOLD_HANDOFF, TOLD_ASIDE = "told/handoff//", "told/aside//"
LOCKED = "locked/"
# Commits and worktrees
INTENT, GATE, COMMIT = "intent/", "gate/", "commit/"
TREE, WARNED = "tree/", "warned/"
# What watches the project
ALERT, WATCH = "alert/", "watch/"
# The store itself
PROBE = "probe/"
# The server and the crew
HANDLER, FAULT = "handler/", "fault/"
CREW, CREWS, CRASH = "crew/", "crews/", "crash/"

#: For each owner (a module in ``services``): key, row, and how long a row is kept.
TABLE = {
    "state/rows": (
        (f"{AT}PATH//AGENT/cTOKEN",
         "a claim on one path: pattern, mode, agent, token, ttl, since, reason",
         "until released or revoked; an expired claim until another command finds it"),
        (f"{IN}FOLDER//…//AGENT/cTOKEN",
         "a claim on a glob, stored under the folder it starts with",
         "as above"),
        (f"{AT}…/tTICKET.N", "a pattern that a queued request waits for (also `in/…`)", "as its ticket"),
        (f"{WAIT}TICKET", "a queued request", "until granted or withdrawn"),
        (f"{BEAT}ID", "an agent's last heartbeat", "until the agent ends"),
        (f"{AGENT}ID",
         "an agent: name, role, parent, host, process, status",
         "until the agent is forgotten"),
        (f"{LOST}ID/…",
         "a lost claim that its owner has not been notified of yet",
         "until the agent claims it again or ends"),
        (f"{ASK}HOLDER/…//ASKER", "a release request", "until the claim ends or the reply is read"),
    ),
    "state/presence": (
        (f"{WORKER}ID", "marks an agent that takes tasks", "until the agent ends"),
    ),
    "state/idempotency": (
        (f"{REQUEST}ID/REQUEST", "the result of a request, for repeats of it", "one day"),
    ),
    "state/mailbox": (
        (f"{MAIL}N", "a message", "`keep` under `[mail]`"),
        (f"{BOX}BOX/N",
         "a message in the inbox of an agent or of `@human`: when it was read, and the reply",
         "as the message"),
        (f"{UNREAD}BOX/N", "marks a message that is not in a briefing yet", "until a briefing delivers it"),
        (f"{RATE}ID", "how many messages an agent may still send", "one minute"),
        (f"{GROUP}NAME", "the members of a group", "until it is removed"),
    ),
    "state/deliveries": (
        (f"{OFFER}READER",
         "a briefing that is being delivered, in full; all humans share the reader `@human`",
         "until confirmed; if the reader has ended, as long as messages are kept"),
        (f"{BRIEFED}READER",
         "the last confirmed briefing",
         "if the reader has ended, as long as messages are kept"),
    ),
    "state/decisions": (
        (f"{DECISION}N", "a decision", "one year after it was decided"),
        (f"{OPEN}N", "marks a pending decision, with the time it was raised", "until decided"),
        (f"{REFUSED}TICKET",
         "a human's refusal of a queued request",
         "one day"),
    ),
    "state/deadlines": (
        (f"{DUE}MOMENT/WHAT/ID",
         "a deadline of a decision, a message, a queued request, or a promised release",
         "until the first command after that moment handles it"),
        (f"{JOB}NAME",
         "a job of the servers that share this store: which server runs it, until when, and when it last ran",
         "forever"),
    ),
    "state/tasks": (
        (f"{TASK}PART/ID",
         "a task that is not archived: its file, its location, its attempt; PART is one of 64",
         "until the task is archived"),
        (f"{VERSION}PART/ID", "the ledger number of the task's last change", "as the task"),
        (f"{PAST}PART/ID", "how an archived task ended, and in which month", "forever"),
        (BOARD,
         "the ledger number of the last change to any task, and the id of this board's life",
         "forever"),
    ),
    "state/task_index": (
        (f"{READY}WHO//RANK/CREATED/ID",
         "a task that WHO can take now: `to-NAME`, `any`, `by-NAME` (finished a dependency)",
         "derived from the task"),
        (f"{NEEDS}DEPENDENCY//ID",
         "marks that an unfinished task depends on another task",
         "derived from the task"),
        (f"{BUSY}MOMENT/ID",
         "a running attempt, and the time until which it is certainly alive",
         "derived from the task"),
        (f"{FRESH}ID",
         "a ready task that names an agent but is not assigned yet",
         "derived from the task"),
        (f"{SINCE}MOMENT/ID",
         "when a task was assigned, or entered progress without an attempt",
         "derived from the task"),
        (f"{HANDOFF}ID",
         "a done task whose handoff task does not exist yet",
         "derived from the task"),
        (f"{OVER}MOMENT/ID", "when a task was finished", "derived from the task"),
        (f"{ASIDE}ID",
         "a task that cannot be taken because its file is invalid",
         "derived from the task"),
        (f"{TURN}ID",
         "what an agent waiting for a task asked for",
         "until it gets a task or stops waiting"),
        (f"{TOLD_HANDOFF}ID", "marks a failed handoff as reported", "until it succeeds"),
        (f"{TOLD_ASIDE}ID",
         "marks an invalid task file as reported, by its content",
         "until the file is valid"),
        (f"{CLASH}ID//ID",
         "marks two tasks in progress that touch the same path",
         "until one of them ends"),
        (f"{LOCKED}TASK",
         "the lock file that this store pushed for a task: nonce, agent, token, process, when it expires",
         "until another agent of this store takes the task, or it is done or released"),
    ),
    "state/commits": (
        (f"{INTENT}CLONE/ID",
         "a branch of this clone is about to move, or has moved and is not in the ledger yet",
         "until it is in the ledger"),
        (f"{GATE}CLONE", "the value of `refs/dibs/gate` in this clone", "forever"),
        (f"{COMMIT}OID",
         "the claims behind a commit: agent, claims, tokens, patterns",
         "30 days, longer on an unmerged branch"),
    ),
    "state/worktrees": (
        (f"{TREE}AGENT",
         "a worktree that Dibs created: path, branch, base, slot, clone, host, made, stage",
         "until the worktree is removed"),
        (f"{WARNED}CLONE/A//B",
         "the last conflict warning sent to two agents: a digest of the files, branch, time",
         "until the conflict is resolved"),
    ),
    "state/watch/alerts": (
        (f"{ALERT}N",
         "an alert: what it is about, its severity, and its state",
         "the newest 100; while its condition holds, longer"),
        (f"{WATCH}alerts", "when the alerts were last checked", "forever"),
    ),
    "state/measure": (
        (f"{PROBE}…", "a test row of `dibs engine check`", "a few milliseconds"),
    ),
    "state/serving/handlers": (
        (f"{HANDLER}NAME",
         "a handler of events: the last event it handled, the server that runs it, and until when",
         "until the handler is removed"),
    ),
    "state/serving/faults": (
        (f"{FAULT}CAUSE",
         "the last error entry for a cause, and how many more errors there were since",
         "one day"),
    ),
    "state/serving/crew": (
        (f"{CREWS}HOST",
         "the crew of one machine: whether it is up or paused, and how many agents it may have",
         "forever"),
        (f"{CREW}ID",
         "an agent that the supervisor runs: role, state, processes, worktree, and why it last ended",
         "the newest 100 that have ended"),
        (f"{CRASH}ROLE//TASK", "how often agents of a role crashed at a task, and when last", "one day"),
    ),
    "state/sessions": (
        (f"{SESSION}DIALECT/SESSION",
         "a session of a guarded agent: the agent's id, its process and host, its worktrees",
         "until the session is over and its files are committed"),
        (f"{SESSION}DIALECT/SESSION@PROCESS", "a second process of one session", "as above"),
        (f"{SESSION}DIALECT/SESSION/SUBAGENT", "a subagent of a session", "as above"),
        (f"{SEAT}ID", "the session row of the agent with this id", "as the session"),
        (f"{GUARDED}ID",
         "when an agent's tool calls were first guarded, and in which dialect",
         "forever"),
        (f"{LEFT}KEY//TREE/ID",
         "uncommitted changes of an agent that no longer holds the file: when, a copy, and who was notified",
         "until the changes are committed or undone"),
    ),
}  # fmt: skip
