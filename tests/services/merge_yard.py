"""A repository with agents in their own worktrees, for tests of the merge queue."""

from __future__ import annotations

import os
import subprocess

from dibs.core.claims.agents import Caller
from dibs.project.project import open_project
from dibs.services.commits.values import CommitRequest as Commit
from dibs.services.merging.values import MergeRequest
from dibs.services.state.ledger import Query

HUMAN = Caller("hana", "human")


def git(tree, *words, check=True, given=None):
    done = subprocess.run(
        ["git", "-C", tree, *words], capture_output=True, text=True, check=False, input=given
    )
    assert not check or done.returncode == 0, done.stderr
    return done.stdout.strip()


def put(tree, path, text):
    file = tree / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


class Yard:
    """One clone: the main working tree, a worktree for each agent, and the open project."""

    def __init__(self, folder, **files):
        self.folder = folder
        self.main = folder / "main"
        self.main.mkdir(parents=True)
        git(self.main, "init", "-q", "-b", "main")
        git(self.main, "config", "user.name", "Ann")
        git(self.main, "config", "user.email", "ann@example.org")
        for path, text in (files or {"a.txt": "a\n", "b.txt": "b\n"}).items():
            put(self.main, path, text)
        git(self.main, "add", ".")
        git(self.main, "commit", "-q", "-m", "first")
        self._project = None

    @property
    def project(self):
        if self._project is None:
            self._project = open_project(str(self.main), environ={})
        return self._project

    def close(self):
        if self._project is not None:
            self._project.close()
            self._project = None

    def configure(self, text):
        put(self.main, "dibs.toml", text)
        git(self.main, "add", "dibs.toml")
        git(self.main, "commit", "-q", "-m", "settings")
        self.close()

    def worktree(self, agent):
        tree = self.folder / agent
        if not tree.exists():
            git(self.main, "worktree", "add", "-q", "--no-track", "-b", f"agent/{agent}", tree)
        return tree

    def claim(self, agent, *patterns, **options):
        found = [self.project.pattern(text) for text in patterns]
        return self.project.claims.claim(Caller(agent), found, **options)

    def release(self, agent, *patterns):
        found = [self.project.pattern(text) for text in patterns]
        return self.project.holdings.release(Caller(agent), found)

    def work(self, agent, files, *, claim=True, message="work"):
        """Let an agent change files in its worktree and commit them with plain git."""
        tree = self.worktree(agent)
        if claim:
            self.claim(agent, *files)
        for path, text in files.items():
            if text is None:
                (tree / path).unlink()
            else:
                put(tree, path, text)
        git(tree, "add", "-A")
        git(tree, "commit", "-q", "-m", message)
        return git(tree, "rev-parse", "HEAD")

    def commit(self, agent, files, message="work"):
        """Let an agent change files in its worktree, commit them with Dibs, and release its claims."""
        tree = self.worktree(agent)
        self.claim(agent, *files)
        for path, text in files.items():
            put(tree, path, text)
        project = open_project(str(tree), environ={})
        try:
            done = project.commits.commit(Caller(agent), Commit(message, release=True))
        finally:
            project.close()
        assert done.commit, done
        return done.commit

    def merge(self, agent="", *branches, tree=None, told=None, **wish):
        caller = Caller(agent) if agent else HUMAN
        names = branches or ((f"agent/{agent}",) if agent and not wish.get("all") else ())
        lines = [] if told is None else told
        return self.project.merges.merge(
            caller, MergeRequest(branches=tuple(names), **{"wait": 0, **wish}), lines.append
        )

    def ends(self, report):
        return {verdict.branch: verdict.end for verdict in report.verdicts}

    def tip(self, ref="main"):
        return git(self.main, "rev-parse", ref)

    def read(self, path):
        return (self.main / path).read_text()

    def entries(self, *kinds):
        return self.project.ledger.newest(Query(kinds=frozenset(kinds)), 1000)

    def state(self):
        """Return the bytes and timestamps of the index and of each file in the main working tree."""
        found = {}
        for place, folders, names in os.walk(self.main):
            if ".git" in folders:
                folders.remove(".git")
            for name in names:
                path = os.path.join(place, name)
                with open(path, "rb") as file:
                    found[path] = (file.read(), os.lstat(path).st_mtime_ns)
        index = self.main / ".git" / "index"
        found["index"] = (index.read_bytes(), index.stat().st_mtime_ns)
        return found
