"""``dibs orchestrate``: one cycle, and watching."""

from __future__ import annotations

import os
import signal
import subprocess
from types import SimpleNamespace

import pytest
from tests.cli.conftest import PROGRAM

from dibs.cli.commands import orchestrate

EMPTY = "Coordinator cycle: 0 assigned, 0 follow-ups, 0 timeouts, 0 conflicts, 0 archived\n"


def drop(repo, stem="2025-11-23T1430-curator-audit", text="agent: curator\nstatus: new\n"):
    path = repo / "work" / "inbox" / f"{stem}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"id: {stem}\n{text}")
    return path


class Watcher:
    """A watching process, and the lines that it prints."""

    def __init__(self, *words, **options):
        self.process = subprocess.Popen(
            [*PROGRAM, "orchestrate", "--watch", *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options,
        )  # fmt: skip

    def line(self):
        return self.process.stdout.readline()

    def end(self, number=signal.SIGINT):
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=20)
        return self.process.returncode, out, err


@pytest.fixture
def watch():
    started = []

    def begin(*words, **options):
        started.append(Watcher(*words, **options))
        return started[-1]

    yield begin
    for watcher in started:
        if watcher.process.poll() is None:
            watcher.process.kill()
        watcher.process.communicate()


def test_a_cycle_without_tasks_creates_no_board(dibs, repo):
    assert (
        dibs("orchestrate").out == EMPTY + '  no tasks: create one with `dibs task new "TITLE"`\n'
    )

    assert sorted(os.listdir(repo)) == [".git"]


def test_one_cycle_is_one_line(dibs, repo):
    drop(repo)

    assert dibs("orchestrate").out == EMPTY.replace("0 assigned", "1 assigned")
    assert dibs("orchestrate", "--once").out == EMPTY


def test_json_contains_everything_that_happened(dibs, repo):
    drop(repo)
    drop(repo, "2025-11-23T1431-curator-bad", "agent: curator\nstatus: neww\n")

    told = dibs("orchestrate", "--json").json

    assert told["assigned"] == ["2025-11-23T1430-curator-audit"]
    assert told["accepted"] == ["2025-11-23T1430-curator-audit"]
    assert [(one["file"], one["line"], one["field"]) for one in told["set_aside"]] == [
        ("work/inbox/2025-11-23T1431-curator-bad.yaml", 3, "status")
    ]
    assert told["timeouts"] == told["conflicts"] == told["archived"] == []


def test_a_file_set_aside_is_shown_with_its_reason(dibs, repo):
    drop(repo, text="agent: curator\nstatus: neww\n")

    out = dibs("orchestrate").out

    assert out.startswith(EMPTY.removesuffix("\n") + ", 1 set aside\n")
    assert "inbox/2025-11-23T1430-curator-audit.yaml" in out
    assert "neww" in out


def test_hostile_text_is_shown_escaped(dibs, repo):
    drop(repo, text='agent: curator\nstatus: "\\e[31mnew"\n')

    out = dibs("orchestrate").out

    assert "\x1b" not in out


@pytest.mark.parametrize(
    "words", [("--once", "--watch"), ("--every", "1s"), ("--watch", "--every", "nonsense")]
)
def test_invalid_options_are_refused_before_anything_is_created(dibs, repo, words):
    answer = dibs("orchestrate", *words)

    assert answer.status in {64, 65}
    assert not (repo / "work").exists()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_watcher_notices_a_new_file_and_exits_cleanly(repo, watch, number):
    watcher = watch()
    assert watcher.line() == EMPTY

    drop(repo)

    assert watcher.line() == EMPTY.replace("0 assigned", "1 assigned")
    status, out, err = watcher.end(number)
    assert status == (0 if number == signal.SIGINT else 128 + number)
    assert (out, err) == ("", "")


@pytest.mark.slow
def test_a_watcher_prints_nothing_for_cycles_that_did_nothing(repo, watch, dibs):
    drop(repo, text="agent: curator\nstatus: neww\n")
    watcher = watch("--every", "1s")
    assert watcher.line().endswith("1 set aside\n")
    assert "neww" in watcher.line()
    for _ in range(5):
        dibs("claim", "a.txt", agent="bob")
        dibs("release", "a.txt", agent="bob")

    status, out, _ = watcher.end()

    assert (status, out) == (0, "")


def test_a_watcher_says_once_that_the_board_is_unusable_and_goes_on_later(dibs, repo, monkeypatch):
    drop(repo)
    dibs("orchestrate")
    os.rename(repo / "work", repo / "away")
    (repo / "work").symlink_to(repo / "away")
    pauses = []

    def pause(_):
        pauses.append("between two cycles")
        if len(pauses) == 3:
            os.unlink(repo / "work")
            os.rename(repo / "away", repo / "work")
            drop(repo, stem="2025-11-23T1430-curator-next")

    def end(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(orchestrate, "time", SimpleNamespace(sleep=pause))
    monkeypatch.setattr(orchestrate, "_wait", end)

    answer = dibs("orchestrate", "--watch")

    assert (answer.status, answer.err.count("retrying"), len(pauses)) == (0, 1, 3)
    assert answer.out == EMPTY.replace("0 assigned", "1 assigned")


@pytest.mark.slow
def test_a_watcher_survives_an_unreachable_store(repo, watch, tmp_path):
    from tests.servers import RedisServer

    with RedisServer(tmp_path / "redis") as server:
        environ = {**os.environ, "DIBS_ENGINE": server.url, "DIBS_PROJECT": "yard"}
        watcher = watch("--every", "1s", env=environ)
        watcher.line()
        server.stop()
        assert "retrying" in watcher.process.stderr.readline()
        server.start()

        drop(repo)

        assert watcher.line() == EMPTY.replace("0 assigned", "1 assigned")
        status, _, err = watcher.end()
    assert status == 0
    assert "retrying" not in err
