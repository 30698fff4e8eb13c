"""The screens of ``dibs init``: the plan, what was done, one-time setup, and the next commands."""

from __future__ import annotations

import os

from dibs.cli.support.consent import confirmed
from dibs.cli.support.tables import fold, page_width
from dibs.cli.support.text import bold, dim, green, printable, yellow
from dibs.core.text.secrets import mask
from dibs.install.agents.table import AGENTS
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from dibs.install.plan import InstallPlan, PlannedChange
    from dibs.local.repository import Repository

#: What happens to a file: the word in a plan, and afterwards.
_ACTS = {
    "create": ("create", "created"),
    "change": ("update", "updated"),
    "remove": ("remove", "removed"),
    "keep": ("keep", "kept"),
}
_ACT = 9
#: So many files of one kind are one row.
_MANY = 3
_GIT_HOOKS = "5 git hooks (to list them: `dibs git status`)"


class InitReport(Record):
    """The result of one call."""

    repository: Repository
    plan: InstallPlan
    #: The agents that were found, each with the evidence.
    found: dict[str, str]
    gates: bool = False
    dry: bool = False
    created: bool = False
    engine: str = ""
    #: The changes in the home folder.
    user: tuple[PlannedChange, ...] = ()

    @property
    def pending(self) -> list[PlannedChange]:
        """All changes, without files that stay as they are."""
        return [*self.plan.pending, *(change for change in self.user if change.act != "keep")]


def agreed(report: InitReport) -> bool:
    """Show the plan and ask whether to go on."""
    print(f"Dibs will make these changes in {bold(printable(report.repository.root))}:")
    _plan_lines(report, done=False)
    return confirmed("continue?")


def show(report: InitReport, *, planned: bool) -> None:
    """Print what was done, or would be done, and what comes next."""
    if report.dry:
        _plan_lines(report, done=False)
        print("nothing was changed (--dry-run)")
        return
    changed = bool(report.pending or report.gates)
    _project_line(report, changed=changed)
    if changed and not planned:
        _plan_lines(report, done=True)
    elif report.plan.agents:
        _agent_lines(report)
    if not changed:
        _note_lines(report)
    _state_line(report)
    if changed:
        _setup_lines(report)
    _next_lines(report)


def _project_line(report: InitReport, *, changed: bool) -> None:
    root = bold(printable(report.repository.root))
    if report.created:
        print(f"{green('initialized Dibs')} in {root}")
    else:
        print(f"already initialized in {root}" + ("" if changed else "; nothing changed"))


def _state_line(report: InitReport) -> None:
    repository, engine = report.repository, engine_name(report.engine)
    if engine != "sqlite":
        say(f"{printable(engine)}, shared by all clones that use this engine", "state: ")
    else:
        state = printable(shown(repository.state, repository.root))
        say(f"{state}, shared by all worktrees", "state: ")


def _plan_lines(report: InitReport, *, done: bool) -> None:
    _agent_lines(report)
    rows = _grouped(report.pending, done=done)
    if report.gates:
        rows.append((_ACTS["create"][done], _GIT_HOOKS, "", ""))
    print_changes(rows)
    _note_lines(report)


def _note_lines(report: InitReport) -> None:
    for note in report.plan.notes:
        print(yellow("note: ") + printable(note))


def _agent_lines(report: InitReport) -> None:
    if not report.plan.agents:
        if report.dry:
            print("no coding agents found; name yours: `dibs init --agents claude`")
        return
    names = []
    for name in report.plan.agents:
        how = report.found.get(name, "")
        names.append(AGENTS[name].title + (f" ({printable(how)})" if how else ""))
    say(", ".join(names), bold("agents: "))


def _grouped(changes: Sequence[PlannedChange], *, done: bool) -> list[tuple[str, str, str, str]]:
    """Return a row for each file, and one for many files of the same kind, such as a board's."""
    kinds: dict[object, list[PlannedChange]] = {}
    for change in changes:
        alone = change.path if change.agents or change.note or not change.what else ""
        kinds.setdefault((change.act, change.what, alone), []).append(change)
    rows = []
    for same in kinds.values():
        act, path, what, note = change_row(same[0], done=done)
        if len(same) >= _MANY:
            path = f"{os.path.commonpath([change.path for change in same])}/"
            what = f"{what} ({len(same)} files)"
            rows.append((act, path, what, note))
        else:
            rows += [change_row(change, done=done) for change in same]
    return rows


def change_row(change: PlannedChange, *, done: bool) -> tuple[str, str, str, str]:
    """Return what happens to a file: the word, the path, what Dibs puts there, and a note."""
    note = change.note if change.act != "keep" else ""
    home = os.path.expanduser("~")
    inside = change.path.startswith(f"{home}/")
    path = f"~{change.path.removeprefix(home)}" if inside else change.path
    return _ACTS[change.act][done], path, ", ".join(change.what), note


def print_changes(rows: Iterable[tuple[str, str, str, str]]) -> None:
    """Print a row for each file, in columns if the page is wide enough."""
    rows = list(rows)
    page = page_width()
    described = [(len(path), len(what)) for _, path, what, _ in rows if what]
    wide = max((path for path, _ in described), default=0)
    fits = 2 + _ACT + wide + 2 + max((what for _, what in described), default=0) <= page
    for act, path, what, note in rows:
        word = (dim if act in _ACTS["keep"] else green)(act) + " " * (_ACT - len(act))
        end = f"  {dim(what)}" if what and fits else ""
        room = wide - len(path) if end else 0
        if end:
            print(f"  {word}{printable(path)}{' ' * room}{end}")
        else:
            say(printable(path), f"  {word}", 2 + _ACT)
        if note:
            say(printable(note), " " * (2 + _ACT) + yellow("note: "), 2 + _ACT)


def _setup_lines(report: InitReport) -> None:
    if any(change.hide for change in report.plan.changes):
        say("machine-specific files are ignored by git (.git/info/exclude)")
    lines = [f"{AGENTS[name].title} {line}" for name, line in _to_trust(report)]
    if lines:
        print(bold("\none-time setup:"))
    for line in lines:
        say(line, "  ", 4)


def _next_lines(report: InitReport) -> None:
    print(bold("\nnext:"))
    if report.plan.agents:
        rows = [
            ("dibs doctor --prove", "test that every guard blocks a write"),
            ("dibs status", "see who holds what"),
        ]
    else:
        rows = [
            ("dibs init --agents claude", f"guard your agents: {', '.join(AGENTS)}"),
            ("dibs help", "list all commands"),
        ]
    if any(change.what == ("task board",) for change in report.plan.pending):
        rows[:0] = [
            ('dibs task new "TITLE" --for AGENT', "create a task"),
            ("dibs orchestrate --watch", "assign tasks and create follow-ups"),
        ]
    width = max(len(command) for command, _ in rows)
    for command, what in rows:
        before = f"  {command}{' ' * (width - len(command))}  "
        if len(before) + 20 > page_width():
            print(f"  {command}")
        else:
            say(what, before, len(before), paint=dim)


def say(line: str, before: str = "", indent: int = 2, paint: Callable[[str], str] = str) -> None:
    """Print a text behind ``before``; what does not fit continues below, indented."""
    import re

    columns = len(re.sub(r"\x1b\[\d+m", "", before))
    first = fold(line, page_width() - columns)[0]
    print(before + paint(first))
    for piece in fold(line[len(first) :].strip(), page_width() - indent):
        print(" " * indent + paint(piece))


def _to_trust(report: InitReport) -> list[tuple[str, str]]:
    """Return what is left for the user to do, by agent."""
    from dibs.install.user_hooks import with_user_hooks

    plan = report.plan
    known = {*with_user_hooks(plan.agents, os.environ), *(c.agents[0] for c in report.user)}
    return [
        (name, line)
        for name in plan.agents
        for line in AGENTS[name].steps(servers=plan.choice.servers, user=name in known)
    ]


def shown(path: str, root: str) -> str:
    """Return a path relative to the root if it is inside."""
    return os.path.relpath(path, root) if path.startswith(root + os.sep) else path


def shape(report: InitReport) -> dict[str, Any]:
    """Return the answer for programs."""
    repository, plan = report.repository, report.plan
    return {
        "root": repository.root,
        "state": repository.state,
        "engine": engine_name(report.engine),
        "created": report.created,
        "dry_run": report.dry,
        "agents": list(plan.agents),
        "found": report.found,
        "changes": [change_shape(change) for change in (*plan.changes, *report.user)],
        "git_gates": report.gates,
        "notes": list(plan.notes),
        "trust": [{"agent": name, "text": line} for name, line in _to_trust(report)],
    }


def change_shape(change: PlannedChange) -> dict[str, Any]:
    """Return one change for programs."""
    return {
        "path": change.path,
        "act": change.act,
        "what": list(change.what),
        "agents": list(change.agents),
        "hidden": change.hide,
        "note": change.note,
    }


def engine_name(url: str) -> str:
    """Return the configured engine, without secrets in its URL."""
    return mask(url) if url else "sqlite"
