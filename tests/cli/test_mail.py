"""Two agents and a human exchange messages on the command line."""

from __future__ import annotations

import io
import json
import re
import signal

import pytest

from dibs.core.talk import limits


@pytest.fixture
def crew(dibs):
    dibs("agent", "join", agent="alice")
    dibs("agent", "join", "--role", "tester", agent="bob")
    return dibs


def ids(answer):
    return [message["id"] for message in answer.json["messages"]]


def test_a_message_is_shown_once_and_kept(crew):
    said = crew("say", "bob", "the tests fail", agent="alice")
    first = crew("inbox", agent="bob")
    second = crew("inbox", agent="bob")
    whole = crew("inbox", "--all", agent="bob")

    assert (said.status, first.status, second.status) == (0, 0, 0)
    assert re.fullmatch(r"sent m\d+ to bob\n", said.out)
    assert "the tests fail" in first.out
    assert second.out == "no unread messages: see those you have read with `dibs inbox --all`\n"
    assert "the tests fail" in whole.out
    assert "the tests fail" in crew("inbox", "--sent", agent="alice").out


def test_a_human_reads_printable_text_and_is_marked_for_agents(crew):
    crew("say", "human", "one\n\x1b[31mtwo", agent="alice")
    crew("say", "all", "stop")
    heard = crew("inbox").out

    assert heard.splitlines()[1:] == ["  one", "  \\x1b[31mtwo"]
    assert re.search(r"^m\d+ \S+ HUMAN \S+ to all$", crew("inbox", agent="bob").out, re.MULTILINE)


def test_options_can_be_anywhere_and_words_are_joined(crew):
    said = crew("say", "bob", "please", "--json", "look", agent="alice")

    assert said.json["text"] == "please look"


@pytest.mark.parametrize("words", [("say", "bob"), ("say", "bob", "-")])
def test_the_text_can_come_from_standard_input(crew, monkeypatch, words):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("a\nb \xff\n".encode("latin-1"))))

    assert crew(*words, "--json", agent="alice").json["text"] == "a\nb \\xff"


def test_too_many_messages_are_refused_with_the_time_to_wait(crew, monkeypatch):
    monkeypatch.setattr(limits, "RATE", 2)
    statuses = [crew("say", "bob", str(number), agent="alice").status for number in range(3)]
    refused = crew("say", "bob", "x", "--json", agent="alice").json["error"]

    assert statuses == [0, 0, 69]
    assert (refused["code"], refused["retryable"]) == ("RATE_LIMITED", True)
    assert re.search(r"in \d+s$", refused["message"])


def test_a_long_inbox_is_shown_in_parts(crew):
    for number in range(60):
        crew("say", "bob", f"text {number}", agent="alice")
    first = crew("inbox", agent="bob").out
    second = crew("inbox", "--json", agent="bob").json

    assert first.endswith("and 10 more; run `dibs inbox` again\n")
    assert [m["text"] for m in second["messages"]] == [f"text {n}" for n in range(50, 60)]
    assert second["left"] == 0


def test_messages_that_could_not_be_printed_stay_unread(crew, start, monkeypatch):
    monkeypatch.delenv(
        "PYTHONUNBUFFERED", raising=False
    )  # otherwise each word is written separately
    crew("say", "bob", "important", agent="alice")
    with open("/dev/full", "w") as full:
        assert start("inbox", "--agent", "bob", stdout=full).wait(30) == 69

    assert "important" in crew("inbox", agent="bob").out


def test_follow_prints_unread_and_new_messages(crew, start):
    crew("say", "bob", "first", agent="alice")
    follower = start("inbox", "--follow", "--json", "--agent", "bob")
    assert json.loads(follower.stdout.readline())["text"] == "first"
    crew("say", "bob", "second", agent="alice")
    assert json.loads(follower.stdout.readline())["text"] == "second"
    follower.send_signal(signal.SIGINT)

    assert follower.wait(10) == 0


def test_groups_from_creation_to_deletion(crew):
    crew("group", "new", "web", "alice", "role:tester")
    said = crew("say", "web", "hello", "--json")
    shown = crew("group", "show", "web")
    listed = crew("group", "ls")
    crew("group", "rm", "web", "role:tester")
    crew("group", "add", "web", "human")

    assert said.json["boxes"] == ["alice", "bob"]
    assert "reaches alice, bob" in shown.out
    assert "  hello" in shown.out
    assert "alice, role:tester" in listed.out
    assert crew("group", "show", "web", "--json").json["reaches"] == ["alice", "human"]
    assert crew("group", "drop", "web").out == "deleted group web\n"
    assert crew("group", "ls", "--json").json == {"groups": []}


def test_the_recipient_can_be_an_option(dibs):
    dibs("agent", "join", agent="bob")

    assert dibs("say", "--to", "bob", "hello there", agent="alice").status == 0
    assert dibs("say", "good", "bye", "--to", "bob", agent="alice").status == 0

    out = dibs("inbox", agent="bob").out
    assert "hello there" in out
    assert "good bye" in out
    assert dibs("say", "--to", "bob", "--reply", "m2", "no", agent="alice").status == 64


def test_a_message_can_be_shown_by_id(crew):
    said = crew("say", "bob", "x", "--json", agent="alice").json
    crew("inbox", agent="bob")

    assert ids(crew("inbox", said["id"], "--json", agent="bob")) == [said["id"]]
