"""A bare repository that shell agents and Dibs agents share, and how each of them uses it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tests.services.queues import LockedQueue

from dibs.config.load import Config
from dibs.engines.sqlite.engine import SqliteEngine
from dibs.local.repository import find
from dibs.project.remotes import queue_remote
from dibs.services.state.store import Store
from dibs.services.tasks.lock_queue.service import LockQueue

SCRIPT = Path(__file__).parent.parent / "data" / "claim-task.sh"

#: A Dibs agent as a process: take tasks until none is left, and print a line for each.
AGENT = """
import sys, time
from tests.interop.shared import dibs_queue
from dibs.core.claims.agents import Caller
from dibs.services.tasks.values import TakenTask

clone, state, agent = sys.argv[1:]
queue = dibs_queue(clone, state)
sys.stdin.readline()
while isinstance(answer := queue.take(Caller(agent)), TakenTask):
    print(answer.stored.id, flush=True)
    time.sleep(0.5)  # work on it; else no script is ever fast enough
"""


class Ran(NamedTuple):
    """The result of a script."""

    status: int
    out: str
    claimed: str


def dibs_queue(clone, state, *, connect=queue_remote, **options):
    """Open the queue on the branch that shell agents use, from a clone with its own store."""
    os.makedirs(state, exist_ok=True)
    store = Store(SqliteEngine(f"{state}/state.db"), Config())
    return LockedQueue(store, LockQueue(find(str(clone), {}), connect, **options))


class Shared:
    """One bare repository; each machine is a folder next to the repository."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bare = folder / "shared.git"
        self.queues = []
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "GIT_CONFIG_NOSYSTEM": "1",
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            **{
                f"GIT_{who}_{what}": value
                for who in ("AUTHOR", "COMMITTER")
                for what, value in (("NAME", "shell"), ("EMAIL", "shell@example.org"))
            },
        }
        self.git("init", "-q", "--bare", "-b", "main", str(self.bare), at=folder)
        first = self.clone("first")
        self.git("switch", "-q", "-c", "main", at=first, check=False)
        self.commit(first, {"current_tasks/.gitkeep": "", "README.md": "code\n"})

    def git(self, *words, at, check=True):
        done = subprocess.run(
            ["git", *words], cwd=at, env=self.environ, check=check, capture_output=True, text=True
        )
        return done.stdout

    def clone(self, name):
        place = self.folder / name
        self.git("clone", "-q", str(self.bare), str(place), at=self.folder)
        return place

    def clone_once(self, name):
        return self.folder / name if (self.folder / name).exists() else self.clone(name)

    def commit(self, clone, files):
        """Push a commit with ``files``, retrying if other commits arrive."""
        self.git("pull", "-q", "--rebase", "--autostash", at=clone, check=False)
        for path, text in files.items():
            (clone / path).parent.mkdir(parents=True, exist_ok=True)
            (clone / path).write_text(text)
        self.git("add", "-A", at=clone)
        self.git("commit", "-q", "-m", "some work", at=clone)
        for _ in range(50):
            push = ["git", "push", "-q", "origin", "HEAD:main"]
            done = subprocess.run(
                push, cwd=clone, env=self.environ, check=False, capture_output=True
            )
            if done.returncode == 0:
                return
            self.git("pull", "-q", "--rebase", "origin", "main", at=clone)
        raise AssertionError("others were always faster")

    def put_tasks(self, *names):
        self.commit(
            self.folder / "first", {f"tasks/pending/{n}.yml": f"title: {n}\n" for n in names}
        )

    def clear_tasks(self):
        """Remove all tasks and locks from the branch, as a person does between runs."""
        first = self.folder / "first"
        self.git("pull", "-q", "--rebase", at=first)
        for path in [*first.glob("tasks/pending/*"), *first.glob("current_tasks/*.lock")]:
            path.unlink()
        self.commit(first, {})

    def script(self, clone, agent):
        """Run the lock script to its end."""
        process = self.start_script(clone, agent)
        return self.ended(process)

    def start_script(self, clone, agent):
        environ = {**self.environ, "AGENT_ID": agent, "REPO": str(clone)}
        return subprocess.Popen(
            ["bash", str(SCRIPT)], env=environ, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True,
        )  # fmt: skip

    def ended(self, process):
        out = process.communicate(timeout=120)[0]
        said = [line.removeprefix("Claimed ") for line in out.splitlines() if "Claimed " in line]
        return Ran(process.returncode, out, said[-1] if said else "")

    def clean(self, clone):
        """Repair a clone that the script left in the middle of an operation."""
        self.git("rebase", "--abort", at=clone, check=False)
        self.git("fetch", "-q", at=clone)
        self.git("reset", "-q", "--hard", "origin/main", at=clone)

    def start_dibs(self, machine, agent):
        clone = self.clone_once(machine)
        argv = [sys.executable, "-c", AGENT, str(clone), f"{clone}-state", agent]
        return subprocess.Popen(
            argv, env=self.environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def queue(self, machine, **options):
        """Open the queue in this process, as a separate machine."""
        clone = self.clone_once(machine)
        queue = dibs_queue(clone, f"{clone}-state", **options)
        self.queues.append(queue)
        return queue

    def files(self):
        """Return the files on the branch, by path."""
        listed = self.git("ls-tree", "-r", "-z", "--name-only", "main", at=self.bare)
        return [path for path in listed.split("\0") if path]

    def show(self, path):
        return self.git("cat-file", "blob", f"main:{path}", at=self.bare)

    def subjects(self):
        return self.git("log", "--format=%B", "main", at=self.bare)

    def close(self):
        for queue in self.queues:
            queue._store.engine.close()
        shutil.rmtree(self.folder / "first", ignore_errors=True)
