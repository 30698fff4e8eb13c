"""A signal that arrives while a process starts ends that process, too."""

import os
import signal
import subprocess

import psutil
import pytest

from dibs.local.signals import process_group


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_during_the_start_of_a_group_ends_the_group(number, monkeypatch):
    started = []
    before = signal.signal(number, signal.default_int_handler)

    def start():
        started.append(subprocess.Popen(["sleep", "60"], start_new_session=True))
        os.kill(os.getpid(), number)  # the caller does not know the process yet
        return started[0]

    try:
        with pytest.raises(KeyboardInterrupt), process_group(start, 1.0):
            pytest.fail("the block must not run")
    finally:
        signal.signal(number, before)

    assert not psutil.pid_exists(started[0].pid)


def test_a_group_that_cannot_start_delivers_the_signal_and_restores_the_handlers():
    handler = signal.getsignal(signal.SIGTERM)

    with pytest.raises(OSError, match="no such program"), process_group(_fail, 1.0):
        pytest.fail("the block must not run")

    assert signal.getsignal(signal.SIGTERM) == handler


def _fail():
    raise OSError("no such program")
