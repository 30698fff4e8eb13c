"""List, show and restore work that was kept when a worktree was removed.

Examples:
  dibs salvage ls
  dibs salvage show tester-1
  dibs salvage restore tester-1/20260102T030405Z --branch rescued
  dibs salvage restore tester-1/20260102T030405Z --to ../rescued

Restoring overwrites nothing: it makes a new branch, or a new folder.

exit status: 0 done, 6 nothing is salvaged under that name
"""

from __future__ import annotations

from dibs.cli.support.parsing import arg, branch
from dibs.cli.support.tables import table
from dibs.cli.support.text import bold, clock, dim, printable
from dibs.errors import BadUsage
from dibs.shapes import worktrees

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from dibs.cli.support.session import Session
    from dibs.services.worktrees.salvage import Salvaged, SalvageView

#: How many paths a page shows.
_SHOWN = 50

_ID_OPTIONS = (arg("id", metavar="ID", help="as ls names it; the agent alone if it has one"),)

_RESTORE_OPTIONS = (
    *_ID_OPTIONS,
    arg("--to", default="", metavar="DIR", help="write the files into a new folder"),
    arg("--branch", type=branch, metavar="NAME", help="the new branch (salvaged/ID)"),
)


def _list(session: Session, _: Namespace) -> None:
    """List what was salvaged, the newest first."""
    found = session.project.salvage.all()
    now = session.now()
    shape = {"salvaged": [worktrees.salvaged(s) for s in found]}
    session.show(lambda: shape, lambda: _print_list(found, now))


def _print_list(found: list[Salvaged], now: float) -> None:
    if not found:
        print("nothing was salvaged here")
        return
    rows = [(printable(s.id), clock(s.at, now), printable(s.subject)) for s in found]
    print("\n".join(table(("ID", "AT", "WHAT"), rows)))


def _show(session: Session, args: Namespace) -> None:
    """Show what a piece of salvaged work holds, against the commit that was checked out."""
    found = session.project.salvage.show(args.id)
    session.show(lambda: worktrees.shown(found), lambda: _print_shown(found))


def _print_shown(shown: SalvageView) -> None:
    print(bold(printable(shown.found.id)))
    for line in shown.message.splitlines():
        print(f"  {printable(line)}")
    print(f"  on top of {shown.head[:10] or 'nothing'}; git show {shown.found.ref}")
    for change in shown.changes[:_SHOWN]:
        print(f"  {'gone ' if change.gone else 'has  '}{printable(change.path)}")
    if len(shown.changes) > _SHOWN:
        print(f"  {dim('-')} and {len(shown.changes) - _SHOWN} more")


def _restore(session: Session, args: Namespace) -> None:
    """Bring salvaged work back: as a commit on a new branch, or as files in a new folder."""
    if args.to and args.branch:
        raise BadUsage("salvage restore: --to and --branch exclude each other")
    salvage = session.project.salvage
    if args.to:
        found, place = salvage.to_folder(args.id, args.to)
    else:
        found, place = salvage.to_branch(args.id, args.branch or "")
    what = "folder" if args.to else "branch"

    def text() -> None:
        print(f"restored {printable(found.id)} as {what} {printable(place)}")

    session.show(lambda: {**worktrees.salvaged(found), what: place}, text)


VERBS = {
    "ls": ("list what was salvaged", (), _list),
    "show": ("show what a piece of it holds", _ID_OPTIONS, _show),
    "restore": ("bring it back as a new branch or folder", _RESTORE_OPTIONS, _restore),
}
