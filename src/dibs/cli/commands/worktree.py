"""Create, list, and remove agents' worktrees, each with its own branch, folder, and ports.

Dibs does not remove a worktree that contains unsaved work or running processes. With --force, it saves
all work first: see `dibs salvage`.

Examples:
  dibs worktree new tester-1
  eval "$(dibs worktree env tester-1)"
  dibs worktree ls
  dibs worktree rm tester-1

exit status: 0 done, 3 the worktree contains work, 6 no such worktree, 69 git or the setup command failed
"""

from __future__ import annotations

from dibs.cli.support import HELD
from dibs.cli.support.parsing import agent_id, arg, branch, commit_name
from dibs.cli.support.progress import Progress
from dibs.cli.support.tables import table
from dibs.cli.support.text import bold, dim, green, printable, span, yellow
from dibs.errors import BadUsage, DibsError, system_error
from dibs.shapes import worktrees

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

    from dibs.cli.support.session import Session
    from dibs.core.changes.worktrees import Holding
    from dibs.services.worktrees.service import (
        CreatedWorktree,
        KeptWorktree,
        Listed,
        Removed,
        SharedTree,
        Skipped,
        WorktreeRequest,
    )

#: The state of a worktree that is not ready.
STAGES = {
    "making": "creation incomplete",
    "setup": "setup incomplete",
    "removing": "removal incomplete",
    "deleting": "removal incomplete",
}

_NEW_OPTIONS = (
    arg("name", nargs="?", type=agent_id, metavar="AGENT", help="its agent (default: you)"),
    arg("--branch", type=branch, metavar="NAME", help="branch name (default: agent/AGENT)"),
    arg("--base", type=commit_name, metavar="REF", help="where the branch starts"),
    arg("--path", default="", metavar="DIR", help="folder to create"),
    arg("--setup", metavar="COMMAND", help="setup command (default: [worktree] setup)"),
    arg("--no-setup", action="store_true", help="skip the setup command"),
    arg(
        "--or-shared",
        action="store_true",
        help="if it cannot be created, use the shared working tree and say why",
    ),
)


def _new(session: Session, args: Namespace) -> None:
    """Create a worktree with its own branch, or show the one that exists.

    If that fails, nothing is left behind. With --or-shared, the agent then uses the shared working tree.

    Examples:
      dibs worktree new tester-1
      dibs worktree new tester-1 --or-shared
      dibs worktree new tester-1 --base v1.2 --path ../tester
      dibs worktree new tester-1 --setup "npm ci"
    """
    from dibs.services.worktrees.service import WorktreeRequest

    if args.setup and args.no_setup:
        raise BadUsage("worktree new: --setup cannot be combined with --no-setup")
    agent = args.name or session.caller.id
    wanted = WorktreeRequest(agent, args.branch or "", args.base or "", args.path)
    setup = "" if args.no_setup else args.setup
    with Progress(quiet=session.json) as progress:
        progress(f"creating a worktree for {agent}")
        trees = session.project.worktrees
        create = trees.new_or_shared if args.or_shared else _naming_the_flag(trees.new, wanted)
        made = create(session.caller, wanted, setup=setup, before_setup=progress.finish)
    configured = bool(session.project.config.worktree_setup)
    session.show(lambda: worktrees.made(made), lambda: _print_made(made, configured=configured))


def _naming_the_flag(
    create: Callable[..., CreatedWorktree], wanted: WorktreeRequest
) -> Callable[..., CreatedWorktree]:
    """Return ``create`` with a refusal that also names the way to do without a worktree.

    If a given folder is refused, another folder is what the caller needs.
    """

    def step(*given: object, **options: object) -> CreatedWorktree:
        from dibs.core.changes.worktrees import FALLS_BACK

        try:
            return create(*given, **options)
        except (DibsError, OSError) as error:
            failed = error if isinstance(error, DibsError) else system_error(error)
            if failed.code in FALLS_BACK and not (wanted.path and failed.code == "WORKTREE_FOLDER"):
                shared = (
                    f"to use the shared tree instead: dibs worktree new {wanted.agent} --or-shared"
                )
                failed.hint = f"{failed.hint}; {shared}" if failed.hint else shared
            raise failed from error

    return step


def _print_made(made: CreatedWorktree | SharedTree, *, configured: bool) -> None:
    from dibs.core.changes.worktrees import WorktreeStage
    from dibs.services.worktrees.service import SharedTree

    if isinstance(made, SharedTree):
        print(
            f"{yellow('shared')} {printable(made.path)}: cannot use a worktree ({printable(made.reason)})"
        )
        return
    done = green("created") if made.new else "already exists:"
    row = made.row
    print(f"{done} {printable(row.path)} on {bold(printable(row.branch))}")
    for note in made.notes:
        print(f"  {dim('-')} {printable(note)}")
    if row.stage == WorktreeStage.SETUP:
        option = "" if configured else " --setup COMMAND"
        again = f"dibs worktree setup {row.agent}{option}"
        print(f"  {dim('-')} its setup is incomplete; to run it: {again}")


def _list(session: Session, _: Namespace) -> None:
    """List the worktrees of this clone, with their branches and unsaved work.

    Examples:
      dibs worktree ls
      dibs worktree ls --json
    """
    found = session.project.worktrees.listed()
    now = session.now()
    session.show(lambda: worktrees.listing(found), lambda: _print_list(found, now))


def _print_list(found: list[Listed], now: float) -> None:
    if not found:
        print("no worktrees: create one with `dibs worktree new AGENT`")
        return
    headings = ("AGENT", "BRANCH", "STATE", "LAST COMMIT", "AGE", "FOLDER")
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

    state = ["orphaned"] if item.orphaned else []
    if item.tree.missing or item.tree.wrong:
        return ", ".join([*state, item.tree.wrong or "folder missing"])
    state += [_counted(holding) for holding in item.held]
    if item.unpushed:
        state.append(f"{item.unpushed} unpushed")
    row = item.tree.row
    if row is not None and row.stage != WorktreeStage.READY:
        state.append(STAGES.get(row.stage, row.stage))
    return ", ".join(state) or "clean"


def _counted(holding: Holding) -> str:
    """Return one kind of content in few words, such as ``2 untracked``."""
    from dibs.core.changes.worktrees import WorktreeContent

    if holding.kind == WorktreeContent.UNDER_WAY:
        return f"{holding.names[0]} in progress"
    if holding.kind == WorktreeContent.LOCKED:
        return "locked"
    if holding.kind == WorktreeContent.PROCESS:
        return f"{holding.number} process{'' if holding.number == 1 else 'es'}"
    kind = "modified" if holding.kind == WorktreeContent.CHANGED else holding.kind
    return f"{holding.number} {kind}"


def _age(item: Listed, now: float) -> str:
    since = item.tree.row.made if item.tree.row else item.at
    return span(now - since) if since else "-"


_NAMED_OPTIONS = (
    arg("name", nargs="?", type=agent_id, metavar="AGENT", help="its agent (default: you)"),
)


def _env(session: Session, args: Namespace) -> None:
    """Print the environment variables of a worktree, for the shell's eval.

    Examples:
      eval "$(dibs worktree env tester-1)"
      dibs worktree env tester-1 --json
    """
    from dibs.core.changes.worktrees import exports

    values = session.project.worktrees.environment(args.name or session.caller.id)
    session.show(lambda: values, lambda: print(exports(values)))


_SETUP_OPTIONS = (
    *_NAMED_OPTIONS,
    arg("--setup", default="", metavar="COMMAND", help="setup command (default: [worktree] setup)"),
)


def _setup(session: Session, args: Namespace) -> None:
    """Run the setup command of a worktree again.

    Examples:
      dibs worktree setup tester-1
      dibs worktree setup tester-1 --setup "npm ci"
    """
    name = args.name or session.caller.id
    row = session.project.worktrees.setup(session.caller, name, args.setup)

    def text() -> None:
        print(f"setup succeeded in {printable(row.path)}")

    session.show(lambda: {"worktree": worktrees.row(row)}, text)


_RM_OPTIONS = (
    arg("name", metavar="AGENT|PATH", help="worktree to remove"),
    arg("--force", action="store_true", help="salvage its work, then remove it"),
    arg("--reason", default="", metavar="TEXT", help="reason (required with --force)"),
)


def _rm(session: Session, args: Namespace) -> int:
    """Remove a worktree that contains no unsaved work.

    With --force, salvage its work first. The branch is deleted only if another branch contains all its
    commits.

    Examples:
      dibs worktree rm tester-1
      dibs worktree rm tester-1 --force --reason "abandoned"
    """
    from dibs.services.worktrees.service import KeptWorktree

    answer = session.project.worktrees.remove(
        session.caller, args.name, force=args.force, reason=args.reason
    )
    session.show(lambda: worktrees.outcome(answer), lambda: _print_outcome(answer))
    return HELD if isinstance(answer, KeptWorktree) else 0


_GC_OPTIONS = (
    arg("--dry-run", action="store_true", help="show what would be removed"),
    arg("--salvage", action="store_true", help="salvage the work in them and remove these too"),
)


def _gc(session: Session, args: Namespace) -> None:
    """Remove orphaned worktrees, whose agents have stopped or are dead, unless they contain work.

    With --salvage, save that work and remove them too. Worktrees of people are never touched.

    Examples:
      dibs worktree gc --dry-run
      dibs worktree gc --salvage
    """
    with Progress(quiet=session.json) as progress:
        answers = session.project.worktrees.clean_up(
            session.caller, dry_run=args.dry_run, salvage=args.salvage, progress=progress
        )

    def text() -> None:
        for answer in answers:
            _print_outcome(answer, would=args.dry_run)
        if not answers:
            print("no worktrees created by Dibs")

    session.show(lambda: worktrees.cleaned(answers), text)


def _print_outcome(answer: Removed | KeptWorktree | Skipped, *, would: bool = False) -> None:
    from dibs.services.worktrees.service import KeptWorktree, Removed

    row = answer.row
    where = f"{bold(row.agent)} {printable(row.path)}"
    if isinstance(answer, Removed):
        print(f"{'would remove' if would else green('removed')} {where}")
        if answer.salvage:
            print(f"  salvaged its work; to see it: dibs salvage show {printable(answer.salvage)}")
        if not answer.branch_gone and not would:
            print(f"  kept its branch {printable(row.branch)}")
        for note in answer.notes:
            print(f"  {dim('-')} {printable(note)}")
    elif isinstance(answer, KeptWorktree):
        print(f"{'would keep' if would else yellow('kept')} {where}")
        for holding in answer.held:
            advice = f" ({holding.advice})" if holding.advice else ""
            print(f"  {printable(str(holding))}{advice}")
        if not any(holding.advice for holding in answer.held):
            force = f'dibs worktree rm {row.agent} --force --reason "abandoned"'
            print(f"  {dim('-')} commit and merge it, or salvage and remove it: {force}")
    else:
        print(f"skipped {where}: {printable(answer.why)}")


VERBS = {
    "new": ("create a worktree, or show the existing one", _NEW_OPTIONS, _new),
    "ls": ("list worktrees and their unsaved work", (), _list),
    "env": ("print a worktree's environment variables", _NAMED_OPTIONS, _env),
    "setup": ("run the setup command again", _SETUP_OPTIONS, _setup),
    "rm": ("remove a worktree", _RM_OPTIONS, _rm),
    "gc": ("remove the worktrees of dead agents", _GC_OPTIONS, _gc),
}
