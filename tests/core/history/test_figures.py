"""Figures of a window: per file, per agent, in total, and over time."""

from __future__ import annotations

import pytest
from tests.core.history.ledgers import BEGIN, Told, busy_ledger

from dibs.core.claims.ledger import Kind
from dibs.core.history.figures import agent_figures, file_figures, totals, united
from dibs.core.history.replay import Replay
from dibs.core.history.series import series
from dibs.core.history.window import Window, cut_out, newest, parse_moment
from dibs.errors import BadInput


@pytest.fixture
def story():
    """Ada holds a file from 0 to 60; bob waits for it from 20 to 60, and then holds it."""
    told = Told()
    told(0, "ada", Kind.AGENT_JOINED)
    told(0, "bob", Kind.AGENT_JOINED)
    told(0, "kim", Kind.AGENT_JOINED, role="human")
    told(0, "ada", Kind.LOCK_ACQUIRED, patterns=["a"], mode="exclusive")
    told(10, "bob", Kind.LOCK_DENIED, pattern="a", held="a", holder="ada")
    ticket = told(20, "bob", Kind.LOCK_QUEUED, patterns=["a"], mode="exclusive", holders=["ada"])
    told(50, "ada", Kind.COMMITTED, paths=["a"])
    told(60, "ada", Kind.LOCK_RELEASED, patterns=["a"], tokens=[4])
    told(60, "bob", Kind.LOCK_ACQUIRED, patterns=["a"], mode="exclusive", ticket=ticket)
    told(90, "bob", Kind.TASK_COMPLETED, task="t", status="done", agent="bob")
    told(100, "ada", Kind.AGENT_EXITED, status="exited")
    told(100, "bob", Kind.STATUS_CHANGE, status="idle")
    replay = Replay()
    replay.feed(told.entries)
    return replay.spans()


def inside(story, since=0.0, until=100.0, **more):
    window = Window(BEGIN + since, BEGIN + until, **more)
    return cut_out(story, window), window


def test_work_and_waits_are_counted_per_agent(story):
    ada, bob, kim = agent_figures(*inside(story))
    assert (ada.claims, ada.held, ada.commits, ada.waited, ada.overhead) == (1, 60, 1, 0, 0)
    assert (bob.claims, bob.denied, bob.waits, bob.waited, bob.tasks) == (1, 1, 1, 40, 1)
    assert bob.overhead == pytest.approx(0.4)
    assert kim.role == "human"


def test_only_time_inside_the_window_counts(story):
    spans, window = inside(story, 30, 40)
    _, bob, _ = agent_figures(spans, window)
    assert (bob.waited, bob.overhead, bob.claims) == (10, 1.0, 0)
    ((file,), _) = file_figures(spans, window, 9)
    assert (file.held, file.waited) == (10, 10)


def test_contention_counts_agents_denials_and_waits_of_a_file(story):
    ((file,), count) = file_figures(*inside(story), 9)
    assert count == 1
    assert (file.pattern, file.agents, file.claims, file.denied, file.waits) == ("a", 2, 2, 1, 1)
    assert (file.held, file.waited, file.owners) == (100, 40, ("bob",))


def test_the_overhead_of_the_crew_leaves_out_humans(story):
    spans, window = inside(story)
    total = totals(spans, window, agent_figures(spans, window))
    assert (total.agents, total.present, total.waited) == (2, 200, 40)
    assert total.overhead == pytest.approx(0.2)
    assert (total.commits, total.tasks, total.denied, total.longest_wait) == (1, 1, 1, 40)


def test_values_over_time_have_one_number_for_each_step(story):
    found = series(*inside(story), steps=10)
    assert found.step == 10
    assert found.held == [1] * 10
    assert found.waiting == [0, 0, 1, 1, 1, 1, 0, 0, 0, 0]
    assert found.denied == [0, 1, 0, 0, 0, 0, 0, 0, 0, 0]
    assert found.tasks == [0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    assert found.overhead == pytest.approx([0, 0, 0.5, 0.5, 0.5, 0.5, 0, 0, 0, 0])


def test_waiting_counts_once_however_many_requests_wait():
    assert united([(1, 3), (2, 5), (7, 8), (7, 7)]) == [(1, 5), (7, 8)]


def test_a_standing_request_adds_nothing_to_the_overhead():
    told = Told()
    told(0, "bob", Kind.AGENT_JOINED)
    told(1, "bob", Kind.LOCK_QUEUED, patterns=["a"], mode="exclusive", standing=True)
    told(9, "bob", Kind.STATUS_CHANGE, status="idle")
    replay = Replay()
    replay.feed(told.entries)
    (bob,) = agent_figures(*inside(replay.spans(), 0, 10))
    assert (bob.waits, bob.waited, bob.overhead) == (1, 0, 0)


def test_one_agents_window_has_its_spans_and_also_what_others_did_to_it():
    told = Told()
    for name in ("ada", "bob"):
        told(0, name, Kind.LOCK_ACQUIRED, patterns=[name], mode="exclusive")
        told(5, "kim", Kind.LOCK_REVOKED, role="human", pattern=name, holder=name)
    replay = Replay()
    replay.feed(told.entries)
    spans, _ = inside(replay.spans(), agent="bob")
    assert {span.agent for span in (*spans.claims, *spans.agents)} == {"bob"}
    assert [(mark.agent, mark.by) for mark in spans.marks] == [("bob", "kim")]


def test_the_newest_are_kept_and_the_time_says_since_when_all_are_there(story):
    bare = story._replace(agents=[])
    kept, complete = newest(bare, 1)
    assert [one.agent for one in kept.claims] == ["bob"]
    assert complete - BEGIN == 60  # when ada's claim ended
    assert newest(bare, 100)[1] == 0


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("10m", 1_800_000_000 - 600),
        ("90", 1_800_000_000 - 90),
        ("1799999999", 1_799_999_999),
        ("all", 0),
    ],
)
def test_a_time_is_a_duration_unix_time_or_everything(text, moment):
    assert parse_moment(text, 1_800_000_000.0, "since") == moment


@pytest.mark.parametrize("text", ["soon", "", "-5", "nan", "1e999", "2026-13-01"])
def test_any_other_time_is_refused(text):
    with pytest.raises(BadInput):
        parse_moment(text, 1_800_000_000.0, "since")


def test_totals_agree_with_the_spans_of_a_long_ledger():
    entries = sorted(busy_ledger(3_000), key=lambda entry: entry.at)
    replay = Replay()
    replay.feed(entries)
    spans, window = inside(replay.spans(), 0, entries[-1].at - BEGIN)
    work = agent_figures(spans, window)
    total = totals(spans, window, work)
    grants = sum(entry.kind == Kind.LOCK_ACQUIRED for entry in entries)
    assert total.claims == grants == sum(one.claims for one in work)
    assert sum(series(spans, window).denied) == total.denied
    assert sum(wait.how == "granted" for wait in spans.waits) == len(spans.waits)
