"""status, and its tables."""

from __future__ import annotations

import json
import re
import signal

import pytest

from dibs.cli.support.tables import table


def test_an_empty_project_has_a_short_status(dibs):
    answer = dibs("status")

    assert answer.status == 0
    assert answer.out.startswith("no agents working\n")
    assert "nothing is claimed" in answer.out


def test_claims_queue_and_agents_are_shown(dibs):
    dibs("claim", "src/**", "--reason", "big move", "--task", "7", agent="alice")
    dibs("ask", "src/a.py", agent="carol")
    dibs("claim", "src/a.py", "--queue", agent="bob")
    dibs("claim", "src/b.py", "--queue", agent="carol")

    lines = dibs("status").out.splitlines()

    assert lines[0] == "3 agents working"
    (claim,) = [line for line in lines if line.startswith("src/**")]
    assert claim.split()[:4] == ["src/**", "exclusive", "alice", "5m"]
    told = " ".join(" ".join(lines).split())
    assert "big move; task 7;" in told
    assert "carol requested it (reply within 5m)" in told
    queue = lines[lines.index(next(line for line in lines if line.startswith("QUEUE"))) + 1 :]
    assert [line.split()[:3] for line in queue] == [
        ["1", "bob", "src/a.py"],
        ["2", "carol", "src/b.py"],
    ]


def test_pending_decisions_are_counted_with_the_age_of_the_oldest(dibs):
    dibs("decide", "new", "tabs", agent="alice")
    assert "decision" not in dibs("status").out
    dibs("decide", "new", "use httpx", "--confirm", agent="alice")
    one = dibs("status").out.splitlines()[1]
    dibs("decide", "new", "split the parser", "--confirm", agent="alice")

    answer = dibs("status")

    assert re.fullmatch(r"1 decision pending \(\d+s\): dibs decide ls --pending", one)
    two = answer.out.splitlines()[1]
    assert re.fullmatch(r"2 decisions pending \(oldest: \d+s\): dibs decide ls --pending", two)
    shape = dibs("status", "--json").json["decisions"]
    assert shape["pending"] == 2
    assert shape["oldest_for"] >= 0


def test_the_status_as_json_has_the_engines_time(dibs):
    dibs("claim", "a", agent="alice")
    dibs("claim", "a", "--queue", agent="bob")

    answer = dibs("status", "--json").json

    assert set(answer) == {"now", "seq", "claims", "queue", "agents", "decisions"}
    assert [claim["pattern"] for claim in answer["claims"]] == ["a"]
    assert [waiter["patterns"] for waiter in answer["queue"]] == [["a"]]
    assert [agent["id"] for agent in answer["agents"]] == ["alice", "bob"]
    assert answer["now"] < answer["claims"][0]["expires_at"]


def test_mine_shows_only_the_callers_claims(dibs):
    dibs("claim", "a", agent="alice")
    dibs("claim", "b", agent="bob")

    answer = dibs("status", "--mine", "--json", agent="bob").json

    assert [claim["pattern"] for claim in answer["claims"]] == ["b"]
    assert [agent["id"] for agent in answer["agents"]] == ["bob"]


def test_looking_at_the_status_is_not_a_heartbeat(dibs):
    dibs("status", agent="alice")

    assert dibs("agent", "ls", "--json").json["agents"] == []


def test_the_status_fits_on_eighty_columns(dibs):
    dibs(
        "claim", f"src/{'deep/' * 20}file.py", "--reason", "because " * 40, "--task", "t" * 60,
        agent="an-agent-with-a-rather-long-name-that-goes-on-and-on",
    )  # fmt: skip
    dibs("claim", f"src/{'deep/' * 20}", "--queue", agent="b" * 64)

    lines = dibs("status").out.splitlines()

    assert max(map(len, lines)) <= 80


def test_a_table_wraps_without_losing_text():
    rows = [("src/" + "deep/" * 12 + "file.py", "why " * 30)]

    lines = table(("CLAIM", "WHY"), rows, width=60)

    assert max(map(len, lines)) <= 60
    cells = [(line[:31].strip(), line[31:].strip()) for line in lines[1:]]
    assert "".join(left for left, _ in cells) == rows[0][0]
    assert " ".join(right for _, right in cells).split() == rows[0][1].split()


def test_a_table_measures_columns_not_characters():
    lines = table(("A", "B"), [("日本", "x"), ("ab", "y"), ("e\u0301", "z")], width=80)

    assert lines[1:] == ["日本  x", "ab    y", "e\u0301     z"]


def test_a_table_that_is_too_wide_becomes_blocks():
    rows = [("a" * 50, "b" * 50, "c" * 50)]

    lines = table(("A", "B", "C"), rows, width=5)

    assert max(map(len, lines)) == 5
    assert (
        "".join(line.strip() for line in lines)
        == "a:" + "a" * 50 + "b:" + "b" * 50 + "c:" + "c" * 50
    )


@pytest.mark.parametrize("interval", ["0", "x", "2h"])
def test_the_interval_has_limits(dibs, interval):
    assert dibs("status", "--watch", "--interval", interval).status == 65


def test_a_watch_prints_an_object_for_each_change_until_ctrl_c(dibs, start):
    watch = start("status", "--watch", "--json", "--interval", "0.1")
    assert json.loads(watch.stdout.readline())["claims"] == []

    dibs("claim", "a", agent="alice")

    seen = json.loads(watch.stdout.readline())
    assert [claim["pattern"] for claim in seen["claims"]] == ["a"]
    watch.send_signal(signal.SIGINT)
    assert watch.wait(10) == 0


def test_a_watch_into_a_pipe_prints_a_new_view_for_each_change(dibs, start):
    watch = start("status", "--watch")
    assert watch.stdout.readline() == "no agents working\n"

    dibs("claim", "a", agent="alice")

    lines = [watch.stdout.readline() for _ in range(4)]
    assert lines[-1] == "1 agent working\n"
    watch.send_signal(signal.SIGINT)
    assert watch.wait(10) == 0
    assert watch.stderr.read() == ""


def test_a_watch_redraws_on_a_terminal_and_restores_the_screen(dibs, repo):
    import pexpect

    from .conftest import PROGRAM

    watch = pexpect.spawn(
        PROGRAM[0], [*PROGRAM[1:], "status", "--watch"], encoding="utf-8", dimensions=(30, 100)
    )
    watch.expect_exact("nothing is claimed")

    dibs("claim", "src/a.py", agent="alice")

    watch.expect_exact("src/a.py")
    watch.expect_exact("4m5")  # it counts down
    watch.sendintr()
    watch.expect_exact("\x1b[?1049l")
    watch.expect(pexpect.EOF)
    watch.close()
    assert watch.exitstatus == 0


def test_people_are_listed_apart_from_agents(dibs):
    dibs("claim", "a", agent="alice")
    dibs("claim", "b")

    lines = dibs("status").out.splitlines()

    assert lines[0] == "1 agent working"
    heads = [line.split()[0] for line in lines if line.isupper()]
    assert heads == ["AGENT", "PERSON", "CLAIM"]
    (person,) = [
        line
        for line in lines[lines.index("") :]
        if line.endswith(" ago  1") and "alice" not in line
    ]
    assert "human" not in person


def test_only_verbose_people_see_the_tokens_of_claims(dibs):
    token = dibs("claim", "a", "--json", agent="alice").json["token"]

    assert "TOKEN" not in dibs("status").out
    assert re.search(rf"a +exclusive +alice +\S+ +{token}\b", dibs("status", "-v").out)
