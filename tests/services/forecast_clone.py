"""A repository with agents' worktrees, and its forecasts."""

import os
import subprocess

from tests.services.wired import wired

from dibs.config.load import Config
from dibs.core.claims.agents import Caller
from dibs.core.claims.ledger import Kind
from dibs.engines.memory import MemoryEngine
from dibs.local.repository import find
from dibs.services.forecast.service import Forecasts
from dibs.services.state.ledger import Ledger, Query

LINES = "".join(f"line {number}\n" for number in range(1, 31))


def git(folder, *words):
    who = {f"GIT_{w}_{n}": "crew" for w in ("AUTHOR", "COMMITTER") for n in ("NAME", "EMAIL")}
    allowed = ["-c", "protocol.file.allow=always"]
    done = subprocess.run(
        ["git", *allowed, *words], cwd=folder, env={**os.environ, **who}, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    return done.stdout.strip()


class Clone:
    """A repository with agents' worktrees, and its forecasts."""

    def __init__(self, root):
        self.root = root
        root.mkdir(parents=True)
        git(root, "init", "-q", "-b", "main")
        for name in ("a.txt", "b.txt", "lib/c.txt"):
            (root / name).parent.mkdir(exist_ok=True)
            (root / name).write_text(LINES)
        self.commit(root)
        self.store = wired(MemoryEngine(), Config())
        os.mkdir(
            find(str(root), {}).state
        )  # a forecast creates nothing in a repository without Dibs

    def tree(self, agent):
        path = self.root.parent / agent
        if not path.exists():
            git(self.root, "worktree", "add", "-q", "-b", f"agent/{agent}", str(path))
        return path

    def edit(self, agent, name="a.txt", line=5, text="edited"):
        path = self.tree(agent) / name
        path.write_text(path.read_text().replace(f"line {line}\n", f"{text} by {agent}\n"))
        return path

    def commit(self, folder):
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", "work")

    @property
    def forecasts(self):
        return Forecasts(self.store, find(str(self.root), {}))

    def look(self, *names, base=""):
        return self.forecasts.once(names, base)

    def kinds(self):
        return {pair.names: [(c.path, c.kind) for c in pair.clashes] for pair in self.look().pairs}

    def warn(self):
        return self.forecasts.warn(Caller("carol"), self.look())

    def told(self):
        query = Query(kinds=frozenset([Kind.CONFLICT_FORECAST]))
        return [entry.details for entry in Ledger(self.store).newest(query, 50)]
