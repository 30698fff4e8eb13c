"""Set up where the agents work: one machine with two worktrees, or two machines that share an engine."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, NamedTuple

from machines import Machine, git
from private_servers import postgres_server, redis_server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILES = (
    "src/auth/login.py",
    "src/auth/session.py",
    "src/api/routes.py",
    "src/web/page.ts",
    "docs/api.md",
)
AUTHOR = ("-c", "user.name=Demo", "-c", "user.email=demo@example.com")


class Stage(NamedTuple):
    """Where each agent works; the human uses the first machine."""

    machines: tuple[Machine, ...]
    places: dict[str, Machine]
    #: What the machines share, and the setting that users write for it.
    shared: str = ""
    setting: str = ""
    #: The repository that both machines cloned.
    origin: Path | None = None

    @property
    def watcher(self) -> Machine:
        """The human's machine."""
        return self.machines[0]


@contextlib.contextmanager
def sqlite(folder: Path) -> Iterator[Stage]:
    """One machine: a repository with two worktrees."""
    main, hotfix = folder / "shop", folder / "shop-hotfix"
    _make_repository(main)
    git(main, "worktree", "add", "-q", "-b", "hotfix", str(hotfix))
    machine = Machine("", main, own_files(folder / "home"))
    places = dict.fromkeys(("alice", "bob", "carol", "dave"), machine)
    yield Stage((machine,), {**places, "erin": machine._replace(tree=hotfix)})


@contextlib.contextmanager
def redis(folder: Path) -> Iterator[Stage]:
    """Two machines that share a Redis server."""
    with redis_server(folder / "redis") as port:
        stage = _two_machines(folder, {"DIBS_ENGINE": f"redis://127.0.0.1:{port}/0"})
        shared = f"the Redis server at 127.0.0.1:{port}"
        yield stage._replace(shared=shared, setting='engine = "redis://host:6379/0"')


@contextlib.contextmanager
def postgres(folder: Path) -> Iterator[Stage]:
    """Two machines that share a PostgreSQL database."""
    with postgres_server(folder / "postgres") as (port, password):
        url = f"postgresql://dibs@127.0.0.1:{port}/postgres"
        stage = _two_machines(folder, {"DIBS_ENGINE": url, "PGPASSWORD": password})
        shared = f"the PostgreSQL server at 127.0.0.1:{port}"
        yield stage._replace(shared=shared, setting='engine = "postgresql://user@host/database"')


@contextlib.contextmanager
def on_git(folder: Path) -> Iterator[Stage]:
    """Two machines that share only a git remote."""
    stage = _two_machines(folder, {"DIBS_ENGINE": "git:origin", "DIBS_GIT_POLL": "1s"})
    shared = "their remote, the bare repository shop.git"
    yield stage._replace(shared=shared, setting='engine = "git:origin"')


def _two_machines(folder: Path, engine: dict[str, str]) -> Stage:
    first, origin = folder / "first", folder / "shop.git"
    _make_repository(first)
    git(folder, "clone", "-q", "--bare", str(first), str(origin))
    # Do not leave a process running in the background.
    git(origin, "config", "receive.autogc", "false")
    machines = []
    for name in ("office", "laptop"):
        home = folder / name
        variables = {**own_files(home), **engine}
        git(folder, "clone", "-q", str(origin), str(home / "shop"))
        machines.append(Machine(name, home / "shop", variables))
    store, laptop = machines
    places = dict.fromkeys(("alice", "bob", "carol"), store) | dict.fromkeys(
        ("dave", "erin"), laptop
    )
    return Stage((store, laptop), places, origin=origin)


def own_files(home: Path) -> dict[str, str]:
    """Return variables that keep a machine's commands and its server away from the user's files."""
    home.mkdir(exist_ok=True)
    return {"HOME": str(home)}


def _make_repository(tree: Path) -> None:
    for name in FILES:
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{name}\n", "utf-8")
    git(tree, "init", "-q")
    git(tree, "add", ".")
    git(tree, *AUTHOR, "commit", "-qm", "Begin")
