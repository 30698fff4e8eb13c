"""The identity matrix: which caller may run which command under which name, and how agents may try to escape.

``alice`` and ``bob`` are guarded sessions in processes of their own; ``bob.kid`` is a subagent of ``bob``.
Each cell is the command's answer: ``yes``, or the code of the refusal.
"""

from __future__ import annotations

YES, NOT_YOU, HUMANS_ONLY, AGENT_ID = "yes", "`NOT_YOU`", "`HUMANS_ONLY`", "`AGENT_ID`"

#: Each caller, and its heading in the documentation.
CALLERS = {
    "itself": "the agent in its own shell",
    "above": "an agent above it",
    "other": "another agent",
    "shell": "a shell with its name in `DIBS_AGENT`",
    "human": "a human, with `--agent`",
    "unproven": "a script without a terminal, with `--agent`",
}
_ACTS = (YES, YES, NOT_YOU, NOT_YOU, YES, NOT_YOU)
_IS = (YES, YES, NOT_YOU, NOT_YOU, NOT_YOU, NOT_YOU)
_SEES = (YES, YES, NOT_YOU, NOT_YOU, YES, NOT_YOU)
#: Commands under an agent's name, with an answer for each caller.
AS_AGENT: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "claim": (("claim", "{path}", "--new"), _IS),
    "renew": (("renew",), _IS),
    "release": (("release", "{path}"), _ACTS),
    "transfer": (("transfer", "{path}", "--to", "heir"), _ACTS),
    "answer": (("answer", "{path}", "no"), _ACTS),
    "escalate": (("escalate", "{path}.other"), _ACTS),
    "commit": (("commit", "-m", "x"), _ACTS),
    "run": (("run", "--claim", "{path}.run", "--", "true"), _IS),
    "say": (("say", "heir", "hello"), _IS),
    "inbox": (("inbox",), _IS),
    "brief": (("brief",), _IS),
    "ask": (("ask", "{path}.other"), _IS),
    "decide new": (("decide", "new", "use it"), _IS),
    "task take": (("task", "take"), _IS),
    "task done": (("task", "done", "none"), _ACTS),
    "task fail": (("task", "fail", "none", "--message", "x"), _ACTS),
    "task release": (("task", "release", "none"), _ACTS),
    "task block": (("task", "block", "none", "--reason", "x"), _ACTS),
    "task reassign": (("task", "reassign", "none", "--to", "heir"), _IS),
    "agent report": (("agent", "report", "--note", "well"), _ACTS),
    "agent beat": (("agent", "beat"), _IS),
    "agent join": (("agent", "join"), _ACTS),
    "status": (("status",), _SEES),
    "who": (("who", "{path}"), _SEES),
    "check": (("check", "{path}"), _SEES),
    "salvage show": (("salvage", "show", "none"), _SEES),
    "alerts": (("alerts",), _SEES),
    "agent leave": (("agent", "leave"), _ACTS),
}
#: Results that are not about identity: the caller was accepted.
ACCEPTED = frozenset({
    "", "NOT_HELD", "NOT_ASKED", "NOTHING_CHANGED", "NO_AGENT", "NO_TASK", "NO_SALVAGE", "QUEUE_EMPTY",
    "FENCED",
})  # fmt: skip

#: All commands under the name of someone without a running session, with an answer for each of these callers.
_OUTSIDE = ("other", "shell", "human", "unproven")
OTHER_TARGETS: dict[str, tuple[str, dict[str, str]]] = {
    "an agent without hooks": ("loner", dict(zip(_OUTSIDE, (NOT_YOU, YES, YES, YES), strict=True))),
    "a human": ("pat-terminal", dict.fromkeys(_OUTSIDE, AGENT_ID)),
}

#: Commands for humans, without a name.
FOR_HUMANS: dict[str, tuple[str, ...]] = {
    "revoke": ("revoke", "a.py", "--reason", "mine"),
    "git uninstall": ("git", "uninstall"),
    "init --uninstall": ("init", "--uninstall", "--dry-run"),
    "init --new-store": ("init", "--new-store"),
    "init --user": ("init", "--user", "--agents", "gemini", "--dry-run"),
    "token new": ("token", "new", "--scope", "read"),
    "token revoke": ("token", "revoke", "ffff"),
    "token login": ("token", "login"),
    "serve stop": ("serve", "stop"),
    "open": ("open",),
    "crew up": ("crew", "up"),
    "crew stop": ("crew", "stop"),
    "crew scale": ("crew", "scale", "2"),
    "crew resume": ("crew", "resume"),
    "crew pause": ("crew", "pause"),
    "crew restart": ("crew", "restart", "alice"),
    "engine use": ("engine", "use"),
}
#: Commands that anyone may run under a name, and only a human without one.
SPEAKING: dict[str, tuple[str, ...]] = {
    "say": ("say", "alice", "release it"),
    "decide new": ("decide", "new", "bob may have it"),
    "decide confirm": ("decide", "confirm", "{decision}"),
    "answer": ("answer", "a.py", "yes"),
}
_CLEAN = 'env -i PATH="$PATH" XDG_STATE_HOME="$XDG_STATE_HOME" HOME="$HOME"'
#: How an agent may leave its process tree; ``{run}`` is the command that runs everything for humans.
ESCAPES: dict[str, str] = {
    "in its own shell": "{run}",
    "`env -u DIBS_AGENT`": "env -u DIBS_AGENT -u CLAUDECODE {run}",
    "`setsid`": "setsid -f {run}",
    "`nohup … &`": "(nohup {run} >/dev/null 2>&1 &)",
    "a double fork": "( ( {run} & ) & )",
    "`env -i setsid`": f"{_CLEAN} setsid -f {{run}}",
    "`env -i setsid script`": f"{_CLEAN} setsid -f script -qc '{{run}}' /dev/null",
    "`script`": "script -qc '{run}' /dev/null",
    "`setsid script`": "setsid -f script -qc '{run}' /dev/null",
    "`tmux new -d`": "tmux -L {name} new-session -d '{run}'",
    "a PID namespace": "unshare -Urpf --mount-proc {run}",
    "a PID namespace with a terminal": (
        f"{_CLEAN} setsid -f unshare -Urpf --mount-proc script -qc '{{run}}' /dev/null"
    ),
    "a PID namespace with the `/proc` around it": f"{_CLEAN} setsid -f unshare -Urpf {{run}}",
    "a mount namespace without `/proc`": (
        "unshare -Urm sh -c 'mount -t tmpfs none /proc && {run}'"
    ),
}


def table() -> str:
    """Return the matrix of commands under an agent's name, for the documentation."""
    head = ["command for a running session", *CALLERS.values()]
    rows = [head, ["---"] * len(head)]
    groups: dict[tuple[str, ...], list[str]] = {}
    for name, (_, answers) in AS_AGENT.items():
        groups.setdefault(answers, []).append(f"`{name}`")
    rows += [[", ".join(names), *answers] for answers, names in groups.items()]
    return "\n".join(
        "|" + "|".join(f" {cell} " if cell != "---" else cell for cell in row) + "|" for row in rows
    )


def target_table() -> str:
    """Return who may use a name that no session has, for the documentation."""
    rows = [
        f"| the name of | {' | '.join(CALLERS[who] for who in _OUTSIDE)} |",
        "|---|---|---|---|---|",
    ]
    rows += [
        f"| {what} | {' | '.join(answers.values())} |"
        for what, (_, answers) in OTHER_TARGETS.items()
    ]
    return "\n".join(rows)


def human_table() -> str:
    """Return who may run the commands for humans, for the documentation."""
    rows = [
        "| caller without a name | commands for humans | messages, answers, and decisions |",
        "|---|---|---|",
    ]
    for way in ESCAPES:
        speaks = (
            "as the agent"
            if way in {"in its own shell", "`env -u DIBS_AGENT`", "`script`"}
            else HUMANS_ONLY
        )
        rows.append(f"| an agent: {way} | {HUMANS_ONLY} | {speaks} |")
    rows += [
        f"| a person's script without a terminal | {HUMANS_ONLY} | {HUMANS_ONLY} |",
        f"| a person in a terminal | {YES} | {YES} |",
        f"| `DIBS_TOKEN` with a human's token | {YES} | {YES} |",
    ]
    return "\n".join(rows)
