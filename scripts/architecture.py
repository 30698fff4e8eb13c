"""Draw the diagrams of docs/explanation/architecture.md: the layers, and three recorded call paths.

Layers come from the import contracts in pyproject.toml. A path is recorded by running it in a new
repository under a profiler; each package is drawn after the package that called it first.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import tomllib
from functools import cache
from pathlib import Path

import dibs

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path(dibs.__file__).parent
#: Packages whose subpackages are drawn separately.
DIVIDED = ("cli", "core", "engines", "guard", "install", "services")

#: Runs a script and writes which module called which, in order.
_PROBE = """
import json, posix, sys
out, package, script = sys.argv[1:4]
sys.argv[:] = sys.argv[3:]
seen, leave, home = {}, posix._exit, posix.getpid()
def name(code):
    return code.co_filename[len(package) + 1:] if code.co_filename.startswith(package + "/") else ""
def watch(frame, event, _):
    if event != "call" or not (called := name(frame.f_code)) or not frame.f_code.co_flags & 1:
        return
    above = frame.f_back
    while above is not None and not name(above.f_code):
        above = above.f_back
    if above is None or above.f_code.co_flags & 1 or above.f_code.co_filename == script:
        seen.setdefault((name(above.f_code) if above else "", called))
def end(status):
    sys.setprofile(None)
    if posix.getpid() == home:
        file = posix.open(out, posix.O_WRONLY | posix.O_CREAT | posix.O_TRUNC, 0o600)
        posix.write(file, json.dumps(list(seen)).encode())
    leave(status)
posix._exit = end
if "os" in sys.modules:
    sys.modules["os"]._exit = end
space = {"__name__": "__main__", "__file__": script}
code = compile(open(script, "rb").read(), script, "exec")
sys.setprofile(watch)
exec(code, space)
end(0)
"""


@cache
def layers() -> dict[str, list[list[str]]]:
    """Return the packages of each container in pyproject.toml, highest layer first."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    found = {}
    for contract in project["tool"]["importlinter"]["contracts"]:
        if contract["type"] == "layers":
            rows = [[name.strip() for name in row.split("|")] for row in contract["layers"]]
            found[contract["containers"][0]] = rows
    return found


def layer_diagram() -> str:
    """Return the layers as text, one per line, each followed by its subpackages."""
    all_layers = layers()
    lines = []
    for row in all_layers["dibs"]:
        inner = [
            " > ".join(" ".join(names) for names in all_layers[f"dibs.{name}"])
            for name in row
            if f"dibs.{name}" in all_layers
        ]
        lines.append(f"{' '.join(row):<24}{'; '.join(inner)}".rstrip())
    return "\n".join(["```text", *lines, "```"])


def package_of(file: str) -> str:
    """Return a source file's package, as the diagrams name it."""
    folders = file.split("/")[:-1]
    return ".".join(folders[: 2 if folders and folders[0] in DIVIDED else 1]) or "dibs"


def record(
    script: Path, words: list[str], folder: Path, agent: str, given: str = ""
) -> list[list[str]]:
    """Run a script with ``words`` and return the calls between source files, in order."""
    with tempfile.TemporaryDirectory(prefix="dibs") as scratch:
        out, probe = Path(scratch) / "calls.json", Path(scratch) / "probe.py"
        probe.write_text(_PROBE, "utf-8")
        command = [sys.executable, str(probe), str(out), str(PACKAGE), str(script), *words]
        subprocess.run(
            command, cwd=folder, env=environment(agent), input=given.encode(), check=True,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        calls: list[list[str]] = json.loads(out.read_text())
    return calls


def environment(agent: str) -> dict[str, str]:
    """Return the environment without the caller's own settings."""
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("DIBS_", "GIT_"))}
    return {
        **plain, "DIBS_AGENT": agent, "PYTHONPATH": str(PACKAGE.parent), "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull, "XDG_RUNTIME_DIR": "/nonexistent",
    }  # fmt: skip


def record_paths() -> dict[str, list[list[str]]]:
    """Run the edit hook, ``dibs task take``, and ``dibs commit``; return the calls of each."""
    with tempfile.TemporaryDirectory(prefix="dibs") as scratch:
        folder = Path(scratch)
        for words in (["git", "init", "-q"], ["git", "config", "user.name", "a"],
                      ["git", "config", "user.email", "a@example.com"]):  # fmt: skip
            subprocess.run(words, cwd=folder, check=True, env=environment(""))
        main, hook = PACKAGE / "__main__.py", PACKAGE / "guard" / "run.py"
        for name in ("a.txt", "b.txt"):
            (folder / name).write_text("1\n")
        subprocess.run(["git", "add", "."], cwd=folder, check=True, env=environment(""))
        subprocess.run(
            ["git", "commit", "-q", "-m", "one"], cwd=folder, check=True, env=environment("")
        )
        for words in (["init", "--agents", "claude", "--yes"], ["task", "new", "Write docs"]):
            record(main, words, folder, "")
        long_ago = time.time() - 3600  # new settings are not cached
        os.utime(folder / "dibs.toml", (long_ago, long_ago))
        record(main, ["claim", "a.txt"], folder, "alice")
        call = {
            "session_id": "s1", "cwd": str(folder), "hook_event_name": "PreToolUse",
            "tool_name": "Write", "tool_input": {"file_path": str(folder / "b.txt"), "content": "x"},
        }  # fmt: skip
        given = json.dumps(call)
        (folder / "a.txt").write_text("2\n")
        os.utime(folder / "a.txt", (long_ago, long_ago))
        take = record(main, ["task", "take"], folder, "carol")
        commit = record(main, ["commit", "-m", "two"], folder, "alice")
        # The first call registers the session: from then on, this process is its agent.
        record(hook, ["claude"], folder, "bob", given)
        hooked = record(hook, ["claude"], folder, "bob", given)
        return {"hook": hooked, "take": take, "commit": commit}


def path_diagram(calls: list[list[str]]) -> str:
    """Return a flow chart in which each package follows the one that called it first."""
    lines, known = [], {package_of(calls[0][0])}
    for caller, called in ((package_of(a), package_of(b)) for a, b in calls):
        if caller in known and called not in known:
            known.add(called)
            lines.append(f"  {caller} --> {called}")
    return "\n".join(["```mermaid", "flowchart LR", *lines, "```"])


def rank_of(package: str) -> tuple[int, int]:
    """Return a package's rank: its layer, and its layer within the parent package."""
    all_layers = layers()
    outer, _, inner = package.partition(".")
    at = next((n for n, row in enumerate(all_layers["dibs"]) if outer in row), -1)
    rows = all_layers.get(f"dibs.{outer}", [])
    return at, next((n for n, row in enumerate(rows) if inner in row), 0)
