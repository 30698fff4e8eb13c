"""Make, list and remove worktrees of agents: a branch, a folder and ports of its own for each.

Examples:
  dibs worktree new tester-1
  eval "$(dibs worktree env tester-1)"
  dibs worktree ls
  dibs worktree rm tester-1

A worktree is not removed while it holds anything that is nowhere else, or a process
works in it. By force it is, after all of it is salvaged: see `dibs salvage`.

exit status: 0 done, 3 it holds work, 6 no such worktree, 69 git or the set-up failed
"""

from __future__ import annotations

from dibs.cli.support import HELD
from dibs.cli.support.parsing import agent_id, arg, branch, commit_name
from dibs.cli.support.tables import table
from dibs.cli.support.text import bold, dim, green, printable, span, yellow
from dibs.errors import BadUsage
from dibs.shapes import worktrees

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from dibs.cli.support.session import Session
    from dibs.services.worktrees.service import (
        CreatedWorktree,
        KeptWorktree,
        Listed,
        Removed,
        Skipped,
    )


_NEW_OPTIONS = (
    arg("name", nargs="?", type=agent_id, metavar="AGENT", help="for whom (you)"),
    arg("--branch", type=branch, metavar="NAME", help="its branch (agent/AGENT)"),
    arg("--base", type=commit_name, metavar="REF", help="where the branch begins"),
    arg("--path", default="", metavar="DIR", help="its folder"),
    arg("--setup", metavar="COMMAND", help="run this instead of the setting's"),
    arg("--no-setup", action="store_true", help="run no set-up command"),
)


def _new(session: Session, args: Namespace) -> None:
    """Make a worktree with a branch of its own. One that is there is shown as it is.

    If it cannot be made, nothing is left behind, and no other folder is taken instead.
    """
    from dibs.services.worktrees.service import WorktreeRequest

    if args.setup and args.no_setup:
        raise BadUsage("worktree new: --setup and --no-setup exclude each other")
    agent = args.name or session.caller.id
    wanted = WorktreeRequest(agent, args.branch or "", args.base or "", args.path)
    setup = "" if args.no_setup else args.setup
    made = session.project.worktrees.new(session.caller, wanted, setup=setup)
    shape = {"worktree": worktrees.row(made.row), "new": made.new, "notes": list(made.notes)}
    session.show(lambda: shape, lambda: _print_made(made))


def _print_made(made: CreatedWorktree) -> None:
    from dibs.core.changes.worktrees import WorktreeStage

    said = green("made") if made.new else "there already:"
    row = made.row
    print(f"{said} {printable(row.path)} on {bold(printable(row.branch))}")
    for note in made.notes:
        print(f"  {dim('-')} {printable(note)}")
    if row.stage == WorktreeStage.SETUP:
        print(f"  {dim('-')} its set-up has not succeeded: dibs worktree setup {row.agent}")


def _list(session: Session, _: Namespace) -> None:
    """List the worktrees of this clone: whose, on which branch, what they hold that is nowhere else."""
    found = session.project.worktrees.listed()
    now = session.now()
    shape = {"worktrees": [worktrees.listed(tree) for tree in found]}
    session.show(lambda: shape, lambda: _print_list(found, now))


def _print_list(found: list[Listed], now: float) -> None:
    if not found:
        print("there are no worktrees; `dibs worktree new AGENT` makes one")
        return
    headings = ("AGENT", "BRANCH", "STATE", "LAST COMMIT", "AGE", "PATH")
    rows = [
        (
            printable(item.tree.agent or "-"),
            printable(item.tree.branch or "(detached)"),
            printable(_state(item)),
            printable(item.subject or "-"),
            _age(item, now),
            printable(item.tree.path),
        )
        for item in found
    ]
    print("\n".join(table(headings, rows)))


def _state(item: Listed) -> str:
    from dibs.core.changes.worktrees import WorktreeStage

    if item.tree.missing:
        return "folder is gone"
    if item.tree.wrong:
        return item.tree.wrong
    said = [f"{holding.kind} {holding.number}" for holding in item.held]
    if item.unpushed:
        said.append(f"unpushed {item.unpushed}")
    row = item.tree.row
    if row is not None and row.stage != WorktreeStage.READY:
        said.append(f"unfinished ({row.stage})")
    return ", ".join(said) or "clean"


def _age(item: Listed, now: float) -> str:
    since = item.tree.row.made if item.tree.row else item.at
    return span(now - since) if since else "-"


_NAMED_OPTIONS = (arg("name", nargs="?", type=agent_id, metavar="AGENT", help="whose (yours)"),)


def _env(session: Session, args: Namespace) -> None:
    """Print the variables of a worktree's agent, for a shell to take in with eval."""
    from dibs.core.changes.worktrees import exports

    values = session.project.worktrees.environment(args.name or session.caller.id)
    session.show(lambda: values, lambda: print(exports(values)))


_SETUP_OPTIONS = (
    *_NAMED_OPTIONS,
    arg("--setup", default="", metavar="COMMAND", help="run this instead"),
)


def _setup(session: Session, args: Namespace) -> None:
    """Run the set-up command of a worktree again."""
    name = args.name or session.caller.id
    row = session.project.worktrees.setup(session.caller, name, args.setup)

    def text() -> None:
        print(f"{printable(row.path)} is set up")

    session.show(lambda: {"worktree": worktrees.row(row)}, text)


_RM_OPTIONS = (
    arg("name", metavar="AGENT|PATH", help="which one"),
    arg("--force", action="store_true", help="salvage its work, then remove it"),
    arg("--reason", default="", metavar="TEXT", help="why; needed with --force"),
)


def _rm(session: Session, args: Namespace) -> int:
    """Remove a worktree. One that holds work stays, unless by force, which salvages it first.

    The branch goes only if another branch has all of it.
    """
    from dibs.services.worktrees.service import KeptWorktree

    answer = session.project.worktrees.remove(
        session.caller, args.name, force=args.force, reason=args.reason
    )
    session.show(lambda: worktrees.outcome(answer), lambda: _print_outcome(answer))
    return HELD if isinstance(answer, KeptWorktree) else 0


_GC_OPTIONS = (arg("--dry-run", action="store_true", help="change nothing, only tell"),)


def _gc(session: Session, args: Namespace) -> None:
    """Remove the worktrees of agents that ended or are not heard of. Those with work are kept."""
    answers = session.project.worktrees.clean_up(session.caller, dry_run=args.dry_run)

    def text() -> None:
        for answer in answers:
            _print_outcome(answer, would=args.dry_run)
        if not answers:
            print("Dibs made no worktrees here")

    session.show(lambda: {"worktrees": [worktrees.outcome(a) for a in answers]}, text)


def _print_outcome(answer: Removed | KeptWorktree | Skipped, *, would: bool = False) -> None:
    from dibs.services.worktrees.service import KeptWorktree, Removed

    row = answer.row
    where = f"{bold(row.agent)} {printable(row.path)}"
    if isinstance(answer, Removed):
        print(f"{'would remove' if would else green('removed')} {where}")
        if answer.salvage:
            print(f"  its work is kept: dibs salvage show {printable(answer.salvage)}")
        if not answer.branch_gone and not would:
            print(f"  its branch {printable(row.branch)} stays")
        for note in answer.notes:
            print(f"  {dim('-')} {printable(note)}")
    elif isinstance(answer, KeptWorktree):
        print(f"{yellow('kept')} {where}")
        for holding in answer.held:
            advice = f" ({holding.advice})" if holding.advice else ""
            print(f"  {printable(str(holding))}{advice}")
        if not any(holding.advice for holding in answer.held):
            print(f"  {dim('-')} commit and merge it, or salvage it: --force --reason TEXT")
    else:
        print(f"left   {where}: {printable(answer.why)}")


VERBS = {
    "new": ("make a worktree, or show the one that is there", _NEW_OPTIONS, _new),
    "ls": ("list the worktrees and what they hold", (), _list),
    "env": ("print the environment of a worktree's agent", _NAMED_OPTIONS, _env),
    "setup": ("run the set-up command again", _SETUP_OPTIONS, _setup),
    "rm": ("remove a worktree that holds no work", _RM_OPTIONS, _rm),
    "gc": ("remove what agents that are gone left, but for work", _GC_OPTIONS, _gc),
}
