"""An agent without a model: it reads its prompt from standard input, and the task's title says what to do.

The title is a list of words: ``done``, ``fail``, ``exit N``, ``signal N``, ``hang``, ``ignore`` (signals),
``fork`` (a daemon that outlives it), ``print BYTES``, ``write PATH``, ``read PATH``, ``say TEXT``, ``once``
(fails the first time), ``nothing``, and ``wait`` (until the file ``go`` exists next to its diary).
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

DIARY = Path(os.environ["STUB_DIARY"])


def main() -> int:
    """Do what the title says; return the exit status."""
    prompt = sys.stdin.read() if "--ask" not in sys.argv else sys.argv[-1]
    found = re.search(r"(?m)^(.*) \((\S+)\)$", prompt)
    title, task = (found[1], found[2]) if found else ("", "")
    note("start", task=task, cwd=os.getcwd(), prompt=prompt, environ=dict(os.environ))
    words = title.split()
    while words:
        status = act(words, task)
        if status is not None:
            return status
    return 0


def act(words: list[str], task: str) -> int | None:  # noqa: C901, PLR0912 - a list of things to do
    """Do the first thing in ``words``; return the exit status if it ends the agent."""
    word = words.pop(0)
    if word == "done":
        dibs("task", "done", task, "--summary", "finished")
    elif word == "fail":
        dibs("task", "fail", task, "--message", "cannot")
    elif word == "read":
        note("read", text=Path(words.pop(0)).read_text())
    elif word == "exit":
        return int(words.pop(0))
    elif word == "signal":
        os.kill(os.getpid(), int(words.pop(0)))
    elif word == "hang":
        time.sleep(600)
    elif word == "ignore":
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
    elif word == "fork":
        daemon(clean="clean" in words)
    elif word == "print":
        left = int(words.pop(0))
        while left > 0:
            left -= os.write(1, b"x" * min(left, 1 << 20))
    elif word == "write":
        path = Path(words.pop(0))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{os.environ['DIBS_AGENT']} wrote this for {task}\n")
    elif word == "say":
        text = words.pop(0).replace("$ID", task).replace("~", " ")
        os.write(1, f"{text}\n".encode())
    elif word == "once":
        mark = DIARY.with_name(f"once-{task}")
        if not mark.exists():
            mark.touch()
            return 7
    elif word == "wait":
        while not DIARY.with_name("go").exists():
            time.sleep(0.02)
    return None


def daemon(*, clean: bool) -> None:
    """Leave a process behind that has its own session and ignores signals."""
    if os.fork():
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    note("daemon", pid=os.getpid())
    environ = {"PATH": os.environ["PATH"]} if clean else os.environ
    os.execve("/bin/sleep", ["sleep", "600"], environ)


def dibs(*words: str) -> None:
    """Run a Dibs command."""
    subprocess.run([sys.executable, "-m", "dibs", *words], check=True, stdout=sys.stderr)


def note(what: str, **facts: object) -> None:
    """Append a line to the diary."""
    line = json.dumps(
        {"what": what, "agent": os.environ.get("DIBS_AGENT", ""), "pid": os.getpid(), **facts}
    )
    handle = os.open(DIARY, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(handle, f"{line}\n".encode())
    os.close(handle)


if __name__ == "__main__":
    sys.exit(main())
