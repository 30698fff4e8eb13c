"""A working tree with a person's uncommitted changes of every kind, and commands that an agent may run in it.

After each command, every byte of the person's work must be on disk or in a salvage entry, and the agent must
know.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
from typing import TYPE_CHECKING, NamedTuple

from dibs.guard.agents.program import answer
from dibs.project.project import create, open_project

if TYPE_CHECKING:
    from pathlib import Path

GIT = ("git", "-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgSign=false")
#: Files as the last commit has them.
COMMITTED = {
    "src/mod.py": "mod 1\n", "src/staged.py": "staged 1\n", "src/both.py": "both 1\n",
    "src/clean.py": "clean 1\n", "deep/er/sub.py": "sub 1\n", "gone.py": "gone 1\n",
    "old.py": "renamed\nwith\nsome\nlines\n", "tool.sh": "#!/bin/sh\n", "crlf.txt": "one\r\n",
    "with space.txt": "space 1\n", "notes.md": "notes 1\n",
    ".gitignore": ".env\nnode_modules/\n*.log\nlocal.*\n",
    "work.sh": "git checkout -q -- src\n", "del.py": "import os\nos.remove('new.txt')\n",
    "wipe.py": "open('src/mod.py', 'w').write('')\nopen('.env', 'w').write('')\n",
    "Makefile": "fmt:\n\tsed -i s/mod/MOD/ src/*.py\nclean:\n\tgit clean -fdxq\n",
}  # fmt: skip
#: What the person has on disk: changed, new, and ignored files.
CHANGED = {
    "src/mod.py": "mod 2, by a person\n", "src/staged.py": "staged 2, by a person\n",
    "src/both.py": "both 3, by a person\n", "deep/er/sub.py": "sub 2, by a person\n",
    "crlf.txt": "one\r\ntwo, by a person\r\n", "with space.txt": "space 2, by a person\n",
    "new.txt": "new, by a person\n", "newdir/n/new.txt": "new in a folder, by a person\n",
    "src/new.py": "new next to others, by a person\n", "added.py": "added, by a person\n",
    ".env": "SECRET=by a person\n", "deep/local.cfg": "ignored, by a person\n",
    "new.py": "renamed\nwith\nsome\nlines\nand one by a person\n",
}  # fmt: skip
STAGED = {"src/both.py": "both 2, by a person\n"}


class Run(NamedTuple):
    """One call of the agent: a tool with its input, or a shell command, in a folder of the tree."""

    command: str = ""
    tool: str = ""
    path: str = ""
    cwd: str = ""
    #: Whether it takes something of the person's away, so that the agent must know.
    takes: bool = True


def tool(name: str, path: str) -> Run:
    """Return a call of an edit tool."""
    return Run(tool=name, path=path)


def harmless(command: str, cwd: str = "") -> Run:
    """Return a command that takes nothing away."""
    return Run(command, cwd=cwd, takes=False)


RUNS = (
    # git
    Run("git reset --hard"), Run("git reset -q --hard HEAD"), Run("git reset --hard older"),
    Run("git checkout ."), Run("git checkout -- src/mod.py"),
    Run("git checkout src/mod.py"), Run("git checkout HEAD -- src"), Run("git checkout -f"),
    Run("git checkout -f older"), Run("git checkout older -- src/mod.py"), Run("git checkout -- ."),
    Run("git switch -f older"), Run("git switch --discard-changes older"),
    Run("git restore src/mod.py"), Run("git restore ."), Run("git restore -s older -SW ."),
    Run("git restore --staged --worktree ."), Run("git clean -fd"), Run("git clean -fdx"),
    Run("git clean -fdX"), Run("git clean -fd newdir"), Run("git clean -f -- new.txt"),
    Run("git stash"), Run("git stash -u"), Run("git stash push -a -m x"),
    Run("git stash push src/mod.py"), Run("git stash -- deep"), Run("git stash && git stash drop"),
    Run("git stash -u && git stash clear"), Run("git rm -f src/staged.py"), Run("git rm -rfq src"),
    Run("git mv -f src/clean.py src/mod.py"), Run("git read-tree -u --reset older"),
    Run("git checkout-index -a -f"), Run("git reset -q && git checkout ."),
    Run("git add -A && git reset -q --hard"), Run("git stash -q; git gc -q --prune=now"),
    Run("git checkout . && git gc -q --prune=now"), Run("git checkout HEAD -- src; git gc -q --prune=now"),
    Run("git stash drop"), Run("git stash clear"),
    Run("git branch -D feature"), Run("git worktree remove --force ../tree"),
    Run("git checkout er", cwd="deep"), Run("git checkout .", cwd="deep"),
    Run("git restore :/", cwd="deep"), Run("git clean -fd ..", cwd="src"),
    Run("git -C deep checkout ."), Run("cd deep && git checkout ."),
    Run("git --work-tree=. checkout -f HEAD"), Run("git apply -R person.patch"),
    # files
    Run("rm src/mod.py"), Run("rm -f .env"), Run("rm -rf newdir src"), Run("rm new.txt added.py"),
    Run("rm -- *.txt"), Run("mv src/clean.py src/mod.py"), Run("cp src/clean.py new.txt"),
    Run("echo x > src/mod.py"), Run("echo x >> src/mod.py"),
    Run("echo X=1 > .env"), Run("cat src/clean.py > 'with space.txt'"), Run(": > new.txt"),
    Run("sed -i s/mod/MOD/ src/mod.py"), Run("perl -pi -e s/sub/SUB/ sub.py", cwd="deep/er"),
    Run("truncate -s 0 new.txt"), Run("tee src/mod.py < src/clean.py > /dev/null"),
    Run("ln -sf /etc/hosts new.txt"), Run("find . -name new.txt -delete"),
    Run("find newdir -type f -exec rm {} +"), Run("unlink new.txt"), Run("shred -u new.txt"),
    Run("git diff --output=new.txt"), Run("bash -c 'rm src/mod.py'"), Run("rm -rf ../deep", cwd="src"),
    Run("dd if=/dev/null of=src/mod.py 2>/dev/null"), Run("rm link.py"),
    Run("truncate -s 0 ../crlf.txt", cwd="src"),
    # programs
    Run("sh work.sh"), Run("python3 del.py"), Run("python3 wipe.py"), Run("make -s fmt"),
    Run("make -s clean"),
    Run("python3 -c \"open('src/mod.py', 'w').write('x')\""), Run("G=git; $G checkout -q ."),
    Run("python3 -c 'import shutil; shutil.rmtree(\"newdir\")'"),
    Run('sh -c "$(cat work.sh); git gc -q --prune=now"'),
    # tools
    tool("Write", "src/mod.py"), tool("Edit", "src/mod.py"), tool("Write", "new.txt"),
    tool("Edit", "src/staged.py"), tool("Write", ".env"), tool("Write", "deep/er/sub.py"),
    tool("Edit", "src/both.py"),
    # what takes nothing away
    harmless("ls -la && git status && git diff"), Run("git commit -qam all"),
    harmless("git add src/mod.py && git commit -qm x"), harmless("cat src/mod.py > copy.txt"),
    harmless("echo x >> src/clean.py"), harmless("git fetch -q . && git log -1"), harmless("python3 -c pass"),
    Run("git add -A && git commit -qm all"), harmless("mkdir -p build && echo x > build/y"),
    harmless("rm -rf node_modules"), harmless("echo x > build.log", cwd="src"),
)  # fmt: skip


def content(path: str) -> bytes:
    """Return the bytes of a file, or the target of a link."""
    if os.path.islink(path):
        return os.fsencode(os.readlink(path))
    with open(path, "rb") as file:
        return file.read()


class Lair:
    """A repository with a person's uncommitted changes and one guarded agent."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.root = folder, folder / "repo"
        self.root.mkdir(parents=True)
        self.git("init", "-q", "-b", "main")
        for path, text in COMMITTED.items():
            self.write(path, text.replace("mod 1", "mod 0"))
        os.symlink("src/clean.py", self.root / "link.py")
        self.write("dibs.toml", "")  # a command that would delete it is blocked
        self.commit("first")
        self.git("branch", "older")
        for path, text in COMMITTED.items():
            self.write(path, text)
        self.commit("second")
        self.git("switch", "-q", "-c", "feature")
        self.write("feature.py", "a person's branch\n")
        self.commit("a person's feature")
        self.git("switch", "-q", "main")
        self.git("worktree", "add", "-q", str(folder / "tree"))
        (self.folder / "tree/src/mod.py").write_text("in a worktree, by a person\n")
        self.write("notes.md", "stashed, by a person\n")
        self.git("stash", "-q")
        (self.root / ".git/info/exclude").write_text("/person.patch\n")
        opened, _ = create(str(self.root))
        opened.close()

    def git(self, *words: str, cwd: Path | None = None) -> str:
        done = subprocess.run([*GIT, *words], cwd=cwd or self.root, check=True, capture_output=True)
        return done.stdout.decode()

    def write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_bytes(text.encode())

    def commit(self, message: str) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)

    def person_works(self) -> None:
        """Change the tree in every way a person may."""
        self.git("mv", "old.py", "new.py")
        for path in ("src/both.py", "src/staged.py", "added.py"):
            self.write(path, STAGED.get(path, CHANGED[path]))
            self.git("add", path)
        for path, text in CHANGED.items():
            self.write(path, text)
        (self.root / "gone.py").unlink()
        (self.root / "tool.sh").chmod(0o755)
        (self.root / "link.py").unlink()
        os.symlink("src/mod.py", self.root / "link.py")
        self.write("node_modules/dep/index.js", "generated\n")
        (self.root / "person.patch").write_text(self.git("diff", "--", "src/mod.py"))

    # -- the agent

    def hook(self, event: str, name: str, given: dict[str, object], cwd: str, session: str) -> str:
        """Send an event to the agent's hook; return its reply."""
        payload = {
            "session_id": session, "cwd": os.path.join(self.root, cwd), "hook_event_name": event,
            "tool_name": name, "tool_input": given, "tool_use_id": "t1", "tool_response": {},
        }  # fmt: skip
        said, confirm = answer(
            ("claude",), json.dumps(payload).encode(), dict(os.environ), str(self.root), os.getpid()
        )
        if confirm is not None:
            confirm()
        assert said.status == 0, said.stderr
        return said.stdout

    def run(self, call: Run, session: str = "agent") -> tuple[str, str]:
        """Let the agent make a call; return what it read before and after it. A blocked call does not run."""
        name, given = "Bash", {"command": call.command}
        if call.tool:
            full = str(self.root / call.path)
            name, given = call.tool, {"file_path": full, "content": "x", "new_string": "x"}
        before = self.hook("PreToolUse", name, given, call.cwd, session)
        if '"deny"' in before:
            return before, ""
        if call.tool:
            old = (self.root / call.path).read_text() if call.tool == "Edit" else ""
            self.write(call.path, f"{old}x\n")
        else:
            subprocess.run(
                ["bash", "-c", call.command], cwd=self.root / call.cwd, check=False, capture_output=True,
                env={**os.environ, "GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@t",
                     "GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t@t"},
            )  # fmt: skip
        return before, self.hook("PostToolUse", name, given, call.cwd, session)

    # -- what became of the person's work

    def missing(self) -> dict[str, bytes]:
        """Return the person's content that is no longer on disk."""
        wanted = {path: text.encode() for path, text in CHANGED.items()}
        found = {path: text for path, text in wanted.items() if self.on_disk(path) != text}
        for path, text in STAGED.items():
            if self.git("ls-files", path) == "" or self.git("show", f":{path}") != text:
                found[f"staged {path}"] = text.encode()
        if (
            not os.path.islink(self.root / "link.py")
            or os.readlink(self.root / "link.py") != "src/mod.py"
        ):
            found["link.py"] = b"src/mod.py"
        if not (self.on_disk("tool.sh") and os.stat(self.root / "tool.sh").st_mode & stat.S_IXUSR):
            found["tool.sh"] = COMMITTED["tool.sh"].encode()
        if self.on_disk("../tree/src/mod.py") != b"in a worktree, by a person\n":
            found["worktree src/mod.py"] = b"in a worktree, by a person\n"
        if not any(
            "stashed, by a person" in self.git("show", f"{s}:notes.md") for s in self.stashes()
        ):
            found["notes.md"] = b"stashed, by a person\n"
        if "feature" not in self.git("branch", "--list", "feature"):
            found["feature.py"] = b"a person's branch\n"
        return found

    def stashes(self) -> list[str]:
        return self.git("stash", "list", "--format=%H").split()

    def on_disk(self, path: str) -> bytes:
        try:
            return (self.root / path).read_bytes()
        except OSError:
            return b""

    def restored(self) -> dict[str, set[bytes]]:
        """Return what `dibs salvage restore` brings back, by path."""
        found: dict[str, set[bytes]] = {}
        project = open_project(str(self.root))
        try:
            for place, entry in enumerate(project.salvage.all()):
                folder = self.folder / f"restored{place}"
                shutil.rmtree(folder, ignore_errors=True)
                project.salvage.to_folder(entry.id, str(folder))
                for top, _, names in os.walk(folder):
                    for name in names:
                        full = os.path.join(top, name)
                        data = content(full)
                        found.setdefault(os.path.relpath(full, folder), set()).add(data)
        finally:
            project.close()
        return found

    def entries(self) -> list[str]:
        project = open_project(str(self.root))
        try:
            return [entry.id for entry in project.salvage.all()]
        finally:
            project.close()

    def lost(self) -> list[str]:
        """Return the person's files that are neither on disk nor in a salvage entry."""
        missing = self.missing()
        saved = self.restored() if missing else {}
        return [name for name, text in missing.items() if text not in saved.get(plain(name), ())]


def plain(name: str) -> str:
    """Return the path in the name of a missing file."""
    return name.removeprefix("staged ").removeprefix("worktree ")
