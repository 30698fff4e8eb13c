"""No signal is missed: neither before a wait, nor while a process starts."""

import os
import resource
import signal
import subprocess
import threading

import psutil
import pytest

from dibs.local.signals import SignalPipe, process_group


@pytest.fixture
def signals():
    before = signal.signal(signal.SIGUSR1, lambda *_: None)
    pipe = SignalPipe()
    yield pipe
    pipe.close()
    signal.signal(signal.SIGUSR1, before)


@pytest.fixture
def many_open_files():
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(2000, limit[1]), limit[1]))
    opened = [os.open(os.devnull, os.O_RDONLY)]
    while opened[-1] < 1100:
        opened.append(os.dup(opened[0]))
    yield
    for one in opened:
        os.close(one)
    resource.setrlimit(resource.RLIMIT_NOFILE, limit)


def test_a_signal_before_the_wait_ends_it_and_only_once(signals):
    os.kill(os.getpid(), signal.SIGUSR1)

    signals.wait(3600)
    signals.wait(0)  # nothing is left to read
    ended = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGUSR1))
    ended.start()
    signals.wait(3600)
    ended.join()


def test_a_wait_works_with_more_than_1024_open_files(many_open_files, signals):
    os.kill(os.getpid(), signal.SIGUSR1)

    signals.wait(3600)


def test_a_closed_pipe_gives_the_signals_back():
    before = signal.set_wakeup_fd(-1)
    signal.set_wakeup_fd(before)

    SignalPipe().close()

    assert signal.set_wakeup_fd(before) == before


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
