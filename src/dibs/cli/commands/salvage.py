"""List, show, and restore work that Dibs saved before it was removed or overwritten.

Restoring creates a new branch or a new folder and overwrites nothing.

Examples:
  dibs salvage ls
  dibs salvage show tester-1
  dibs salvage restore tester-1/20260102T030405Z --branch rescued
  dibs salvage restore tester-1/20260102T030405Z --to ../rescued

exit status: 0 done, 6 no salvaged work with that ID
"""

from __future__ import annotations

import shlex

from dibs.cli.support.parsing import arg, branch
from dibs.cli.support.tables import table
from dibs.cli.support.text import bold, clock, dim, printable
from dibs.errors import BadUsage
from dibs.shapes import worktrees

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from dibs.cli.support.session import Session
    from dibs.git.trees import TreeChange
    from dibs.services.salvage.entries import Salvaged, SalvageView

#: The most paths shown.
_SHOWN = 50

_ID_OPTIONS = (
    arg("id", metavar="ID", help="ID from `dibs salvage ls`, or an agent with only one entry"),
)

_RESTORE_OPTIONS = (
    *_ID_OPTIONS,
    arg("--to", default="", metavar="DIR", help="write the files to a new folder"),
    arg("--branch", type=branch, metavar="NAME", help="new branch (default: salvaged/ID)"),
)


def _list(session: Session, _: Namespace) -> None:
    """List salvaged work, newest first.

    Examples:
      dibs salvage ls
      dibs salvage ls --json
    """
    found = session.project.salvage.all()
    now = session.now()
    session.show(lambda: worktrees.salvage(found), lambda: _print_list(found, now))


def _print_list(found: list[Salvaged], now: float) -> None:
    if not found:
        print("no salvaged work")
        return
    rows = [(printable(s.id), clock(s.at, now), printable(_about(s))) for s in found]
    print("\n".join(table(("ID", "SAVED", "DESCRIPTION"), rows)))


def _about(found: Salvaged) -> str:
    return found.subject.removeprefix("salvage: ")


def _show(session: Session, args: Namespace) -> None:
    """Show how salvaged work differs from the commit that was checked out.

    Examples:
      dibs salvage show tester-1
      dibs salvage show tester-1/20260102T030405Z
    """
    found = session.project.salvage.show(args.id)
    session.show(lambda: worktrees.shown(found), lambda: _print_shown(found))


def _print_shown(shown: SalvageView) -> None:
    print(bold(printable(shown.found.id)))
    for line in shown.message.splitlines():
        print(f"  {printable(line)}")
    if shown.found.ref:
        print(f"  based on {shown.head[:10] or 'no commit'}; full diff: git show {shown.found.ref}")
    for change in shown.changes[:_SHOWN]:
        print(f"  {_what(change):<8} {printable(change.path)}")
    if len(shown.changes) > _SHOWN:
        print(f"  {dim('-')} and {len(shown.changes) - _SHOWN} more")
    if shown.ignored is not None:
        for one in shown.ignored.files[:_SHOWN]:
            copy = shlex.quote(printable(shown.ignored.copy_of(one.path)))
            print(f"  {'ignored':<8} {printable(one.path)}  {dim(f'to see it: zcat {copy}')}")


def _what(change: TreeChange) -> str:
    if change.gone:
        return "deleted"
    return "new" if not change.old_mode.strip("0") else "changed"


def _restore(session: Session, args: Namespace) -> None:
    """Restore salvaged work as a commit on a new branch, or as files in a new folder.

    Examples:
      dibs salvage restore tester-1
      dibs salvage restore tester-1 --branch rescued
      dibs salvage restore tester-1 --to ../rescued
    """
    if args.to and args.branch:
        raise BadUsage("salvage restore: --to cannot be combined with --branch")
    salvage = session.project.salvage
    if args.to:
        found, place = salvage.to_folder(args.id, args.to)
    else:
        found, place = salvage.to_branch(args.id, args.branch or "")
    what = "folder" if args.to else "branch"

    def text() -> None:
        print(f"restored {printable(found.id)} to {what} {printable(place)}")
        if found.folder and not args.to:
            print(
                f"  without its ignored files; for these: dibs salvage restore {found.id} --to DIR"
            )

    session.show(lambda: worktrees.restored(found, what, place), text)


VERBS = {
    "ls": ("list salvaged work", (), _list),
    "show": ("show salvaged changes", _ID_OPTIONS, _show),
    "restore": ("restore to a new branch or folder", _RESTORE_OPTIONS, _restore),
}
