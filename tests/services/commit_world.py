"""A working tree that several agents share."""

from __future__ import annotations

import os
import subprocess
import weakref

from dibs.core.claims.agents import Caller
from dibs.project.project import open_project
from dibs.services.commits.values import CommitRequest, Committed
from dibs.services.state.sessions import left_in

ALICE, BOB, CAROL = Caller("alice"), Caller("bob"), Caller("carol")
HUMAN = Caller("ann", "human")


class World:
    """One repository with one working tree."""

    def __init__(self, root, *, first=True, engine=""):
        self.root = os.fspath(root)
        os.makedirs(self.root, exist_ok=True)
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.name", "Ann")
        self.git("config", "user.email", "ann@example.org")
        if first:
            self.put("README", "hello\n")
            self.put("src/one.py", "1\n")
            self.put("src/two.py", "2\n")
            self.git("add", ".")
            self.git("commit", "-q", "-m", "first")
        self.project = open_project(
            self.root, {"DIBS_ENGINE": engine, "DIBS_PROJECT": "p"} if engine else {}
        )
        weakref.finalize(self, self.project.close)  # at the end of the test: it has open files

    def git(self, *words, check=True, given=None):
        done = subprocess.run(
            ["git", "-C", self.root, *words], capture_output=True, check=False, input=given
        )
        assert not check or done.returncode == 0, done.stderr
        return os.fsdecode(done.stdout).strip("\n")

    def put(self, path, text):
        whole = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(whole), exist_ok=True)
        kind = "b" if isinstance(text, bytes) else ""
        with open(whole, f"w{kind}", encoding=None if kind else "utf-8") as file:
            file.write(text)

    def read(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8") as file:
            return file.read()

    def remove(self, path):
        os.unlink(os.path.join(self.root, path))

    def claim(self, agent, *texts, **options):
        patterns = [self.project.tree.resolve(text) for text in texts]
        return self.project.claims.claim(agent, patterns, **options)

    def leave(self, agent, path, text):
        """Let an agent claim a file, write it, and release it; return the name of the copy."""
        self.claim(agent, path)
        if text is None:
            self.remove(path)
        else:
            self.put(path, text)
        self.project.holdings.release(agent, [])
        found = [one for one in self.left(path) if one.agent == agent.id]
        return found[-1].salvage if found else ""

    def left(self, path):
        """Return the records of uncommitted content of a file, oldest first."""
        found = self.project.store.look(lambda rows: list(left_in(rows, self.root)))
        return sorted((left for _, left in found if left.path == path), key=lambda one: one.at)

    def commit(self, agent, message="work", *, paths=(), names=(), trial=False, **options):
        patterns = tuple(self.project.tree.resolve(path) for path in paths)
        request = CommitRequest(message, patterns, tuple(names), **options)
        return self.project.commits.commit(agent, request, trial=trial)

    def committed(self, agent, message="work", **options):
        answer = self.commit(agent, message, **options)
        assert isinstance(answer, Committed), answer
        return answer

    def head(self):
        return self.git("rev-parse", "-q", "--verify", "HEAD", check=False)

    def files(self, commit="HEAD"):
        """Return the set of paths that a commit changes."""
        out = self.git("show", "--format=", "--name-only", "--no-renames", "-z", commit)
        return {path for path in out.split("\0") if path}

    def index(self, *but):
        """Return all entries of the shared index with their flags, except for some paths."""
        rows = self.git("ls-files", "--stage", "-v", "-z").split("\0")
        return [row for row in rows if row.partition("\t")[2] not in but]

    def dirty(self):
        out = self.git("status", "--porcelain", "-z", "--no-renames", "-uall")
        return {row for row in out.split("\0") if row}

    def kinds(self):
        return [e.kind for e in self.project.engine.view(lambda txn: list(txn.events()))]

    def ledger(self, kind="commit"):
        events = self.project.engine.view(lambda txn: list(txn.events()))
        return [event for event in events if event.kind == kind]

    def rows(self, prefix):
        return self.project.engine.view(lambda txn: dict(txn.scan((prefix, ""))))
