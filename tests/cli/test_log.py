"""log: entries filtered, counted, and followed."""

from __future__ import annotations

import json
import re
import signal
import time

import pytest

from dibs import Dibs
from dibs.cli import main
from dibs.engines.sqlite.engine import SqliteEngine


class Rival:
    """Another agent, which writes after each call to the store; Ctrl-C comes when all is read."""

    def __init__(self, dibs, calls):
        self._dibs = dibs
        self._left = calls
        self._writing = False
        self.written = []
        #: How many entries of it the follower may leave out: those from before it asked what is new.
        self.early = None

    def disturb(self, monkeypatch):
        """Write after each look at the store, and after each wait for news."""
        view, wait = SqliteEngine.view, SqliteEngine.wait

        def viewed(engine, step):
            answer = view(engine, step)
            self._write()
            return answer

        def waited(engine, after, timeout):
            if not self._left and after >= self.written[-1]:
                raise KeyboardInterrupt
            newest = wait(engine, after, timeout)
            if self.early is None:
                self.early = len(self.written)
            self._write()
            return newest

        monkeypatch.setattr(SqliteEngine, "view", viewed)
        monkeypatch.setattr(SqliteEngine, "wait", waited)

    def _write(self):
        if self._left and not self._writing:
            self._writing = True
            self._left -= 1
            self._dibs.claim(f"r{self._left}")
            self.written.append(self._dibs.log(1)[0].seq)
            self._writing = False


@pytest.fixture
def busy(dibs):
    """A project with a few entries."""
    dibs("claim", "a", agent="alice")
    dibs("claim", "a", agent="bob")
    dibs("release", "a", agent="alice")
    return dibs


def test_the_newest_entry_is_last_with_time_agent_kind_and_summary(busy):
    lines = busy("log").out.splitlines()

    assert re.fullmatch(r"\d\d:\d\d:\d\d alice +claim_released +alice released a", lines[-1])
    assert len(lines) == 5


def test_a_clock_shows_the_date_of_another_day(dibs):
    from dibs.cli.support.text import clock

    now = time.time()

    assert re.fullmatch(r"\d\d:\d\d:\d\d", clock(now, now))
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", clock(now - 86_400, now))


def test_entries_are_a_json_array(busy):
    entries = busy("log", "--json").json

    assert [entry["kind"] for entry in entries] == [
        "agent_joined",
        "lock_acquired",
        "agent_joined",
        "lock_denied",
        "lock_released",
    ]
    assert [entry["seq"] for entry in entries] == sorted(entry["seq"] for entry in entries)


def test_the_log_is_filtered_by_kind_in_either_spelling(busy):
    entries = busy("log", "--kind", "claim_denied", "--kind", "lock_released", "--json").json

    assert [entry["kind"] for entry in entries] == ["lock_denied", "lock_released"]


def test_an_unknown_kind_suggests_a_known_one(busy):
    answer = busy("log", "--kind", "lock_denyed")

    assert answer.status == 65
    assert "did you mean 'lock_denied'?" in answer.err


def test_since_is_a_number_a_duration_or_a_time(busy):
    entries = busy("log", "--json").json
    third = entries[2]["seq"]
    today = time.strftime("%Y-%m-%dT00:00")

    assert busy("log", "--since", str(third), "--json").json == entries[3:]
    assert busy("log", "--since", "10m", "--json").json == entries
    assert busy("log", "--since", "2001-01-01", "--json").json == entries
    assert busy("log", "--since", today, "--json").json == entries
    assert busy("log", "--since", "2101-01-01T00:00+02:00", "--json").json == []


def test_the_summary_counts_entries(busy):
    answer = busy("log", "--summary", "--json").json

    assert answer["entries"] == 5
    assert answer["by_kind"]["agent_joined"] == 2
    assert answer["by_agent"] == {"alice": 3, "bob": 2}
    assert "5 entries" in busy("log", "--summary").out
    assert busy("log", "--summary", "-f").status == 64


def test_following_continues_until_ctrl_c(busy, start):
    follow = start("log", "-f", "-n", "1", "--kind", "lock_released", "--json")
    assert json.loads(follow.stdout.readline())["kind"] == "lock_released"

    busy("claim", "b", "c", agent="alice")
    busy("release", "c", agent="alice")

    assert json.loads(follow.stdout.readline())["details"]["patterns"] == ["c"]
    follow.send_signal(signal.SIGINT)
    assert follow.wait(10) == 0


@pytest.mark.parametrize("lines", ["0", "1", "50"])
def test_following_misses_no_entry_whenever_another_agent_writes(
    busy, repo, monkeypatch, capsys, lines
):
    with Dibs.open(repo, agent="rival") as dibs:
        rival = Rival(dibs, calls=10)
        rival.disturb(monkeypatch)

        assert main(["log", "-f", "-n", lines, "--json"]) == 0

    shown = [json.loads(line)["seq"] for line in capsys.readouterr().out.splitlines()]
    assert shown == list(range(shown[0], rival.written[-1] + 1))
    assert lines != "0" or shown[0] == rival.written[rival.early]


def test_the_log_prints_as_many_lines_as_asked(busy):
    assert len(busy("log", "-n", "2").out.splitlines()) == 2
    assert busy("log", "-n", "0").out == ""
    assert busy("log", "-n", "x").status == 65
