"""The environment of the command: closed streams, odd encodings, missing folders, signals."""

from __future__ import annotations

import os
import signal
import subprocess
import time

import pytest

from dibs.cli.support.serving import need_extra
from dibs.crew.control import _need_packages
from dibs.errors import Misconfigured

from .conftest import PROGRAM


def run(*words, **options):
    options = {"capture_output": True, "text": True, "timeout": 60, **options}
    return subprocess.run([*PROGRAM, *words], check=False, **options)


def shell(line, **options):
    """Run a shell line in which ``dibs`` is the command."""
    program = f"dibs() {{ {PROGRAM[0]} {PROGRAM[1]} '{PROGRAM[2]}' \"$@\"; }}; "
    options = {"capture_output": True, "text": True, "timeout": 60, **options}
    return subprocess.run(["bash", "-c", program + line], check=False, **options)


def test_a_closed_pipe_is_not_an_error(dibs, repo):
    done = shell("set -o pipefail; dibs claim {1..900}.txt --json | head -c 1 >/dev/null")

    assert done.returncode == 0
    assert done.stderr == ""


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("shape", ["", "--json"])
def test_a_denial_keeps_its_status_when_no_one_reads_it(dibs, monkeypatch, unbuffered, shape):
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    dibs("claim", "a", agent="alice")

    done = shell(f"dibs claim a --agent bob {shape} | true; exit ${{PIPESTATUS[0]}}")

    assert done.returncode == 3
    assert done.stderr == ""


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_that_cannot_be_written_is_one_line(repo, monkeypatch, unbuffered):
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)

    done = shell("dibs status > /dev/full")

    assert done.returncode == 69
    assert done.stderr.count("\n") == 1
    assert "No space left on device" in done.stderr


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_do_no_harm(dibs, repo, closed):
    done = shell(f"dibs claim a --new --agent alice {closed}")

    assert done.returncode == 0
    assert done.stderr == ""
    assert [c["agent"] for c in dibs("status", "--json").json["claims"]] == ["alice"]


@pytest.mark.parametrize(
    "environ", [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}]
)
def test_characters_beyond_the_encoding_are_escaped_and_json_stays_json(dibs, repo, environ):
    import json

    environ = {**os.environ, "PYTHONUTF8": "0", **environ}
    dibs("claim", "é.txt", "--reason", "日本 😀", agent="alice")

    text, shape = run("status", env=environ), run("status", "--json", env=environ)

    assert (text.returncode, shape.returncode) == (0, 0)
    assert json.loads(shape.stdout)["claims"][0]["reason"] == "日本 😀"


def test_raw_bytes_in_an_argument_do_not_break_the_output(repo):
    reason = b"caf\xe9"

    done = subprocess.run(
        [*PROGRAM, "claim", "a", "--json", "--reason", reason], check=False, capture_output=True
    )

    assert done.returncode == 0
    assert b"caf\\\\udce9" in done.stdout


@pytest.mark.parametrize("name", ["status", "claim", "init", "config", "who"])
def test_a_missing_current_folder_is_one_line(repo, tmp_path, name):
    words = {"claim": "claim a", "who": "who a"}.get(name, name)

    done = shell(f"mkdir {tmp_path}/x; cd {tmp_path}/x; rmdir {tmp_path}/x; dibs {words}")

    assert done.returncode == 6
    assert done.stderr.count("\n") == 1


def test_neither_home_nor_path_is_needed(repo):
    environ = {"PYTHONPATH": os.environ["PYTHONPATH"]}

    assert run("claim", "a", env=environ).returncode == 0
    assert run("init", "--agents", "none", env=environ).returncode == 0


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_wait_leaves_the_queue(dibs, start, number, status):
    dibs("claim", "a", agent="alice")
    waiting = start("claim", "a", "--wait", "60", "--agent", "bob")
    give_up = time.monotonic() + 30
    while not dibs("status", "--json").json["queue"]:
        assert time.monotonic() < give_up

    waiting.send_signal(number)

    assert waiting.wait(20) == status
    assert [line.split(" (")[0] for line in waiting.stderr] in ([], ["dibs: waiting for alice"])
    assert dibs("status", "--json").json["queue"] == []


def test_a_wait_under_nohup_survives_a_hangup(dibs, start):
    dibs("claim", "a", agent="alice")
    waiting = start("claim", "a", "--wait", "60", "--agent", "bob", program=("nohup", *PROGRAM))
    give_up = time.monotonic() + 30
    while not dibs("status", "--json").json["queue"]:
        assert time.monotonic() < give_up

    waiting.send_signal(signal.SIGHUP)
    dibs("release", "a", agent="alice")

    assert waiting.wait(20) == 0
    assert waiting.stdout.read().startswith("granted a ")


def test_color_is_for_terminals_only(dibs, repo):
    import pexpect

    dibs("claim", "a", agent="alice")
    shown = []
    for environ in ({}, {"NO_COLOR": "1"}, {"TERM": "dumb"}):
        child = pexpect.spawn(
            PROGRAM[0],
            [*PROGRAM[1:], "status"],
            env={**os.environ, "TERM": "xterm", **environ},
            encoding="utf-8",
        )
        child.expect(pexpect.EOF)
        shown.append("\x1b[" in child.before)
        child.close()

    assert shown == [True, False, False]
    assert "\x1b[" not in run("status").stdout


@pytest.mark.parametrize(
    ("check", "extra"), [(lambda: need_extra("serve"), "server"), (_need_packages, "crew")]
)
def test_a_missing_extra_is_named(monkeypatch, check, extra):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    with pytest.raises(Misconfigured, match=f"needs the extra `{extra}`, which is not installed$"):
        check()


def test_an_uncommitted_file_whose_name_is_not_utf8_is_released_and_claimed_again(dibs, repo):
    name = os.fsdecode(b"odd\xff.py")
    (repo / name).write_bytes(b"x = 1\n")
    dibs("claim", name, agent="alice")

    assert dibs("release", "--all", agent="alice").status == 0

    told = dibs("claim", name, agent="bob")
    assert (told.status, "odd\\xff.py" in told.out, "alice" in told.out) == (0, True, True)
