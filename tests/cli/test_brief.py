"""``dibs brief``: only printed text counts as delivered."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
import time

import pytest
from tests.cli.conftest import PROGRAM
from tests.services.wired import wired

from dibs.core.claims.agents import Caller
from dibs.engines.sqlite.engine import SqliteEngine
from dibs.project.location import locate
from dibs.project.project import open_project
from dibs.services.briefing.service import LEASE, Briefings

BOB = Caller("bob")


@pytest.fixture
def told(dibs):
    """A crew of two; bob has a message."""
    dibs("claim", "src/auth.py", agent="carol")
    dibs("claim", "mine", agent="bob")
    dibs("say", "bob", "the words", agent="carol")
    return dibs


def test_a_briefing_is_printed_once(told):
    first, second = told("brief", agent="bob"), told("brief", agent="bob")

    assert first.out.startswith("<!-- CREW_UPDATE\n")
    assert first.out.endswith("CREW_UPDATE -->\n")
    assert "the words" in first.out
    assert (first.status, first.err) == (0, "")
    assert (second.status, second.out) == (0, "")
    assert second.err == "dibs: nothing new; `dibs brief --full` shows everything again\n"


def test_full_prints_the_whole_state_again(told):
    told("brief", agent="bob")

    again = told("brief", "--full", agent="bob").out

    assert "src/auth.py" in again
    assert "the words" not in again


def test_a_peek_does_not_count_as_delivered(told):
    assert "the words" in told("brief", "--peek", agent="bob").out
    assert "the words" in told("brief", agent="bob").out


def test_json_contains_the_text_its_number_and_the_state(told):
    first = told("brief", "--json", agent="bob").json

    assert (first["number"], first["mode"], first["changed"]) == (1, "full", True)
    assert first["mail"] == [message["id"] for message in first["state"]["mail"]]
    assert {claim["pattern"] for claim in first["state"]["claims"]} == {"src/auth.py", "mine"}
    second = told("brief", "--json", agent="bob").json
    assert second.keys() == first.keys()
    assert (second["number"], second["changed"], second["text"]) == (None, False, "")


def test_a_human_gets_the_leads_page_every_time(told):
    for _ in range(2):
        assert "== PROJECT HEALTH ==" in told("brief").out


def test_a_human_reads_no_fences_frame_or_tokens(told):
    told("say", "human", "please \x1b[31mdecide", agent="carol")
    told("claim", "docs/a.md", "--reason", "a fix")

    page = told("brief").out

    assert "please [31mdecide" in page
    assert "docs/a.md (exclusive, expires in" in page
    assert not re.search("data-|CREW_UPDATE|token|\x1b", page)
    assert "data-" in told("brief", agent="bob").out


# -- lost output


def later(repo):
    """Return the briefings of a process whose clock is past every lease."""
    place = locate(str(repo))
    store = os.path.join(place.repository.state, "dibs.db")
    engine = SqliteEngine(store, clock=lambda: time.time() + LEASE + 1, create=False)
    return Briefings(wired(engine, place.loaded.config))


def eventually(look):
    end = time.monotonic() + 30
    while not look():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.01)


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_lost_change_precedes_the_requested_full_state(told, repo, monkeypatch, form):
    for number in range(8):
        told("claim", f"docs/{number}.md", agent=f"agent-{number}")
    told("brief", agent="bob")
    told("say", "bob", "more words", agent="carol")
    with monkeypatch.context() as patch:
        patch.setattr("dibs.services.briefing.service.LEASE", 0.0)
        project = open_project(str(repo))
        lost = project.briefings.prepare(BOB)
        project.close()

    answer = told("brief", "--full", *form, agent="bob").out
    answer = json.loads(answer)["text"] if form else answer

    assert lost.mode == "delta"
    assert answer.startswith(lost.text)
    assert "docs/7.md" in answer.removeprefix(lost.text)
    assert answer.count("more words") == 1


def test_text_written_to_a_broken_pipe_is_not_delivered(told, repo):
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*PROGRAM, "brief", "--agent", "bob"], stdout=writing, stderr=subprocess.PIPE, check=False
    )
    os.close(writing)

    assert (done.returncode, done.stderr) == (0, b"")
    assert "the words" in later(repo).prepare(BOB).text


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_text_written_to_a_full_disk_is_not_delivered(told, repo):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*PROGRAM, "brief", "--agent", "bob"], stdout=full, stderr=subprocess.PIPE, check=False
        )

    assert done.returncode == 69
    assert done.stderr.count(b"\n") == 1
    assert "the words" in later(repo).prepare(BOB).text


def test_concurrent_processes_print_each_message_once(told, repo, start):
    crowd = [start("brief", "--agent", "bob") for _ in range(6)]
    outs = [process.communicate(timeout=60)[0] for process in crowd]

    assert sum("the words" in out for out in outs) == 1
    assert all(process.returncode == 0 for process in crowd)


def test_a_follower_prints_each_change_and_confirms_it(told, start):
    process = start("brief", "--follow", "--json", "--agent", "bob")
    lines = []
    reader = threading.Thread(target=lambda: lines.extend(iter(process.stdout.readline, "")))
    reader.start()
    eventually(lambda: lines)
    told("say", "bob", "more words", agent="carol")
    eventually(lambda: len(lines) > 1)
    process.send_signal(signal.SIGINT)
    process.wait()
    reader.join()

    assert "the words" in lines[0]
    assert "more words" in lines[1]
    assert process.returncode == 0
