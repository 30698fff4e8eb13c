"""A hook's request over a pair of sockets: which are answered, and when a message counts as delivered."""

from __future__ import annotations

import os
import socket
import threading
from contextlib import suppress

import pytest

from dibs.core.toolcalls.values import HookReply
from dibs.guard.agents import client
from dibs.server.hooks import answers


@pytest.fixture
def confirmed(monkeypatch):
    """Answer everything with one line; count the confirmations."""
    times = []

    def answer(words, given, environ, cwd, process, deadline, lender):
        deadline.more(1.0)
        return HookReply(f"{words} {given.decode()} {cwd}", "note", 2), lambda: times.append(
            process
        )

    monkeypatch.setattr(answers, "answer", answer)
    monkeypatch.setattr(answers, "own_package", lambda: "/p")
    return times


def served(package="/p", server=None):
    """Return one end of a connection, and the thread that serves the other."""
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    server = server or answers.HookAnswers(None)

    def serve():
        with theirs:
            server.answer(theirs)

    thread = threading.Thread(target=serve)
    thread.start()
    ours.sendall(client.question(["claude", "event"], b"given", package))
    return ours, thread


def frames(link):
    """Read all messages up to the end or the answer."""
    while True:
        head = link.recv(client.FRAME, socket.MSG_WAITALL)
        if not head:
            return
        yield head[:1], link.recv(int(head[1:]), socket.MSG_WAITALL)
        if head[:1] == client.ANSWER:
            return


def test_the_hook_gets_the_time_limit_and_then_the_answer(confirmed):
    ours, thread = served()
    with ours:
        *waits, (kind, body) = frames(ours)
        ours.sendall(client.WRITTEN)
        thread.join()

    assert [kind for kind, _ in waits] == [client.WAIT, client.WAIT]
    assert kind == client.ANSWER
    assert body == b"\x02         5note\n('claude', 'event') given " + os.getcwdb() + b"\n"
    assert confirmed == [os.getpid()]


def test_an_answer_that_was_not_printed_is_not_delivered(confirmed):
    ours, thread = served()
    with ours:
        list(frames(ours))
    thread.join()

    assert confirmed == []


def test_a_request_from_another_installation_is_declined(confirmed):
    ours, thread = served("/other")
    with ours:
        assert [kind for kind, _ in frames(ours)] == [client.DECLINED]
    thread.join()


@pytest.mark.parametrize("name", ["DIBS_TTL", "GIT_DIR", "XDG_STATE_HOME", "HOME"])
def test_a_request_with_another_environment_is_declined(confirmed, monkeypatch, name):
    server = answers.HookAnswers(None)
    monkeypatch.setitem(client.posix.environ, name.encode(), b"/elsewhere")
    ours, thread = served(server=server)
    with ours:
        assert [kind for kind, _ in frames(ours)] == [client.DECLINED]
    thread.join()


@pytest.mark.parametrize(
    "name", ["DIBS_AGENT", "DIBS_TASK_TITLE", "GIT_EDITOR", "GIT_AUTHOR_NAME", "XDG_SESSION_ID"]
)
def test_variables_that_agents_and_terminals_set_do_not_matter(confirmed, monkeypatch, name):
    server = answers.HookAnswers(None)
    monkeypatch.setitem(client.posix.environ, name.encode(), b"somebody")
    ours, thread = served(server=server)
    with ours:
        assert [kind for kind, _ in frames(ours)][-1] == client.ANSWER
    thread.join()


def test_a_whole_request_must_arrive_within_the_time_limit(confirmed, monkeypatch):
    """A sender of single bytes does not occupy a thread for longer."""
    monkeypatch.setattr(answers, "SENT_IN", 0.3)
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    thread = threading.Thread(target=answers.HookAnswers(None).answer, args=[theirs])
    thread.start()
    asked = client.question(["claude"], b"given", "/p")
    stopped = threading.Event()
    with ours:
        for byte in asked[:40]:
            if stopped.wait(0.05) or not thread.is_alive():
                break
            with suppress(OSError):
                ours.sendall(bytes([byte]))
        thread.join(1)
        ended = not thread.is_alive()

    thread.join()
    assert ended
    assert confirmed == []
