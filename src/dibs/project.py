"""Open a project: find the repository, read the configuration, choose the engine, hand out services.

The only module that names engines.
"""

from __future__ import annotations

import json
import os

from dibs import config as configuration
from dibs.core.values import Record
from dibs.errors import Misconfigured, NotFound
from dibs.repository import STATE_OUTSIDE_GIT, Repository, find
from dibs.services.desk import Desk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from dibs.config import Config, Loaded
    from dibs.core.patterns import Pattern
    from dibs.engines.base import Engine
    from dibs.services.agents import Agents
    from dibs.services.claims import Claims
    from dibs.services.holdings import Holdings
    from dibs.services.ledger import Ledger
    from dibs.services.overview import Overview
    from dibs.services.paths import Tree

#: Says that state was made in this folder once, and how often it was made anew.
MARKER = "project.json"
DATABASE = "dibs.db"


class Place(Record):
    """A project's repository and settings, before its state is opened."""

    repository: Repository
    loaded: Loaded

    @property
    def tree(self) -> Tree:
        """What resolves the spellings of paths in this repository."""
        from dibs.services.paths import Tree

        config = self.loaded.config
        return Tree(self.repository, fold_case=config.case != "sensitive")


class Project:
    """An open project: its place, its engine, and its services."""

    def __init__(self, place: Place, engine: Engine) -> None:
        self.place = place
        self.config: Config = place.loaded.config
        self.engine = engine
        self.desk = Desk(engine, self.config, os.path.join(place.repository.state, "ledger"))
        self.tree = place.tree

    @property
    def claims(self) -> Claims:
        """Asking for patterns, waiting for them, and seeing who holds what."""
        from dibs.services.claims import Claims

        return Claims(self.desk)

    @property
    def holdings(self) -> Holdings:
        """Renewing, releasing, asking for, handing over and revoking claims."""
        from dibs.services.holdings import Holdings

        return Holdings(self.desk)

    @property
    def agents(self) -> Agents:
        """Joining, reporting, leaving and stopping."""
        from dibs.services.agents import Agents

        return Agents(self.desk)

    @property
    def ledger(self) -> Ledger:
        """What happened."""
        from dibs.services.ledger import Ledger

        return Ledger(self.desk)

    def overview(self, agent: str = "") -> Overview:
        """Look at agents, claims and queue at one moment, of one agent or of all."""
        from dibs.services.overview import overview

        return overview(self.desk, agent)

    def pattern(self, text: str) -> Pattern:
        """Parse a pattern that Dibs itself spelled, without looking at the disk again."""
        from dibs.core.patterns import parse

        return parse(text, fold_case=self.desk.fold_case)

    def close(self) -> None:
        """Close the engine."""
        self.engine.close()


def locate(
    start: str = "",
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, object] | None = None,
) -> Place:
    """Find the project of a folder and read its settings; open and change nothing."""
    variables = os.environ if environ is None else environ
    repository = find(start, variables)
    loaded = configuration.load(repository.root, repository.state, variables, flags or {})
    return Place(repository, loaded)


def open_project(
    start: str = "",
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, object] | None = None,
) -> Project:
    """Open the project of a folder; in a git repository its state is made on first use."""
    place = locate(start, environ, flags)
    return Project(place, _open_engine(place, anew=False))


def create(
    start: str = "",
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, object] | None = None,
) -> tuple[Project, bool]:
    """Make a project of a folder, or open the one that is there; tell whether state was made.

    State that was lost is made anew; its numbers go on above every number of the lost one.
    """
    try:
        place = locate(start, environ, flags)
    except NotFound as missing:
        place = _place_outside_git(start, environ, flags, missing)
    made = not _there(_database(place))
    return Project(place, _open_engine(place, anew=True)), made


def _place_outside_git(
    start: str,
    environ: Mapping[str, str] | None,
    flags: Mapping[str, object] | None,
    missing: NotFound,
) -> Place:
    """Make the folder for the state of a project that no git directory can hold.

    Where there is no such folder, or it is a git directory itself, nothing is left behind.
    """
    try:
        state = os.path.join(os.getcwd(), start, STATE_OUTSIDE_GIT)
        os.mkdir(state, mode=0o700)
    except FileNotFoundError:
        raise missing from None
    except OSError as error:
        raise Misconfigured(f"{error.filename} cannot be made: {error.strerror}") from error
    try:
        return locate(start, environ, flags)
    except NotFound:
        os.rmdir(state)
        raise


def _there(path: str) -> bool:
    """Tell whether a store is at ``path``: SQLite would take an empty file for a new one."""
    try:
        return os.stat(path).st_size > 0
    except FileNotFoundError:
        return False
    except OSError:
        return True  # what it is, the engine says


def _database(place: Place) -> str:
    url = place.loaded.config.engine
    scheme, _, rest = url.partition(":")
    if scheme == "sqlite":
        return rest.removeprefix("//")
    return os.path.join(place.repository.state, DATABASE)


def _open_engine(place: Place, *, anew: bool) -> Engine:
    url = place.loaded.config.engine
    scheme = url.partition(":")[0]
    if scheme == "memory":
        from dibs.engines.memory import MemoryEngine

        return MemoryEngine()
    if scheme not in {"", "sqlite"} or (scheme == "sqlite" and not url.startswith("sqlite:///")):
        raise Misconfigured(
            f"no engine for {_masked(url)}",
            code="ENGINE",
            field="engine",
            hint="use sqlite:///absolute/path, or leave it empty for the embedded store",
        )
    return _open_sqlite(place, anew=anew)


def _open_sqlite(place: Place, *, anew: bool) -> Engine:
    from dibs.engines.sqlite import SqliteEngine

    path = _database(place)
    config = place.loaded.config
    # In this order: the marker comes after the store, so one that is seen has its store beside it.
    made = _times_made(path)
    there = _there(path)
    if not there and not anew and (made or config.engine):
        raise Misconfigured(
            f"the state of this project is gone: there is no {path}",
            code="STORE_MISSING",
            hint="restore the file, or start anew with `dibs init`; nothing else was touched",
        )
    engine = SqliteEngine(
        path,
        synchronous=config.synchronous,
        timeout=config.timeout,
        first_seq=1 if there else made * STRIDE + 1,
    )
    if not there or not made:
        _mark(path, 1 if there else made + 1)
    return engine


#: How far apart the numbers of a lost ledger and of the one made in its place begin.
STRIDE = 1_000_000_000


def _times_made(path: str) -> int:
    """Return how often a store was made at ``path``: its marker outlives the file."""
    try:
        with open(os.path.join(os.path.dirname(path), MARKER), encoding="utf-8") as file:
            times: int = json.load(file)["made"]
            return times
    except FileNotFoundError:
        return 0
    except (OSError, ValueError, KeyError, TypeError):
        return 1


def _mark(path: str, times: int) -> None:
    """Write the marker; where nothing can be written, somebody else does it later."""
    marker = os.path.join(os.path.dirname(path), MARKER)
    temporary = f"{marker}.{os.getpid()}"
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(handle, "w", encoding="utf-8") as file:
            json.dump({"made": times}, file)
            file.flush()
            os.fsync(handle)
        os.replace(temporary, marker)
    except OSError:
        return


def _masked(url: str) -> str:
    from dibs.core.secrets import mask

    return mask(url)[:100]
