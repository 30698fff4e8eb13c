"""Measure what a hook costs at each tool call, with and without the server, and in similar tools."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import psutil

import dibs
from bench.measure import Row, Section, at_most, median

if TYPE_CHECKING:
    from collections.abc import Iterator

ROUNDS = 60
#: The ttl of a claim that is meant to be past it, in seconds.
SHORT_TTL = 5
#: The number of the first call; measured calls start at 0.
FIRST = -4
PEERS = {
    "claude-agent-sync": ["agent-sync", "hook", "pre-tool-use"],
    "agent-lease-mcp": ["agent-lease-guard"],
    "agent-file-claim": ["agent-file-claim", "hook"],
    "hcom": ["hcom", "pre"],
}
NOTES = {"hcom": " (native code; messages only, no claims)"}


class Case(NamedTuple):
    """One command, where it runs, and whether it writes a new file each time."""

    argv: list[str]
    folder: Path
    environ: dict[str, str]
    fresh: bool = False
    #: The shell command of the first call; it should not change the cost of later calls.
    first: str = ""
    #: The event, the tool, and the file, if they differ; and whether the call is blocked.
    event: str = "PreToolUse"
    tool: str = "Write"
    path: str = ""
    blocked: bool = False
    session: str = "5c7b0e0a-1111-4222-8333-944445555666"


def hooks() -> Section:
    """Time hooks as processes, alternating, from start to exit."""
    with tempfile.TemporaryDirectory(prefix="dibs") as scratch:
        base = Path(scratch)
        environ = _environment(base)
        cases = {
            "python -c pass": Case([sys.executable, "-c", "pass"], base, environ),
            "python -I -S -c pass": Case([sys.executable, "-I", "-S", "-c", "pass"], base, environ),
        }
        alone, served = (_project(base / name, environ) for name in ("alone", "served"))
        run = Path(dibs.__file__).parent / "guard" / "run.py"
        ours = [sys.executable, "-I", "-S", str(run), "claude"]
        # The hook without a server must not find the server of the other case.
        apart = {**environ, "XDG_RUNTIME_DIR": str(base / "nobody")}
        cases["own file"] = Case(ours, alone, apart)
        cases["free file"] = Case(ours, alone, apart, fresh=True)
        cases["own file, first a shell command"] = Case(
            _copied(base), alone, apart, first="git status | tee log"
        )
        cases["read"] = Case(ours, alone, apart, event="PostToolUse", tool="Read")
        (alone / "src").mkdir()
        (alone / "src" / "own.py").write_text("print(1)\n" * 200, encoding="utf-8")
        cases["after an edit"] = Case(ours, alone, apart, event="PostToolUse")
        cases["held file"] = Case(ours, alone, apart, path="held.py", blocked=True)
        cases["unfinished file"] = _unfinished(ours, base / "idle", apart)
        cases["own file, server"] = Case(ours, served, environ)
        cases["free file, server"] = Case(ours, served, environ, fresh=True)
        cases["read, server"] = Case(ours, served, environ, event="PostToolUse", tool="Read")
        peers, missing = _peers(base, environ)
        with _server(served, environ):
            samples = _measure({**cases, **peers})
    return _section(samples, [*peers], missing)


def _environment(base: Path) -> dict[str, str]:
    plain = {name: value for name, value in os.environ.items() if not name.startswith("DIBS_")}
    (base / "run").mkdir(mode=0o700)
    (base / "home").mkdir()
    more = {"XDG_RUNTIME_DIR": str(base / "run"), "HOME": str(base / "home"), "AGENT_NAME": "bench"}
    more["XDG_STATE_HOME"] = str(base / "state")
    return {**plain, **more, "GIT_CONFIG_GLOBAL": os.devnull}


def _project(folder: Path, environ: dict[str, str]) -> Path:
    subprocess.run(["git", "init", "-q", folder], check=True)
    claim = [sys.executable, "-m", "dibs", "claim", "held.py", "--agent", "other", "--ttl", "1h"]
    subprocess.run(claim, cwd=folder, env=environ, check=True, stdout=subprocess.DEVNULL)
    return folder


def _unfinished(argv: list[str], folder: Path, environ: dict[str, str]) -> Case:
    """Return calls for a file that a session of this process changed and holds beyond its ttl."""
    _project(folder, environ)
    (folder / "dibs.toml").write_text(f'[claims]\nttl = "{SHORT_TTL}s"\n', encoding="utf-8")
    blocked = Case(argv, folder, environ, path="idle.py", blocked=True)
    owner = blocked._replace(blocked=False, session="0b7f2d52-1111-4222-8333-944445555666")
    _timed(owner, _payload(owner, 0))
    (folder / "idle.py").write_text("half done", encoding="utf-8")
    _timed(owner, _payload(owner._replace(event="PostToolUse"), 0))
    time.sleep(SHORT_TTL + 1)
    return blocked


@contextmanager
def _server(folder: Path, environ: dict[str, str]) -> Iterator[None]:
    """Run a server."""

    def run(*words: str) -> dict[str, Any]:
        command = [sys.executable, "-m", "dibs", *words, "--json"]
        done = subprocess.run(command, cwd=folder, env=environ, check=True, capture_output=True)
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    started = run("serve", "start", "--port", str(_free_port()))
    server = psutil.Process(started["pid"])
    try:
        yield
    finally:  # by a signal: this process is an agent now, which may not run `dibs serve stop`
        server.terminate()
        server.wait(30)


def _free_port() -> int:
    for port in range(21000, 29999):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                return port
    raise RuntimeError("no free port")


def _peers(base: Path, environ: dict[str, str]) -> tuple[dict[str, Case], dict[str, str]]:
    """Return the hooks of similar tools, and why others are missing; installed tools are cached."""
    cache = (
        Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dibs-bench" / "hooks"
    )
    programs = cache / "bin"
    found: dict[str, Case] = {}
    missing: dict[str, str] = {}
    if not programs.exists():
        subprocess.run([sys.executable, "-m", "venv", cache], check=True)
    for name, (program, *words) in PEERS.items():
        if not (programs / program).exists():
            pip = [str(programs / "python"), "-m", "pip", "install", "-q", name]
            done = subprocess.run(pip, capture_output=True, text=True, check=False)
            if done.returncode:
                missing[name] = f"not installable here: {done.stderr.strip().splitlines()[-1][:80]}"
                continue
        folder = base / name
        subprocess.run(["git", "init", "-q", folder], check=True)
        found[name] = Case([str(programs / program), *words], folder, environ, fresh=True)
        if name == "claude-agent-sync":
            init = [str(programs / program), "init"]
            subprocess.run(init, cwd=folder, env=environ, check=True, stdout=subprocess.DEVNULL)
    return found, missing


def _copied(base: Path) -> list[str]:
    """Return the command for a copy of the package, so that its first call is independent."""
    package = base / "copy" / "dibs"
    shutil.copytree(
        Path(dibs.__file__).parent, package, ignore=shutil.ignore_patterns("hooks.*.pack")
    )
    return [sys.executable, "-I", "-S", str(package / "guard" / "run.py"), "claude"]


def _payload(case: Case, turn: int) -> bytes:
    path = case.folder / (case.path or (f"src/{turn}.py" if case.fresh else "src/own.py"))
    told = {
        "session_id": case.session,
        "transcript_path": str(case.folder / "t.jsonl"),
        "cwd": str(case.folder),
        "permission_mode": "default",
        "hook_event_name": case.event,
        "tool_name": case.tool,
        "tool_input": {"file_path": str(path), "content": "print(1)\n"},
        "tool_use_id": f"toolu_{turn}",
    }
    if case.first and turn == FIRST:
        told |= {"tool_name": "Bash", "tool_input": {"command": case.first}}
    return json.dumps(told).encode()


def _timed(case: Case, given: bytes) -> float:
    """Return how long a command takes; its input is in the pipe before it starts."""
    reader, writer = os.pipe()
    os.write(writer, given)
    os.close(writer)
    try:
        start = time.perf_counter()
        done = subprocess.run(
            case.argv,
            cwd=case.folder,
            env=case.environ,
            stdin=reader,
            capture_output=True,
            check=False,
        )
        taken = time.perf_counter() - start
    finally:
        os.close(reader)
    if done.returncode or (b"deny" in done.stdout) is not case.blocked:
        raise RuntimeError(f"{case.argv}: {done.stdout!r} {done.stderr!r}")
    return taken


def _measure(cases: dict[str, Case]) -> dict[str, list[float]]:
    samples: dict[str, list[float]] = {name: [] for name in cases}
    for case in cases.values():  # the first calls register the session and fill caches
        for turn in range(FIRST, 0):
            _timed(case, _payload(case, turn))
    for turn in range(ROUNDS):
        for name, case in cases.items():
            samples[name].append(_timed(case, _payload(case, turn)))
    return samples


def _section(samples: dict[str, list[float]], peers: list[str], missing: dict[str, str]) -> Section:
    base = median(samples["python -c pass"])
    ratio = {name: median(taken) / base for name, taken in samples.items()}
    rows = [
        Row("python -c pass, p50", f"{base * 1e3:.1f} ms"),
        Row("python -I -S -c pass", f"{ratio['python -I -S -c pass']:.2f}x"),
        at_most("Dibs hook, own file", ratio["own file"], 1.6),
        at_most(
            "Dibs hook, own file, after a shell command",
            ratio["own file, first a shell command"],
            1.6,
        ),
        at_most("Dibs hook, unclaimed file", ratio["free file"], 1.6),
        at_most("Dibs hook, read", ratio["read"], 1.6),
        at_most("Dibs hook, after an edit", ratio["after an edit"], 1.6),
        Row("Dibs hook, blocked: another agent holds the file", f"{ratio['held file']:.2f}x"),
        Row(
            "Dibs hook, blocked: the same, past its ttl, with uncommitted changes",
            f"{ratio['unfinished file']:.2f}x",
        ),
        at_most("Dibs hook with the server, own file", ratio["own file, server"], 1.0),
        at_most("Dibs hook with the server, unclaimed file", ratio["free file, server"], 1.0),
        at_most("Dibs hook with the server, read", ratio["read, server"], 1.0),
        *(Row(f"{name} hook{NOTES.get(name, '')}", f"{ratio[name]:.2f}x") for name in peers),
        *(Row(f"{name} hook", why) for name, why in missing.items()),
    ]
    note = (
        "One `PreToolUse` event for a `Write`, or `PostToolUse` for a read and after an edit;"
        f" {ROUNDS} interleaved rounds,"
        " relative to `python -c pass` of the same interpreter."
    )
    return Section("Agent hooks", note, rows)
