"""A repository for the table of shell writes, and the judge that runs its commands for real."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import tarfile
import time
import zipfile
from typing import TYPE_CHECKING

from tests.proof.proof_shell_writes import HELD, UNNOTICED, HeldFile
from tests.services.guards import Guarded

from dibs.core.toolcalls.values import EventKind, Word
from dibs.services.state.ledger import Ledger, Query

if TYPE_CHECKING:
    from pathlib import Path

HOLDER, RIVAL = "11111111-a", "22222222-b"
REFUSED, DETECTED, MISSED = "refused", "detected", "missed"
#: The command did not write the file: it is wrong, or its program is not installed.
BROKEN, ABSENT = "broken", "absent"
_TOOLS = (
    "node",
    "perl",
    "vim",
    "sqlite3",
    "make",
    "awk",
    "setsid",
    "script",
    "curl",
    "wget",
    "xxd",
    "ex ",
)
#: Commands whose writes happen after they have ended.
_LATE = {held.fill(line) for held in HELD for line in UNNOTICED.strip().splitlines()}
_OLD, _WORK = "old\n", "old\nhalf done\n"
_WRITER = "import sys\nopen(sys.argv[1], 'a').write('x')\n"
_PROGRAM = '#!/bin/sh\nfor f in "$@"; do :; done\necho x >> "$f"\n'


class ShellWorld:
    """One repository that is built once, and copied for each command that really runs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made = folder / "made"
        self._count = 0
        #: How many commands really ran.
        self.ran = 0
        self._build(Guarded(self._made))
        self._now: Guarded | None = None

    def _build(self, at: Guarded) -> None:
        """Make the files, commits, and stash that the commands of the table need."""
        for held in HELD:
            at.write(held.path, "older\n")
            at.write(f"kit/tree/{held.path}", "copied\n")
        at.write("free.txt", "free\n")
        self._kit(at)
        at.commit()
        at.git("branch", "older")
        for held in HELD:
            at.write(held.path, _OLD)
        at.commit()
        at.git("switch", "-q", "-c", "side")
        for held in HELD:
            at.write(held.path, "new\n")
        at.commit()
        self._patches(at)
        at.git("switch", "-q", "main")
        for held in HELD:
            at.write(held.path, "new\n")
        at.git("stash", "-q")
        shutil.rmtree(f"{at.root}/.git/hooks", ignore_errors=True)

    def _kit(self, at: Guarded) -> None:
        for held in HELD:
            kit = f"kit/{held.path.partition('/')[0]}"
            at.write(f"{kit}.sh", f"echo x > {held.path}\n")
            at.write(f"{kit}.py", f"open({held.path!r}, 'w').write('x')\n")
            at.write(f"{kit}.js", f"require('fs').writeFileSync({held.path!r}, 'x')\n")
            at.write(f"{kit}.mk", f"x:\n\techo x > {held.path}\n")
            at.write(f"{kit}.txt", f"{held.path}\n")
            at.write(f"kit/env-{kit[4:]}", f"echo x > {held.path}\n")
            os.chmod(f"{at.root}/{kit}.sh", 0o755)
            folder, _, name = held.path.partition("/")
            _pack(f"{at.root}/{kit}", f"{at.root}/kit/tree", held.path)
            _pack(f"{at.root}/{kit}-flat", f"{at.root}/kit/tree/{folder}", name)
        for name in ("test", "date", "ls"):
            at.write(f"kit/{name}", _PROGRAM)
            os.chmod(f"{at.root}/kit/{name}", 0o755)
        at.write("kit/writer.py", _WRITER)
        at.write("kit/Makefile", "x:\n\techo x > $(F)\n")
        small = {"hex": "6162", "b64": "YWI=", "x.json": "{}", "x.c": "int main(){}", "one": "1\n"}
        for name, text in {**small, "yes": "y\ny\n"}.items():
            at.write(f"kit/{name}", text)

    def _patches(self, at: Guarded) -> None:
        for held in HELD:
            folder = held.path.partition("/")[0]
            kit = f"{self._made}-kit-{folder}"
            forth = at.git("diff", "main", "side", "--", held.path) + "\n"
            back = at.git("diff", "side", "main", "--", held.path) + "\n"
            mail = at.git("format-patch", "-1", "side", "--stdout", "--", held.path) + "\n"
            flat = forth.replace(f"{folder}/", "")
            bare = forth.replace("a/", "", 1).replace("--- a/", "--- ").replace("+++ b/", "+++ ")
            for ending, text in ((".patch", forth), ("-back.patch", back), (".mbox", mail),
                                 ("-flat.patch", flat), ("-p0.patch", bare)):  # fmt: skip
                with open(kit + ending, "w", encoding="utf-8") as file:
                    file.write(text)

    def fresh(self) -> Guarded:
        """Return a copy of the repository in which one agent holds the files of the table."""
        if self._now is not None:
            return self._now
        self._count += 1
        root = self._folder / f"run{self._count}"
        shutil.copytree(self._made, root, symlinks=True)
        for held in HELD:
            folder = held.path.partition("/")[0]
            for ending in (".patch", "-back.patch", ".mbox", "-flat.patch", "-p0.patch"):
                shutil.copy(f"{self._made}-kit-{folder}{ending}", root / f"kit/{folder}{ending}")
        with open(root / ".git/info/exclude", "a", encoding="utf-8") as file:
            file.write("kit/*.patch\nkit/*.mbox\n")
        for held in HELD:
            (root / held.path).write_text(_OLD)
        found = Guarded(root)
        for session in (HOLDER, RIVAL):
            found.start(session)
        found.edit(HOLDER, HELD[0].path)
        found.write(HELD[0].path, _WORK)
        found.hear(HOLDER, EventKind.AFTER, HELD[0].path, tool="Write")
        found.claim("claude-11111111", *(held.claim for held in HELD[1:]))
        found.git("config", "user.name", "t")
        found.git("config", "user.email", "t@t")
        found.clock.now += 5
        self._now = found
        return found

    def judge(self, command: str, held: HeldFile) -> str:
        """Send a command to the rival's hook, run it if that allows it, and say what happened."""
        at = self.fresh()
        text = command.replace("@R", at.root)
        before = at.shell(RIVAL, text, call="c")
        if before.word == Word.DENY:
            return REFUSED
        was = _state(at.root, held.path)
        self._now = None
        self.ran += 1
        environ = {key: value for key, value in os.environ.items() if not key.startswith("DIBS")}
        subprocess.run(
            ["bash", "-c", text], cwd=at.root, env=environ, timeout=20, check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        at.clock.now += 1
        at.hear(RIVAL, EventKind.AFTER, command=text, tool="Bash", call="c")
        if command in _LATE:
            at.write("kit/go")
            self._await(at, held, was)
        if _state(at.root, held.path) == was:
            absent = [name for name in _TOOLS if name in command and not shutil.which(name)]
            verdict = ABSENT if absent else BROKEN
        else:
            verdict = DETECTED if self._is_reported(at, held) else MISSED
        shutil.rmtree(at.root, ignore_errors=True)
        return verdict

    def _await(self, at: Guarded, held: HeldFile, was: object) -> None:
        """Wait until a process in the background has written the file."""
        until = time.monotonic() + 10
        while _state(at.root, held.path) == was and time.monotonic() < until:
            select.select([], [], [], 0.02)

    def _is_reported(self, at: Guarded, held: HeldFile) -> bool:
        """Return whether the ledger has the write, and the old content was saved or is committed."""
        entries = Ledger(at.store).newest(Query(), 1000)
        found = [
            e for e in entries if e.kind == "foreign_write" and held.path in e.details["paths"]
        ]
        if not found or held.path in found[0].details["lost"]:
            return False
        wanted = _WORK if held is HELD[0] else _OLD
        ref = found[0].details["salvage"]
        place = f"{ref}:{held.path}" if ref else f"HEAD:{held.path}"
        ran = subprocess.run(
            ["git", "-C", at.root, "show", place], capture_output=True, check=False
        )
        return ran.stdout.decode() == wanted


def _pack(archive: str, folder: str, member: str) -> None:
    """Write a tar archive, a compressed one, and a zip archive with one file."""
    for ending, mode in ((".tar", "w"), (".tgz", "w:gz")):
        with tarfile.open(archive + ending, mode) as packed:  # type: ignore[call-overload]
            packed.add(f"{folder}/{member}", member)
    with zipfile.ZipFile(f"{archive}.zip", "w") as zipped:
        zipped.write(f"{folder}/{member}", member)


def _state(root: str, path: str) -> object:
    place = os.path.join(root, path)
    try:
        about = os.lstat(place)
        with open(place, "rb") as file:
            return about.st_mode, file.read()
    except OSError:
        return None
