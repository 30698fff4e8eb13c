"""A real git repository with the worktree services on a memory engine and a manual clock."""

import os
import subprocess

from tests.services.wired import wired

from dibs.config.load import Config
from dibs.core.claims.agents import Caller
from dibs.engines.memory import MemoryEngine
from dibs.git.calls import GitCalls
from dibs.local.repository import find
from dibs.services.claims.agents import Agents
from dibs.services.salvage.entries import Salvage
from dibs.services.salvage.private import unpacked
from dibs.services.state.ledger import Ledger, Query
from dibs.services.worktrees.service import WorktreeRequest, Worktrees
from dibs.testing import ManualClock

HUMAN = Caller("hugo", "human", "here")


def git(tree, *arguments, check=True):
    names = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "protocol.file.allow=always"]
    done = subprocess.run(["git", *names, *arguments], cwd=tree, check=check, capture_output=True)
    return done.stdout.decode("utf-8", "surrogateescape").strip()


def make_repository(root):
    root.mkdir(parents=True)
    git(root, "init", "-q", "-b", "main")
    (root / ".gitignore").write_text(".env\nbuild/\nnode_modules/\n*.big\n")
    (root / "a").write_text("a\n")
    (root / "b").write_text("b\n")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "first")
    return root


class Clone:
    """One clone: its folder, its worktrees, and shortcuts for tests."""

    def __init__(self, root, engine=None, **settings):
        self.root = root if root.exists() else make_repository(root)
        self.clock = ManualClock(1_000_000.0)
        self.engine = engine or MemoryEngine(self.clock)
        self.store = wired(self.engine, Config(**settings))
        self.worktrees = Worktrees(self.store, find(str(self.root), {}))
        self.salvage = Salvage(lambda: GitCalls(str(self.root)))
        self.agents = Agents(self.store)

    def new(self, agent, caller=HUMAN, setup="", **wanted):
        return self.worktrees.new(caller, WorktreeRequest(agent, **wanted), setup=setup)

    def folder(self, agent="alice", **wanted):
        from pathlib import Path

        return Path(self.new(agent, **wanted).row.path)

    def rm(self, agent="alice", caller=HUMAN, **options):
        if options.get("force"):
            options.setdefault("reason", "a test")
        return self.worktrees.remove(caller, str(agent), **options)

    def branches(self):
        return git(self.root, "branch", "--format=%(refname:short)").split()

    def known(self):
        out = git(self.root, "worktree", "list", "--porcelain").splitlines()
        return [line.removeprefix("worktree ") for line in out if line.startswith("worktree ")]

    def saved(self, name, path):
        return git(self.root, "cat-file", "blob", f"refs/salvage/{name}:{path}")

    def ignored(self, name):
        """Return the saved ignored files of an entry, by path."""
        entry = self.salvage.show(name).ignored
        return {f.path: b"".join(unpacked(entry.copy_of(f.path))).decode() for f in entry.files}

    def kinds(self):
        return [entry.kind for entry in Ledger(self.store).newest(Query(), 1000)]


def everything(folder):
    """Return the contents of a folder by path, except for git's files."""
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            if name != ".git":
                with open(path, "rb") as file:
                    found[os.path.relpath(path, folder)] = file.read()
    return found
