"""Run what is too long for ``make test``: all seeds and all kill points, within a time limit.

Prints a line for each finished file, or each minute, and a summary with what was not reached.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MARK = re.compile(r"^from tests(\.soak import | import .*\bsoak\b)", re.MULTILINE)
FOUND = re.compile(r"\bcollected (\d+) item")
RESULT = re.compile(r"^(\S+::.*?) (PASSED|FAILED|ERROR)\b", re.MULTILINE)
#: What a test may take to clean up after an interruption, in seconds.
CLEANUP = 30.0


class Run:
    """One file's tests in a process; its output goes to a file."""

    def __init__(self, path: str, logs: Path) -> None:
        self.path, self.cut = path, False
        self.log = logs / f"{path.replace('/', '-')}.log"
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-v",
            "-p",
            "no:randomly",
            "-p",
            "no:cacheprovider",
        ]
        with self.log.open("w") as out:
            self.process = subprocess.Popen(
                [*command, "-o", "timeout=3600", path], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=out,
                stderr=subprocess.STDOUT, env={**os.environ, "DIBS_SOAK": "1"}, start_new_session=True,
            )  # fmt: skip

    def results(self) -> tuple[int, set[str], int]:
        """Return how many tests passed, which failed, and how many the file has."""
        text = self.log.read_text("utf-8", "replace")
        found = RESULT.findall(text)
        failed = {name for name, result in found if result != "PASSED"}
        if self.process.poll() and not failed and not self.cut:
            failed = {self.path}  # it could not be imported, or it crashed
        count = FOUND.search(text)
        return sum(result == "PASSED" for _, result in found), failed, int(count[1]) if count else 0

    def stop(self) -> None:
        """Interrupt the tests; kill them if they do not clean up."""
        if self.process.poll() is not None:
            return
        self.cut = True
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(CLEANUP)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def main(words: list[str]) -> int:
    """Run the files; return the exit status."""
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=120, help="time limit (default: 120)")
    parser.add_argument("files", nargs="*", help="test files (default: all that have more to do)")
    args = parser.parse_args(words)
    waiting = args.files or [
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        if MARK.search(path.read_text("utf-8"))
    ]
    done, cut = _run(waiting, 60 * args.minutes)
    failed = sorted(name for run in done + cut for name in run.results()[1])
    passed = sum(run.results()[0] for run in done + cut)
    print(
        f"{passed} passed, {len(failed)} failed" + "".join(f"\n  failed: {name}" for name in failed)
    )
    for run in cut:
        good, bad, count = run.results()
        print(f"  not reached: {count - good - len(bad)} of {count} tests in {run.path}")
    print("".join(f"  not reached: {path}\n" for path in waiting), end="")
    return 1 if failed else 0


def _run(waiting: list[str], limit: float) -> tuple[list[Run], list[Run]]:
    """Run files until none is left or the time is over; return the finished and the interrupted ones."""
    logs = ROOT / "build" / "soak"
    logs.mkdir(parents=True, exist_ok=True)
    running: list[Run] = []
    done: list[Run] = []
    count, began = len(waiting), time.monotonic()
    said = began
    try:
        while (waiting or running) and time.monotonic() < began + limit:
            while waiting and len(running) < (os.cpu_count() or 1):
                running.append(Run(waiting.pop(0), logs))
            time.sleep(0.2)
            over = [run for run in running if run.process.poll() is not None]
            running = [run for run in running if run not in over]
            done += over
            lines = [_line(run) for run in over]
            if not over and time.monotonic() > said + 60:
                lines = [f"running {_line(run)}" for run in running]
            for line in lines:
                said = time.monotonic()
                print(
                    f"{(said - began) / 60:5.1f} min  {line} ({len(done)} of {count} files)",
                    flush=True,
                )
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    for run in running:
        run.stop()
    return done, running


def _line(run: Run) -> str:
    passed, failed, _ = run.results()
    return f"{run.path}: {passed} passed, {len(failed)} failed"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
