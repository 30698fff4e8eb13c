"""A test run that ignores signals, under nohup or in the background, starts children that do not."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.signals import SENT

HERE = Path(__file__)
#: Run the program in the arguments with all these signals ignored.
IGNORING = f"""
import os, signal, sys
for number in {[int(number) for number in SENT]}:
    signal.signal(number, signal.SIG_IGN)
os.execv(sys.argv[1], sys.argv[1:])
"""
ENDING = [signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM]


def ignoring(*words: str) -> subprocess.CompletedProcess[str]:
    """Run Python with ``words`` as a process that inherits ignored signals."""
    return subprocess.run(
        [sys.executable, "-c", IGNORING, sys.executable, *words],
        check=False, cwd=HERE.parents[1], stdin=subprocess.DEVNULL, capture_output=True, text=True,
    )  # fmt: skip


@pytest.mark.parametrize("number", ENDING)
def test_a_signal_ends_a_child_process(number):
    with subprocess.Popen(["sleep", "60"]) as child:
        child.send_signal(number)
        try:
            assert child.wait(10) == -number
        finally:
            child.kill()


@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_signal_ends_a_child_process_of_a_run_that_ignores_signals(workers):
    rule = f"{HERE}::{test_a_signal_ends_a_child_process.__name__}"

    run = ignoring("-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", workers, rule)

    assert run.returncode == 0, run.stdout
    assert f"{len(ENDING)} passed" in run.stdout


def test_a_run_that_ignores_signals_keeps_ignoring_them():
    run = ignoring(
        "-c",
        "import os, sys; sys.path.insert(0, '.')\n"
        "from tests.signals import SENT, keep_ignored_signals_from_children as keep\n"
        "keep()\n"
        "for number in SENT: os.kill(os.getpid(), number)\n"
        "print('still running')",
    )

    assert (run.returncode, run.stdout) == (0, "still running\n"), run.stderr
