"""``dibs forecast --watch``: a forecast that follows what is edited, until it is told to end."""

from __future__ import annotations

import os
import re
import sys
import threading
import time

from dibs.core.changes.forecasts import news
from dibs.core.text.names import printable
from dibs.errors import NotFound, Unavailable, Unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable

    from dibs.cli.support.session import Session
    from dibs.core.changes.forecasts import Forecast, Pair
    from dibs.services.forecast.outlook import Outlook

#: After so many rounds the objects of all earlier ones are dropped, and everything is looked at.
ROUNDS = 500
#: How long one wait is, so that a signal is met soon.
SLICE = 0.5
#: How long a watch takes to begin, at most.
BEGIN = 1.0
#: What in a git directory tells of branches, of working trees, or of how they are merged.
_BRANCHES = re.compile(
    r"(worktrees/[^/]+/)?HEAD|worktrees(/[^/]+)?|packed-refs|(refs/heads|reftable)(/.*)?(?<!\.lock)"
    r"|config|info/attributes",
    re.DOTALL,
)


def watch(session: Session, args: Namespace) -> int:
    """Follow the working trees; print what begins to conflict, and what no longer does."""
    from dibs.cli.support.signals import leaving_on_end

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
    """Look at everything once, then at what changed, for a good while."""
    every = session.project.config.forecast_every
    printer.tell(outlook.look(args.who))
    missed = False
    for _ in range(ROUNDS):
        # What changes while the watch begins is not told of, so all is looked at soon after.
        begins = watched.keep(outlook.places)
        changed, refs = watched.wait(min(every, BEGIN) if begins else every)
        try:
            if begins or missed or not (changed or refs):
                printer.tell(outlook.look(args.who))
            else:
                printer.tell(outlook.look_again(changed, args.who, refs=refs))
            missed = False
        except (Unavailable, Unknown, NotFound) as error:  # it may be back the next time
            printer.fail(error.message)
            missed = True


class Printer:
    """Prints a forecast in full at first, and then what is new in it."""

    def __init__(self, session: Session, args: Namespace) -> None:
        self._session = session
        self._warn = not args.no_warn
        self._before: Forecast | None = None
        self._failed = ""

    def fail(self, why: str) -> None:
        """Print why there is no forecast now, once."""
        if why != self._failed:
            print(f"dibs: {printable(why)}", file=sys.stderr, flush=True)
        self._failed = why

    def tell(self, now: Forecast) -> None:
        """Print and warn of what is new."""
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
        from dibs.shapes.forecast import pair, shape

        if before is None:
            print_json({"event": "forecast", **shape(now)})
        for item in fresh if before else ():
            if item.clashes:
                print_json({"event": "conflict", **pair(item)})
        for item in gone:
            print_json({"event": "cleared", "agents": list(item.names)})

    def _tell_people(self, fresh: list[Pair], gone: list[Pair]) -> None:
        from dibs.cli.commands.forecast.text import tell
        from dibs.cli.support.text import clock, dim, green

        moment = time.time()
        for item in fresh:
            if item.clashes:
                print(dim(clock(moment, moment)), end=" ")
                tell(item)
        for item in gone:
            names = f"{printable(item.one)} and {printable(item.other)}"
            print(f"{dim(clock(moment, moment))} {green('cleared')} {names}")


class TreeWatcher:
    """Working trees and branches, watched by a thread where ``watchfiles`` is installed, else not at all."""

    def __init__(self, common: str) -> None:
        self._common = common
        self._roots: tuple[str, ...] = ()
        self._told: set[str] = set()
        self._lock = threading.Lock()
        self._news = threading.Event()
        self._end = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def live(self) -> bool:
        """Whether changes are told of."""
        return self._thread is not None and self._thread.is_alive()

    def __enter__(self) -> TreeWatcher:
        """Begin; there is nothing to watch yet."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the thread."""
        self._stop()

    def keep(self, roots: Iterable[str]) -> bool:
        """Watch these working trees from now on; tell whether that only begins now."""
        wanted = tuple(sorted(path for path in roots if os.path.isdir(path)))
        if wanted == self._roots and (self.live or self._thread is None):
            return False
        self._stop()
        self._roots = wanted
        try:
            import watchfiles  # noqa: F401 - the extra `watch`
        except ImportError:
            return False
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="dibs-watch", daemon=True)
        self._thread.start()
        return True

    def _stop(self) -> None:
        self._end.set()
        if self._thread is not None:
            self._thread.join(2.0)
            self._thread = None

    def _follow(self) -> None:
        from watchfiles import watch as follow

        refs = [os.path.join(self._common, name) for name in ("refs", "worktrees")]
        places = [*self._roots, *(path for path in refs if os.path.isdir(path))]
        try:
            for changes in follow(
                *places, watch_filter=None, stop_event=self._end, step=50, debounce=200
            ):
                with self._lock:
                    self._told.update(path for _, path in changes)
                self._news.set()
        except (OSError, RuntimeError):
            return  # no more watches left, or a folder is gone: then looking now and then counts

    def wait(self, longest: float) -> tuple[dict[str, set[str]], bool]:
        """Return what changed, by working tree (no path: anything), and whether branches may have moved."""
        until = time.monotonic() + longest
        while (left := until - time.monotonic()) > 0:
            if self._news.wait(min(SLICE, left)):
                with self._lock:
                    told, self._told = self._told, set()
                    self._news.clear()
                changed, refs = self.sorted(told)
                if changed or refs:
                    return changed, refs
        return {}, False

    def sorted(self, told: Iterable[str]) -> tuple[dict[str, set[str]], bool]:
        """Sort changed paths by the working tree that they are in; a git directory's own tell of branches."""
        changed: dict[str, set[str]] = {}
        staged: set[str] = set()
        refs = False
        for path in told:
            root = max((r for r in self._roots if path.startswith(f"{r}/")), key=len, default="")
            name = path[len(root) + 1 :]
            if path.startswith(f"{self._common}/"):
                within = path[len(self._common) + 1 :]
                # Whatever else lies there is not looked at, least of all what a forecast itself writes.
                refs |= bool(_BRANCHES.fullmatch(within))
                if os.path.basename(path) == "index":
                    staged.add(self._tree_of(os.path.dirname(path)))
            elif root and name != ".git" and not name.startswith(".git/"):
                changed.setdefault(root, set()).add(name)
        return changed | {root: set() for root in staged if root in self._roots}, refs

    def _tree_of(self, folder: str) -> str:
        """Return the working tree that a git directory belongs to; nothing if that cannot be read."""
        if folder == self._common:
            return os.path.dirname(folder)
        try:
            with open(os.path.join(folder, "gitdir"), "rb") as file:
                return os.path.dirname(os.path.join(folder, os.fsdecode(file.read().rstrip(b"\n"))))
        except OSError:
            return ""
