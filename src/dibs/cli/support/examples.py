"""Examples for ``--help``: one or more command lines for each command and subcommand.

A command whose docstring has an ``Examples:`` section shows that one instead.
"""

from __future__ import annotations

HEADING = "Examples:"
_STATUS = "exit status:"

#: The arguments of each example.
_EXAMPLES = {
    "agent ls": ("", "--all"),
    "agent show": ("alice",),
    "agent join": ("--agent alice --role tester", "--agent alice-sub1 --parent alice"),
    "agent beat": ("--agent alice",),
    "agent report": ('--status idle --note "tests pass"', "--context 0.8"),
    "agent leave": ("", '--note "done for today"'),
    "agent stop": ('alice --reason "stuck"',),
    "group new": ("frontend alice bob", "reviewers role:reviewer"),
    "group add": ("frontend carol",),
    "group rm": ("frontend bob",),
    "group drop": ("frontend",),
    "group ls": ("",),
    "group show": ("frontend",),
    "decide new": (
        '"Use PostgreSQL 17" --rationale "the managed one is 17"',
        '"Drop Python 3.10?" --confirm',
    ),
    "decide ls": ("", "--pending"),
    "decide show": ("d12",),
    "decide confirm": ("d12", 'd12 d13 --reason "agreed in the meeting"'),
    "decide reject": ('d12 --reason "too risky before the release"',),
    "decide comment": ('d12 "what about the old clients?"',),
    "decide withdraw": ("d12",),
    "decide revoke": ('d12 --reason "the owner is idle"',),
    "decide refuse": ('d12 --reason "alice is almost done"',),
    "task new": (
        '"Audit the docs" --for curator --artefact docs/',
        '"Publish the docs" --needs audit-docs --priority high',
    ),
    "task ls": ("", "--ready", "--for curator --all"),
    "task show": ("audit-docs",),
    "task graph": ("", "audit-docs --format mermaid"),
    "task take": ("", "--role curator --wait 5m", "--claim"),
    "task start": ("audit-docs", "audit-docs --role curator"),
    "task done": (
        'audit-docs --summary "fixed 12 links"',
        "audit-docs --summary ready --next tester --next-title Test",
    ),
    "task fail": ('audit-docs --message "the build server is down"',),
    "task release": ("audit-docs",),
    "task retry": ('audit-docs --reason "the server is up again"',),
    "task reopen": ('audit-docs --reason "two links are still broken"',),
    "task cancel": ('audit-docs --reason "no longer needed"',),
    "task block": ('audit-docs --reason "waiting for legal"',),
    "task reassign": ("audit-docs --to bob", "audit-docs --to any"),
    "task validate": ("", "work/inbox/audit-docs.yaml"),
    "crew up": ("",),
    "crew ls": ("", "--all"),
    "crew show": ("developer-1",),
    "crew spawn": ("developer", "--task audit-docs"),
    "crew stop": ("", 'developer-1 --reason "wrong approach"'),
    "crew restart": ("developer-1",),
    "crew scale": ("6",),
    "crew pause": ("",),
    "crew resume": ("",),
    "crew logs": ("developer-1 -n 20", "developer-1 -f"),
    "alerts ls": ("", "--all"),
    "alerts show": ("a12",),
    "alerts ack": ('a12 --reason "looking at it"',),
    "alerts check": ("",),
    "token ls": ("",),
    "token new": ("--agent bob", "--scope human --expires 30d"),
    "token revoke": ("3f9c2a1b",),
    "token login": ("",),
    "serve start": ("",),
    "serve status": ("",),
    "serve stop": ("",),
    "engine check": ("", "redis://host:6379/0", "postgresql://host/database"),
    "engine use": ("",),
}


def examples_in(description: str) -> list[str]:
    """Return the lines of the ``Examples:`` section of a description."""
    _, _, rest = description.partition(f"{HEADING}\n")
    return [line.strip() for line in rest.partition("\n\n")[0].splitlines() if line.strip()]


def with_examples(prog: str, description: str) -> str:
    """Return a command's description with examples, which go before its exit statuses."""
    rows = _EXAMPLES.get(prog.removeprefix("dibs "), ())
    if HEADING in description or not rows:
        return description
    lines = "\n".join(f"  {prog} {row}".rstrip() for row in rows)
    before, mark, after = description.partition(_STATUS)
    parts = (before.rstrip(), f"{HEADING}\n{lines}", mark + after)
    return "\n\n".join(part for part in parts if part)
