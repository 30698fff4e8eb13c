"""``dibs forecast --watch``: update the forecast as files change, until Ctrl-C."""

from __future__ import annotations

import os
import re
import sys
import time

from dibs.cli.support.text import clock, dim, green
from dibs.cli.support.watcher import SLICE, FileWatcher
from dibs.core.changes.forecasts import news
from dibs.core.text.names import printable
from dibs.errors import NotFound, Unavailable, Unknown
from dibs.local.files import read_or_empty
from dibs.shapes.forecast import pair, shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable

    from dibs.cli.support.session import Session
    from dibs.core.changes.forecasts import Forecast, Pair
    from dibs.services.forecast.outlook import Outlook

#: After this many rounds, drop all temporary objects and start with a full look.
ROUNDS = 500
#: The longest time that a file watch takes to start, in seconds.
BEGIN = 1.0
#: Files in a git directory that affect branches, worktrees, or how they are merged.
_BRANCHES = re.compile(
    r"(worktrees/[^/]+/)?HEAD|worktrees(/[^/]+)?|packed-refs|(refs/heads|reftable)(/.*)?(?<!\.lock)"
    r"|config|info/attributes",
    re.DOTALL,
)


def watch(session: Session, args: Namespace) -> int:
    """Follow the working trees; print new conflicts and cleared ones."""
    from dibs.local.signals import leaving_on_end

    printer = Printer(session, args)
    forecasts = session.project.forecasts
    try:
        with leaving_on_end(), TreeWatcher(session.project.place.repository.common) as watched:
            while True:
                with forecasts.outlook(args.base or "") as outlook:
                    _follow(session, args, outlook, watched, printer)
    except (KeyboardInterrupt, SystemExit):
        return 0


def _follow(
    session: Session, args: Namespace, outlook: Outlook, watched: TreeWatcher, printer: Printer
) -> None:
    """Look at everything once, then for many rounds only at what changed."""
    every = session.project.config.forecast_every
    printer.tell(outlook.look(args.who))
    missed = False
    for _ in range(ROUNDS):
        # A watch misses changes while it starts, so look at everything again soon after.
        begins = watched.keep(outlook.places)
        changed, refs = watched.wait(min(every, BEGIN) if begins else every)
        try:
            if begins or missed or not (changed or refs):
                printer.tell(outlook.look(args.who))
            else:
                printer.tell(outlook.look_again(changed, args.who, refs=refs))
            missed = False
        except (Unavailable, Unknown, NotFound) as error:  # it may work the next time
            printer.fail(error.message)
            missed = True


class Printer:
    """Prints the first forecast in full, then only what changes."""

    def __init__(self, session: Session, args: Namespace) -> None:
        self._session = session
        self._warn = not args.no_warn
        self._before: Forecast | None = None
        self._failed = ""

    def fail(self, why: str) -> None:
        """Print once why the forecast failed."""
        if why != self._failed:
            print(f"dibs: {printable(why)}", file=sys.stderr, flush=True)
        self._failed = why

    def tell(self, now: Forecast) -> None:
        """Print what is new, and notify the agents."""
        before, self._before, self._failed = self._before, now, ""
        if self._warn:
            self._session.project.forecasts.warn(self._session.caller, now)
        fresh, gone = news(before.pairs if before else (), now.pairs)
        if self._session.json:
            self._tell_programs(before, now, fresh, gone)
        elif before is None:
            from dibs.cli.commands.forecast.text import show

            show(now)
        else:
            self._tell_people(fresh, gone)
        sys.stdout.flush()

    def _tell_programs(
        self, before: Forecast | None, now: Forecast, fresh: list[Pair], gone: list[Pair]
    ) -> None:
        from dibs.cli.support.session import print_json

        if before is None:
            print_json({"event": "forecast", **shape(now)})
        for item in fresh if before else ():
            if item.clashes:
                print_json({"event": "conflict", **pair(item)})
        for item in gone:
            print_json({"event": "cleared", "agents": list(item.names)})

    def _tell_people(self, fresh: list[Pair], gone: list[Pair]) -> None:
        from dibs.cli.commands.forecast.text import tell

        moment = time.time()
        for item in fresh:
            if item.clashes:
                print(dim(clock(moment, moment)), end=" ")
                tell(item)
        for item in gone:
            names = f"{printable(item.one)} and {printable(item.other)}"
            print(f"{dim(clock(moment, moment))} {green('cleared')}: {names}")


class TreeWatcher(FileWatcher):
    """Watches working trees and branches for changes."""

    def __init__(self, common: str) -> None:
        super().__init__()
        self._common = common
        self._roots: tuple[str, ...] = ()

    def __enter__(self) -> TreeWatcher:
        return self

    def keep(self, roots: Iterable[str]) -> bool:
        """Watch these working trees, and return whether a new watch had to start."""
        wanted = tuple(sorted(path for path in roots if os.path.isdir(path)))
        if wanted == self._roots and (self.live or self._thread is None):
            return False
        self._roots = wanted
        refs = [os.path.join(self._common, name) for name in ("refs", "worktrees")]
        return self.start([*wanted, *(path for path in refs if os.path.isdir(path))])

    def wait(self, longest: float) -> tuple[dict[str, set[str]], bool]:
        """Wait for changes; return the changed paths by working tree, and whether branches may have moved.

        A working tree without paths may have changed anywhere.
        """
        until = time.monotonic() + longest
        while (left := until - time.monotonic()) > 0:
            if self._news.wait(min(SLICE, left)):
                changed, refs = self.sorted(self.take())
                if changed or refs:
                    return changed, refs
        return {}, False

    def sorted(self, told: Iterable[str]) -> tuple[dict[str, set[str]], bool]:
        """Group changed paths by working tree; return also whether branches may have moved."""
        changed: dict[str, set[str]] = {}
        staged: set[str] = set()
        refs = False
        for path in told:
            root = max((r for r in self._roots if path.startswith(f"{r}/")), key=len, default="")
            name = path[len(root) + 1 :]
            if path.startswith(f"{self._common}/"):
                within = path[len(self._common) + 1 :]
                # Ignore everything else there, such as the files that a forecast itself writes.
                refs |= bool(_BRANCHES.fullmatch(within))
                if os.path.basename(path) == "index":
                    staged.add(self._tree_of(os.path.dirname(path)))
            elif root and name != ".git" and not name.startswith(".git/"):
                changed.setdefault(root, set()).add(name)
        return changed | {root: set() for root in staged if root in self._roots}, refs

    def _tree_of(self, folder: str) -> str:
        """Return the working tree of a git directory, or an empty text if that cannot be read."""
        if folder == self._common:
            return os.path.dirname(folder)
        entry = os.fsdecode(read_or_empty(os.path.join(folder, "gitdir")).rstrip(b"\n"))
        return os.path.dirname(os.path.join(folder, entry)) if entry else ""
