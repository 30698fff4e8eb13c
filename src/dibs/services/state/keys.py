"""The keys of the store: each prefix, its row, the module that owns it, and how long a row lives.

Only modules of ``services/state`` spell keys. ``scripts/reference.py`` writes the table to
docs/reference/store.md.
"""

from __future__ import annotations

# Claims and agents
AT, IN, WAIT = "at/", "in/", "wait/"
BEAT, AGENT, WORKER = "beat/", "agent/", "worker/"
LOST, ASK, REFUSED, REQUEST = "lost/", "ask/", "refused/", "req/"
# Sessions of guarded agents, and files that they left uncommitted
SESSION, SEAT, GUARDED, LEFT = "session/", "seat/", "guarded/", "left/"
# Messages and decisions
MAIL, BOX, UNREAD, RATE, GROUP = "mail/", "box/", "unread/", "rate/", "group/"
OFFER, BRIEFED = "offer/", "briefed/"
DECISION, OPEN, DUE = "decision/", "open/", "due/"
# Tasks
TASK, VERSION, PAST, BOARD = "task/", "version/", "past/", "board"
READY, NEEDS, BUSY, FRESH, LENT = "ready/", "needs/", "busy//", "fresh//", "lent//"
SINCE, HANDOFF, OVER, ASIDE = "since//", "handoff//", "over//", "aside//"
TURN, CLASH = "turn/", "clash//"
TOLD_HANDOFF, TOLD_ASIDE = "told/handoff//", "told/aside//"
QUEUE, FINISHED = "queue/", "finished/"
# Commits and worktrees
INTENT, GATE, COMMIT = "intent/", "gate/", "commit/"
TREE, WARNED = "tree/", "warned/"
# The store itself
CLOSED, ORIGIN, PROBE = "closed", "origin", "probe/"

#: Of each owner, a module below ``services``: key, row, and how long a row lives.
TABLE = {
    "state/rows": (
        (f"{AT}PATH//AGENT/cTOKEN",
         "a claim on one path: pattern, mode, agent, token, ttl, since, reason",
         "until it is released or revoked; an expired one until somebody comes upon it"),
        (f"{IN}FOLDER//…//AGENT/cTOKEN",
         "a claim on a glob, filed under the folder that it starts with",
         "as above"),
        (f"{AT}…/tTICKET.N", "one pattern that a waiter wants, and so under `in/…`", "as its ticket"),
        (f"{WAIT}TICKET", "a place in the queue", "until it is granted or withdrawn"),
        (f"{BEAT}ID", "the last sign of life of an agent", "until the agent ends"),
        (f"{AGENT}ID",
         "an agent: name, role, parent, host, process, status",
         "until the agent is forgotten"),
        (f"{LOST}ID/…",
         "a claim that an agent lost and has yet to be told of",
         "until the agent claims it again, or ends"),
        (f"{ASK}HOLDER/…//ASKER", "a release request", "until the claim is gone or the answer was read"),
    ),
    "state/presence": (
        (f"{WORKER}ID", "that an agent takes tasks", "until the agent ends"),
    ),
    "state/idempotency": (
        (f"{REQUEST}ID/REQUEST", "the answer to a request, for its repeats", "one day"),
    ),
    "state/mailbox": (
        (f"{MAIL}N", "a message", "`keep` under `[mail]`"),
        (f"{BOX}BOX/N",
         "when a message was read in the box of an agent or `@human`, and what became of it",
         "as the message"),
        (f"{UNREAD}BOX/N", "that a message waits for a briefing", "until it was told"),
        (f"{RATE}ID", "how much an agent may still say", "one minute"),
        (f"{GROUP}NAME", "the members of a group", "until it is removed"),
    ),
    "state/deliveries": (
        (f"{OFFER}READER",
         "a briefing under way, word for word; all humans are one reader, `@human`",
         "until it is confirmed, or its reader ended and mail of that age goes"),
        (f"{BRIEFED}READER",
         "the last briefing that was confirmed",
         "until its reader ended and mail of that age goes"),
    ),
    "state/decisions": (
        (f"{DECISION}N", "a decision", "one year after it was made"),
        (f"{OPEN}N", "that a decision waits for somebody, and since when", "until it is made"),
        (f"{REFUSED}TICKET",
         "that a human refused what a ticket waited for, for all that waited with it",
         "one day"),
    ),
    "state/deadlines": (
        (f"{DUE}MOMENT/WHAT/ID",
         "a deadline of a decision, a message, a waiter or a promise",
         "until the first command after its moment carries it out"),
    ),
    "state/tasks": (
        (f"{TASK}PART/ID",
         "a task that is not archived: its file, its place, its attempt; PART is one of 64",
         "until the task is archived"),
        (f"{VERSION}PART/ID", "the number of a task's last change", "as the task"),
        (f"{PAST}PART/ID", "how an archived task ended, and in which month", "for ever"),
        (BOARD,
         "the number of the last change of any task, and the name of this board's life",
         "for ever"),
    ),
    "state/task_index": (
        (f"{READY}WHO//RANK/CREATED/ID",
         "a task that WHO can take now: `to-NAME`, `any`, `by-NAME` (did what it needs), `spare`",
         "derived from the task"),
        (f"{NEEDS}DEPENDENCY//ID",
         "that an unfinished task depends on another one",
         "derived from the task"),
        (f"{BUSY}MOMENT/ID",
         "an attempt that runs, and until when it surely does",
         "derived from the task"),
        (f"{FRESH}ID",
         "a ready task that names an agent and is not assigned yet",
         "derived from the task"),
        (f"{LENT}ID",
         "a task that is assigned to an agent for which nobody asked",
         "derived from the task"),
        (f"{SINCE}MOMENT/ID",
         "since when a task is assigned, or in progress without an attempt",
         "derived from the task"),
        (f"{HANDOFF}ID",
         "a done task that asks for another one, which is not made yet",
         "derived from the task"),
        (f"{OVER}MOMENT/ID", "when a task was finished", "derived from the task"),
        (f"{ASIDE}ID",
         "a task that is handed to nobody because its file is invalid",
         "derived from the task"),
        (f"{TURN}ID",
         "what an agent that waits for a task wishes for",
         "until it has a task or stops waiting"),
        (f"{TOLD_HANDOFF}ID", "that a handoff which cannot be made was reported", "until it is made"),
        (f"{TOLD_ASIDE}ID",
         "that an invalid task file was reported, by its content",
         "until the file is valid"),
        (f"{CLASH}ID//ID",
         "that two tasks in progress touch the same path",
         "until one of them is over"),
        (f"{QUEUE}FILE", "a file of the plain queue whose task is not done", "until it is done"),
        (f"{FINISHED}FILE", "a file of the plain queue whose task is done", "for ever"),
    ),
    "state/commits": (
        (f"{INTENT}CLONE/ID",
         "a branch of this clone is about to move, or has moved and the ledger lacks it yet",
         "until the ledger has it"),
        (f"{GATE}CLONE", "the content of `refs/dibs/gate` of this clone", "for ever"),
        (f"{COMMIT}OID",
         "by whose claims a commit was made: agent, claims, tokens, patterns",
         "30 days, longer on an unmerged branch"),
    ),
    "state/worktrees": (
        (f"{TREE}AGENT",
         "a worktree that Dibs made: path, branch, base, slot, clone, host, made, stage",
         "until the worktree is removed"),
        (f"{WARNED}CLONE/A//B",
         "the files in which two agents were last warned of a conflict: a digest, branch, time",
         "until the conflict is gone"),
    ),
    "state/lifecycle": (
        (CLOSED,
         "that nobody may work in this store: its state has moved, or is being moved",
         "until a move is cancelled or finished"),
        (ORIGIN, "the moves that this state has been through", "for ever"),
        (f"{PROBE}…", "a measurement of `dibs engine`", "a few milliseconds"),
    ),
    "state/sessions": (
        (f"{SESSION}DIALECT/SESSION",
         "a session of a guarded agent: the agent's id, its process and host, its worktrees",
         "until the session is over and its files are committed"),
        (f"{SESSION}DIALECT/SESSION@PROCESS", "a second process of one session", "as above"),
        (f"{SESSION}DIALECT/SESSION/SUBAGENT", "a subagent of a session", "as above"),
        (f"{SEAT}ID", "the row of the session that has this id", "as the session"),
        (f"{GUARDED}ID",
         "since when an agent's tool calls are guarded, and in which dialect",
         "for ever"),
        (f"{LEFT}KEY",
         "a file that an agent left with uncommitted changes: who, when, and the ref of a copy",
         "until another agent has it"),
    ),
}  # fmt: skip
