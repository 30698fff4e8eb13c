"""What ``dibs init`` says: the plan, what was done, and what is left to a human."""

from __future__ import annotations

from dibs.cli.support.text import bold, dim, green, printable, yellow
from dibs.core.text.secrets import mask
from dibs.install.agents.table import AGENTS
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dibs.install.plan import InstallPlan, PlannedChange
    from dibs.local.repository import Repository


class InitReport(Record):
    """All there is to say about one call."""

    repository: Repository
    plan: InstallPlan
    #: Agents that were looked for and found, each with what shows it.
    found: dict[str, str]
    gates: bool = False
    dry: bool = False
    created: bool = False
    engine: str = ""


def agreed(report: InitReport) -> bool:
    """Show the plan and ask whether to go on."""
    _plan_lines(report)
    return _yes("do this?")


def agreed_to_undo(changes: Sequence[PlannedChange], *, gates: bool) -> bool:
    """Show what would be taken back and ask whether to go on."""
    _undo_lines(changes, gates=gates)
    return _yes("take this back?")


def _yes(question: str) -> bool:
    try:
        said = input(f"{question} [Y/n] ")
    except EOFError:
        return False
    return said.strip().lower() in {"", "y", "yes"}


def show(report: InitReport, *, planned: bool) -> None:
    """Print what was done, or would be, and what to do next."""
    if report.dry:
        _plan_lines(report)
        print("nothing was done (--dry-run)")
        return
    _project_lines(report)
    if report.plan.agents:
        if not planned:
            _plan_lines(report)
        elif report.plan.pending or report.gates:
            print(green("done"))
        _trust_lines(report)
    print("next:")
    if report.plan.agents:
        print("  dibs doctor --prove                            see each guard refuse a write")
    else:
        print("  dibs init --agents claude,codex,…              wire up your coding agents")
    print('  dibs claim src/login.py --reason "fix login"   take what you need')
    print("  dibs status                                    see who has what")


def _project_lines(report: InitReport) -> None:
    repository = report.repository
    root = bold(printable(repository.root))
    if report.created:
        print(f"made a Dibs project of {root}")
    elif report.plan.pending or report.gates:
        print(f"{root} is a Dibs project already")
    else:
        print(f"{root} is a Dibs project already; nothing was changed")
    engine = _engine_name(report.engine)
    if engine == "sqlite":
        shared = "shared by all working trees" if repository.common else "outside of git"
        print(f"  state   {printable(repository.state)} ({shared})")
    else:
        print("  state   elsewhere (shared by all clones that name this engine)")
    print(f"  engine  {printable(engine)}")


def _plan_lines(report: InitReport) -> None:
    for name in report.plan.agents:
        how = report.found.get(name, "")
        shown = f" ({printable(how)})" if how else ""
        print(f"{bold(AGENTS[name].title)}{shown}")
    if not report.plan.agents:
        print("no coding agent is found here: name yours with --agents claude,codex,…")
    for change in report.plan.changes:
        _change_line(change)
    if report.gates:
        print(f"  {green('create')}  git gates: pre-commit, pre-push, reference-transaction")
    for note in report.plan.notes:
        print(f"  {yellow('note')}    {printable(note)}")


def _change_line(change: PlannedChange) -> None:
    act = change.act
    word = green(f"{act:<6}") if act != "keep" else dim(f"{act:<6}")
    what = f"  {dim(', '.join(change.what))}" if change.what else ""
    print(f"  {word}  {printable(change.path)}{what}")
    if change.note and act != "keep":
        print(f"          {yellow('note')}: {printable(change.note)}")


def _trust_lines(report: InitReport) -> None:
    from textwrap import TextWrapper

    wrapped = TextWrapper(80, "  ", "    ", break_long_words=False, break_on_hyphens=False)
    told = [f"{AGENTS[name].title} {line}" for name, line in _to_trust(report)]
    if told:
        print("yours to do, once:")
    for line in told:
        print(wrapped.fill(line))
    if any(change.hide for change in report.plan.changes):
        print("files that hold for this machine alone are hidden from git by .git/info/exclude")


def _to_trust(report: InitReport) -> list[tuple[str, str]]:
    """Return what is left to a human, agent by agent."""
    return [(name, line) for name in report.plan.agents for line in AGENTS[name].trust]


def shape(report: InitReport) -> dict[str, Any]:
    """Return the answer for programs."""
    repository, plan = report.repository, report.plan
    return {
        "root": repository.root,
        "state": repository.state,
        "engine": _engine_name(report.engine),
        "created": report.created,
        "dry_run": report.dry,
        "agents": list(plan.agents),
        "found": report.found,
        "changes": [_row(change) for change in plan.changes],
        "git_gates": report.gates,
        "notes": list(plan.notes),
        "trust": [{"agent": name, "text": line} for name, line in _to_trust(report)],
    }


def _row(change: PlannedChange) -> dict[str, Any]:
    return {
        "path": change.path,
        "act": change.act,
        "what": list(change.what),
        "agents": list(change.agents),
        "hidden": change.hide,
        "note": change.note,
    }


def show_undone(
    changes: Sequence[PlannedChange], left: Sequence[str], *, gates: bool, dry: bool
) -> None:
    """Print what was taken back, or would be."""
    if not changes and not gates:
        print("there was nothing to take back")
        return
    _undo_lines(changes, gates=gates)
    for folder in left:
        print(f"  {dim('keep  ')}  {printable(folder)}/  {dim('something else is in it')}")
    if dry:
        print("nothing was done (--dry-run)")
    else:
        print("taken back; claims and their history stay where they are")


def _undo_lines(changes: Sequence[PlannedChange], *, gates: bool) -> None:
    for change in changes:
        _change_line(change)
    if gates:
        print(f"  {green('remove')}  git gates")


def undone_shape(
    changes: Sequence[PlannedChange], left: Sequence[str], *, gates: bool, dry: bool
) -> dict[str, Any]:
    """Return what was taken back, for programs."""
    return {
        "changes": [_row(change) for change in changes],
        "left": list(left),
        "git_gates": gates,
        "dry_run": dry,
    }


def _engine_name(url: str) -> str:
    """Return the engine in force, without secrets in its address."""
    return mask(url) if url else "sqlite"
