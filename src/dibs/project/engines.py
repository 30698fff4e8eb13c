"""Opens the engine that a project's settings name."""

from __future__ import annotations

import os

from dibs.config.load import DEFAULT
from dibs.errors import Misconfigured
from dibs.local.files import read_file
from dibs.project import local_store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.engines.base import Engine, Txn
    from dibs.project.location import Location

#: Records which store the clone uses; ``clone_record`` reads and writes it.
RECORD = "engine.json"
#: The record of a clone with the default engine, by far the most common one.
_DEFAULT_RECORD = (
    '{{"engine": "sqlite", "store": "sqlite", "project": "", "git_branch": "", "case": "{}"}}'
)
#: The default timeout of a call to a git remote.
GIT_TIMEOUT = 30.0

_REDIS = ("redis", "rediss", "unix")
_POSTGRES = ("postgresql", "postgres")
HINT = (
    "use postgresql://host/database, redis://host:6379/0, git:origin, or sqlite:///absolute/path, or leave"
    " it empty"
)


def open_engine(place: Location, *, recreate: bool, url: str | None = None) -> Engine:
    """Open a project's engine, or the one that ``url`` names; recreate lost state if ``recreate``."""
    url = place.loaded.config.engine if url is None else url
    scheme = url.partition(":")[0]
    if scheme == "memory":
        from dibs.engines.memory import MemoryEngine

        return MemoryEngine()
    if is_redis(url):
        return _open_redis(place, url)
    if is_postgres(url):
        return _open_postgres(place, url)
    if scheme == "git":
        return _open_git(place, url)
    if scheme not in {"", "sqlite"} or (scheme == "sqlite" and not url.startswith("sqlite:///")):
        raise Misconfigured(
            f"unknown engine {_masked(url)}", code="ENGINE", field="engine", hint=HINT
        )
    return local_store.open_sqlite(place, url, recreate=recreate, renew=_renewal(place))


def is_there(place: Location) -> bool:
    """Return whether the state of a project exists, as far as this machine can tell."""
    url = place.loaded.config.engine
    if url.partition(":")[0] in {"", "sqlite"}:
        return local_store.exists(local_store.database(place, url))
    if url.startswith("git:"):
        from dibs.project.remotes import resolve

        return os.path.exists(copy_of(place, resolve(place.repository, url)))
    return os.path.exists(_memory_file(place, url))


def is_recorded(place: Location) -> bool:
    """Return whether the clone's record names this store; raise an error if it names another one."""
    config = place.loaded.config
    try:
        text = read_file(f"{place.repository.state}/{RECORD}")
    except FileNotFoundError:
        return False
    except OSError:
        text = b""
    known = _DEFAULT_RECORD.format(config.case).encode()
    if not config.engine and text == known:
        return True
    from dibs.project.clone_record import check

    return check(place)


def is_redis(url: str) -> bool:
    """Return whether a URL names a Redis store."""
    return url.partition(":")[0].partition("+")[0] in _REDIS


def is_postgres(url: str) -> bool:
    """Return whether a URL names a PostgreSQL store."""
    return url.partition(":")[0] in _POSTGRES


def _not_installed(engine: str, package: str, extra: str) -> Misconfigured:
    return Misconfigured(
        f"the {engine} engine needs the {package} package, which is not installed",
        code="ENGINE",
        field="engine",
        hint=f"install dibs[{extra}]",
    )


def _open_postgres(place: Location, url: str) -> Engine:
    try:
        from dibs.engines.postgres.engine import PostgresEngine
    except ImportError as error:
        raise _not_installed("PostgreSQL", "psycopg", "postgres") from error

    config = place.loaded.config
    return PostgresEngine(
        url,
        name_of(place),
        timeout=config.timeout,
        memory=_memory_file(place, url),
        renew=_renewal(place),
    )


def _open_redis(place: Location, url: str) -> Engine:
    try:
        from dibs.engines.redis.engine import RedisEngine
        from dibs.engines.redis.url import outside_password
    except ImportError as error:
        raise _not_installed("Redis", "hiredis", "redis") from error
    from dibs.engines.redis.mirror import Mirror
    from dibs.services.claims.claim_keys import PREFIX, claim_keys

    config = place.loaded.config
    return RedisEngine(
        url,
        name_of(place),
        timeout=config.timeout,
        memory=_memory_file(place, url),
        password=outside_password(os.environ),
        renew=_renewal(place),
        mirror=Mirror(PREFIX, claim_keys),
    )


def _open_git(place: Location, url: str) -> Engine:
    from dibs.engines.git.engine import GitEngine
    from dibs.project.remotes import resolve

    config, origins = place.loaded.config, place.loaded.origins
    address = resolve(place.repository, url)
    return GitEngine(
        address,
        state=copy_of(place, address),
        branch=config.git_branch,
        timeout=GIT_TIMEOUT if origins["timeout"] == DEFAULT else config.timeout,
        renew=_renewal(place),
        config_from=place.repository.common,
    )


def name_of(place: Location) -> str:
    """Return the project's name on a server."""
    from dibs.project.remotes import project_name

    return place.loaded.config.project or project_name(place.repository)


def _renewal(place: Location) -> Callable[[Txn, str], None]:
    def renew(txn: Txn, why: str) -> None:
        from dibs.services.state.lifecycle import begin_life

        begin_life(txn, why, fold_case=place.loaded.config.fold_case)

    return renew


def _memory_file(place: Location, url: str) -> str:
    """Return the file in which this machine keeps what it knows of a store on a server."""
    kind = "postgres" if is_postgres(url) else "redis"
    name = f"{kind}-{_digest(url.rpartition('@')[2], place.loaded.config.project)}.json"
    return os.path.join(place.repository.state, name)


def copy_of(place: Location, address: str) -> str:
    """Return the folder with this machine's copy of a branch.

    All of a user's clones on a machine share it.
    """
    from dibs.engines.shared.format import FORMAT
    from dibs.local.server_files import state_home

    folder = state_home()
    if not os.path.isabs(folder) or not _is_local(folder):
        folder = place.repository.state
    name = _digest(address, place.loaded.config.git_branch, str(FORMAT))
    return os.path.join(folder, f"git-{name}")


def _is_local(folder: str) -> bool:
    """Return whether a folder is on a local disk; a home folder may be on a server."""
    from dibs.engines.shared.folders import refuse_network

    try:
        refuse_network(folder)
    except Misconfigured:
        return False
    return True


def _digest(*words: str) -> str:
    from hashlib import sha256

    text = "\n".join(words)
    return sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:12]


def _masked(url: str) -> str:
    from dibs.core.text.secrets import mask

    return mask(url)[:100]
