"""A repository with agents and people, and a judge of what becomes of every line they write.

Each line is unique and names its author. The judge knows who wrote what, and looks for it on disk, in every
object that a ref reaches, and in the saved copies. It uses nothing of Dibs but its output.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from proof_time import age

from dibs.project.project import open_project
from dibs.server.security.identity import TokenScope
from dibs.server.security.tokens import TokenStore

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

GIT = ("git", "-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgSign=false")
FILES = ("a.txt", "b.txt", "src/c.txt", "src/d.txt")
PERSON = "person"
LINE = re.compile(r"^w\d+ by (\S+)$", re.MULTILINE)
SESSION = Path(__file__).with_name("proof_session.py")


class Agent:
    """A guarded session in one working tree, and what it knows of the files."""

    def __init__(self, world: World, name: str, tree: Path) -> None:
        self.world, self.tree, self.session = world, tree, name
        self.process = subprocess.Popen(
            [sys.executable, str(SESSION)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=world.environ, cwd=tree, text=True,
        )  # fmt: skip
        #: Everything that Dibs told it.
        self.heard: list[str] = []
        #: The content of each file as it last read or wrote it.
        self.known: dict[str, str] = {}
        self.id = f"claude-{name}"
        self.hook("SessionStart", source="startup")

    def _do(self, *what: object) -> tuple[int, str]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()
        status, said = json.loads(self.process.stdout.readline())
        self.heard.append(said)
        return status, said

    def hook(self, event: str, **fields: object) -> bool:
        """Send an event; return whether the tool may run."""
        payload = {
            "session_id": self.session, "cwd": str(self.tree), "hook_event_name": event,
            "tool_response": {}, **fields,
        }  # fmt: skip
        status, said = self._do("hook", payload)
        assert status == 0, said
        return '"deny"' not in said

    def tool(self, name: str, given: dict[str, str], **fields: object) -> dict[str, object]:
        """Return the fields of a tool call."""
        self.world.calls += 1
        call = f"t{self.world.calls}"
        return {"tool_name": name, "tool_input": given, "tool_use_id": call, **fields}

    def dibs(self, *words: str) -> tuple[int, str]:
        """Run a command as the agent."""
        return self._do("dibs", list(words), str(self.tree))

    def said(self) -> str:
        """Return everything that Dibs told it so far."""
        return "\n".join(self.heard)

    def read(self, path: str) -> None:
        """Read a file."""
        call = self.tool("Read", {"file_path": str(self.tree / path)})
        if self.hook("PreToolUse", **call):
            self.known[path] = self.world.content(self.tree, path)
            self.hook("PostToolUse", **call)

    def edit(self, path: str, **fields: object) -> bool:
        """Append a line with the edit tool, which works on the file as it is."""
        return self._write("Edit", path, lambda: self.world.content(self.tree, path), fields)

    def rewrite(self, path: str, **fields: object) -> bool:
        """Write the whole file from memory, with one more line."""
        if path not in self.known:
            self.read(path)
        return self._write("Write", path, lambda: self.known.get(path, ""), fields)

    def _write(self, tool: str, path: str, base, fields: dict[str, object]) -> bool:
        call = self.tool(tool, {"file_path": str(self.tree / path)}, **fields)
        if not self.hook("PreToolUse", **call):
            return False
        self.known[path] = base() + self.world.line(self.id, self.tree, path)
        self.world.write(self.tree, path, self.known[path])
        self.hook("PostToolUse", **call)
        return True

    def shell(self, command: str) -> bool:
        """Run a command if the hook allows it."""
        call = self.tool("Bash", {"command": command})
        if not self.hook("PreToolUse", **call):
            return False
        self._do("sh", command, str(self.tree))
        self.hook("PostToolUse", **call)
        return True

    def commit(self) -> tuple[int, str]:
        """Commit; after a refusal because of others' lines, put landed ones back and include the rest."""
        status, said = self.dibs("commit", "-m", "step")
        if status and "undo" in said:
            for path in FILES:
                head = self.world.git("show", f"HEAD:{path}", cwd=self.tree, ok=True)
                now = self.world.content(self.tree, path)
                if path in said and (missing := set(head.splitlines()) - set(now.splitlines())):
                    self.known[path] = "".join(f"{line}\n" for line in sorted(missing)) + now
                    self.world.write(self.tree, path, self.known[path])
            status, said = self.dibs("commit", "-m", "step")
        if status and "--inherited" in said:
            status, said = self.dibs("commit", "--inherited", "-m", "step")
        return status, said

    def end_turn(self) -> None:
        """End the turn; the process goes on."""
        self.hook("Stop", stop_hook_active=False)

    def leave(self) -> None:
        """End the session and the process."""
        self.hook("SessionEnd", reason="exit")
        self.kill()

    def kill(self) -> None:
        """Kill the process."""
        self.process.kill()
        self.process.communicate()


class World:
    """One project: a repository, its other trees or clones, and the judge."""

    def __init__(self, folder: Path, engine: str, *, home: Path) -> None:
        self.folder, self.root = folder, folder / "repo"
        self.calls = self.lines = 0
        #: The author of each line, its tree and path, and the lines that their author took out on purpose.
        self.wrote: dict[str, str] = {}
        self.places: dict[str, tuple[Path, str]] = {}
        self.dropped: set[str] = set()
        self.clones: list[Path] = [self.root]
        self.trees: list[Path] = [self.root]
        home.mkdir(exist_ok=True)
        (home / ".gitconfig").write_text("[user]\n\tname = t\n\temail = t@t\n")
        self.environ = {
            "PATH": os.environ["PATH"], "HOME": str(home), "XDG_STATE_HOME": str(home / "state"),
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "LC_ALL": "C.UTF-8",
        }  # fmt: skip
        self.root.mkdir(parents=True)
        self.git("init", "-q", "-b", "main")
        for path in FILES:
            self.write(self.root, path, "first\n")
        self.write(self.root, "dibs.toml", f'engine = "{engine}"\nproject = "proof"\n')
        self.write(self.root, ".gitignore", "*.log\nbuild/\n.env\n")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "first")
        self.dibs("init", "--yes")

    # -- people

    def git(self, *words: str, cwd: Path | None = None, ok: bool = False) -> str:
        """Run git as a person."""
        done = subprocess.run(
            [*GIT, *words], cwd=cwd or self.root, env=self.environ, capture_output=True, check=False,
        )  # fmt: skip
        assert ok or not done.returncode, done.stderr
        return done.stdout.decode("utf-8", "replace") if not done.returncode else ""

    def dibs(self, *words: str, cwd: Path | None = None) -> tuple[int, str]:
        """Run Dibs as a person, whom a token proves: there is no terminal."""
        token, _ = TokenStore(self.environ["XDG_STATE_HOME"] + "/dibs/server").new(TokenScope.HUMAN)
        done = subprocess.run(
            [sys.executable, "-m", "dibs", *words], cwd=cwd or self.root,
            env={**self.environ, "DIBS_TOKEN": token}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout + done.stderr

    def line(self, author: str, tree: Path, path: str) -> str:
        """Return a new line of an author in a file."""
        self.lines += 1
        text = f"w{self.lines} by {author}"
        self.wrote[text] = author
        self.places[text] = (tree, path)
        return f"{text}\n"

    def content(self, tree: Path, path: str) -> str:
        """Return a file's content; empty without a file."""
        try:
            return (tree / path).read_text()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return ""

    def write(self, tree: Path, path: str, text: str) -> None:
        """Write a file."""
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text)

    def person_writes(self, tree: Path, path: str) -> str:
        """Append a line with an editor; return it."""
        text = self.line(PERSON, tree, path)
        self.write(tree, path, self.content(tree, path) + text)
        return text.strip()

    # -- time, without waiting for it

    def pass_time(self, seconds: float) -> None:
        """Make everything that the store knows older."""
        opened = open_project(str(self.root), {**self.environ, "PWD": str(self.root)})
        try:
            opened.store.engine.transact(lambda txn: age(txn, seconds))
        finally:
            opened.close()

    # -- the judge

    def kept_in(self, clone: Path) -> set[str]:
        """Return the lines that refs, the index, and saved copies of a clone have."""
        objects = self.git(
            "rev-list", "--objects", "--all", "--reflog", "--indexed-objects", cwd=clone
        )
        names = "\n".join(line.split()[0] for line in objects.splitlines())
        done = subprocess.run(
            [*GIT, "cat-file", "--batch"], cwd=clone, env=self.environ, input=names.encode(),
            capture_output=True, check=True,
        )  # fmt: skip
        found = _lines(done.stdout.decode("utf-8", "replace"))
        for file in (clone / ".git" / "dibs" / "salvage").rglob("*"):
            if file.is_file():
                found |= _lines(file.read_text("utf-8", "replace"))
        return found

    def lost(self) -> list[str]:
        """Return the lines that are nowhere any more, though their author did not remove them."""
        there: set[str] = set()
        for tree in self.trees:
            for file in tree.rglob("*"):
                if file.is_file() and ".git" not in file.relative_to(tree).parts:
                    there |= _lines(file.read_text("utf-8", "replace"))
        for clone in self.clones:
            there |= self.kept_in(clone)
        return sorted(set(self.wrote) - there - self.dropped)

    def displaced(self) -> dict[str, set[str]]:
        """Return the files in which an author's line is neither on disk nor on a branch, by author."""
        found: dict[str, set[str]] = {}
        for line, (tree, path) in self.places.items():
            if line in self.dropped or line in _lines(self.content(tree, path)):
                continue
            if line not in _lines(
                self.git("log", "--branches", "-p", "--format=", cwd=tree).replace("+w", "w")
            ):
                found.setdefault(self.wrote[line], set()).add(path)
        return found

    def own_discard(self, author: str, before: Iterable[str], after: Iterable[str]) -> None:
        """Note what an author removed from its own work."""
        gone = set(before) - set(after)
        self.dropped |= {line for line in gone if self.wrote.get(line) == author}

    def _agents_commits(self) -> Iterator[tuple[str, str, set[str], set[str]]]:
        """Yield agent, message, and the added and removed lines of each agent's commit."""
        for clone in self.clones:
            log = self.git(
                "log", "--branches", "--no-merges", "--format=%x00%B%x01", "-p", cwd=clone
            )
            for entry in log.split("\0")[1:]:
                message, _, patch = entry.partition("\x01")
                by = re.search(r"^Dibs-Agent: (\S+)$", message, re.MULTILINE)
                if by is not None:
                    yield by.group(1), message, _signed(patch, "+"), _signed(patch, "-")

    def misattributed(self) -> list[str]:
        """Return the lines in agents' commits that another agent wrote and no trailer names."""
        return [
            f"{line} in a commit of {agent}"
            for agent, message, added, _ in self._agents_commits()
            for line in added
            if self.wrote[line] not in {agent, PERSON} and self.wrote[line] not in message
        ]

    def undone(self) -> list[str]:
        """Return the lines that an agent's commit removed although another author had landed them."""
        return [
            f"{line} by a commit of {agent}"
            for agent, _, added, removed in self._agents_commits()
            for line in removed - added
            if self.wrote[line] != agent
        ]


def _signed(patch: str, sign: str) -> set[str]:
    """Return the lines that a patch adds or removes."""
    return _lines("\n".join(line[1:] for line in patch.splitlines() if line.startswith(sign)))


def _lines(text: str) -> set[str]:
    return {found.group(0) for found in LINE.finditer(text)}
