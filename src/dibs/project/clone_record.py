"""The store that a clone uses, recorded in its common git directory, so that no part of it uses another one.

Two stores, or two rules for upper and lower case, would give one file two owners. The record is written by
``dibs init`` or the first change, and changed by ``dibs engine use``.
"""

from __future__ import annotations

import os

from dibs.core.text.urls import EMBEDDED, setting, without_secrets
from dibs.errors import DibsError, Misconfigured
from dibs.local.files import read_file
from dibs.project.engines import RECORD, is_postgres, is_redis
from dibs.project.local_store import database
from dibs.project.location import Location
from dibs.startup import quickjson
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from dibs.engines.base import Engine, Txn

    T = TypeVar("T")

#: The settings that select the store, with what each is called, in the order in which they are compared.
_SETTINGS = {
    "engine": "engine",
    "project": "project name",
    "git_branch": "branch",
    "case": "case rule",
}


class CloneRecord(Record):
    """The settings that decide which store a clone uses and which paths are the same."""

    #: The engine's URL without secrets.
    engine: str
    #: The same for all spellings of the store's address.
    store: str
    #: The project's name in Redis or PostgreSQL; empty for other engines.
    project: str
    #: The branch of the git engine; empty for other engines.
    git_branch: str
    case: str

    def values(self) -> dict[str, str]:
        """Return what two records have in common if they mean the same."""
        return {**self._asdict(), "engine": self.store}


def selected(place: Location) -> CloneRecord:
    """Return the record for the settings in effect here."""
    from dibs.project.remotes import plain_address, project_name, resolve

    config, repository = place.loaded.config, place.repository
    url = config.engine
    project = branch = ""
    if is_redis(url):
        from dibs.engines.redis.url import parse

        store = f"redis {parse(url)}"
        project = config.project or project_name(repository)
    elif is_postgres(url):
        from dibs.engines.postgres.url import place as postgres_place

        store = f"postgres {postgres_place(url)}"
        project = config.project or project_name(repository)
    elif url.startswith("git:"):
        store = f"git {plain_address(resolve(repository, url), repository.root)}"
        branch = config.git_branch
    elif url.startswith("sqlite:///"):
        default = os.path.realpath(database(place, ""))
        path = os.path.realpath(database(place, url))
        store = "" if path == default else path
    else:
        store = url
    name = without_secrets(url) if store else EMBEDDED
    return CloneRecord(name, store or EMBEDDED, project, branch, config.case)


def recorded(place: Location) -> CloneRecord | None:
    """Return this clone's record, if it has one."""
    path = record_file(place)
    try:
        values = quickjson.loads(read_file(path))
        return CloneRecord(*(str(values[name]) for name in CloneRecord._fields))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        raise Misconfigured(
            f"this clone's record of its engine is not readable: {path}",
            code="ENGINE_MISMATCH",
            field="engine",
            hint="check the settings with `dibs config engine`; then a human runs: dibs engine use --force",
        ) from None


def record_file(place: Location) -> str:
    """Return the path of the record, which all worktrees share."""
    return os.path.join(place.repository.state, RECORD)


def check(place: Location) -> bool:
    """Refuse settings that select another store than the clone's; return whether there is a record."""
    if place.loaded.config.engine == "memory:" and place.loaded.origins["engine"].startswith("--"):
        return True  # it is lost with the process, as its caller wants
    known = recorded(place)
    if known is None:
        return False
    here = selected(place)
    if known.values() != here.values():
        raise _mismatch(place, known, here)
    return True


def write(place: Location, *, replace: bool = False) -> None:
    """Record the settings in effect here; without ``replace``, refuse if others are recorded meanwhile.

    A clone whose git directory is read-only has no record.
    """
    from dibs.local.files import write_file

    path = record_file(place)
    text = quickjson.dumps(selected(place)._asdict())
    if not place.loaded.config.engine.startswith("memory:"):
        own = path if replace else f"{path}.{os.urandom(4).hex()}"
        try:
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            write_file(own, text, sync=True)
            if not replace:
                os.link(own, path)
        except FileExistsError:
            check(place)
        except OSError:
            return
        finally:
            if not replace and os.path.exists(own):
                os.unlink(own)


class UnrecordedEngine:
    """The engine of a clone without a record: the first change records it."""

    as_of: float | None
    shortest_ttl: float

    def __init__(self, engine: Engine, place: Location) -> None:
        self._engine, self._place = engine, place
        self._recorded = False

    def transact(self, step: Callable[[Txn], T]) -> T:
        """Record the engine if it is usable, then apply ``step``."""
        if not self._recorded:
            self._engine.view(lambda _: None)  # an unreachable store is not recorded
            write(self._place)
            self._recorded = True
        return self._engine.transact(step)

    def __getattr__(self, name: str) -> object:
        """Everything else is the engine's own."""
        return getattr(self._engine, name)


def _mismatch(place: Location, known: CloneRecord, here: CloneRecord) -> DibsError:
    name = next(n for n in _SETTINGS if known.values()[n] != here.values()[n])
    old, new = getattr(known, name), getattr(here, name)
    if old == new:  # the same words lead to another store, for example by a relative path
        old, new = known.store, here.store
    return Misconfigured(
        f"this clone's {_SETTINGS[name]} is {old or 'not set'} (recorded in {record_file(place)}), but "
        f"{_origin(place, name)} selects {new or 'none'}",
        code="ENGINE_MISMATCH",
        field=name,
        hint=f"{_fix(place, known, name)}; a human can switch the whole clone with: dibs engine use",
    )


def _origin(place: Location, name: str) -> str:
    origin = place.loaded.origins[name]
    if origin == "default":
        if name == "project":
            return "the URL of origin"
        return f"the default (not set in {place.repository.root}/dibs.toml)"
    return origin.replace("dibs.toml", f"{place.repository.root}/dibs.toml")


def _fix(place: Location, known: CloneRecord, name: str) -> str:
    """Return what makes the settings here match the record."""
    from json import dumps
    from shlex import quote

    from dibs.config.table import FIELDS

    field = next(field for field in FIELDS if field.name == name)
    value = getattr(known, name)
    if place.loaded.origins[name] == field.variable and _matches_without(
        place, known, field.variable
    ):
        return f"run: unset {field.variable}"
    below = f" below [{field.section}]" if field.section else ""
    line = f"{field.key} = {dumps(value, ensure_ascii=False)}"
    line = setting(value) if name == "engine" else line
    return f"run: export {field.variable}={quote(value)}, or set {line}{below} in dibs.toml"


def _matches_without(place: Location, known: CloneRecord, variable: str) -> bool:
    from dibs.config.load import load

    root, state = place.repository.root, place.repository.state
    environ = {name: value for name, value in os.environ.items() if name != variable}
    try:
        other = place._replace(loaded=load(root, state, environ, {}))
        return selected(other).values() == known.values()
    except DibsError:
        return False


def as_recorded(place: Location, known: CloneRecord) -> Location:
    """Return the location of the store that a clone with this record uses."""
    values = {**known._asdict(), "engine": "" if known.store == EMBEDDED else known.engine}
    del values["store"]
    loaded = place.loaded._replace(config=place.loaded.config._replace(**values))
    return Location(place.repository, loaded)
