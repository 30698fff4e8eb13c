from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from dibs.core.text.names import check_agent_id
from dibs.errors import BadInput
from dibs.local.identity import _device_name, acting_agent

SHOW = "import os; from dibs.local.identity import acting_agent; print(*acting_agent(None, os.environ)[:3])"


def test_the_flag_takes_precedence_over_the_environment():
    acting = acting_agent("flagged", {"DIBS_AGENT": "named", "USER": "alice"})

    assert acting[:3] == ("flagged", False, "flag")


def test_the_environment_takes_precedence_over_the_terminal():
    acting = acting_agent(None, {"DIBS_AGENT": "named", "USER": "alice"})

    assert acting[:3] == ("named", False, "variable")


@pytest.mark.parametrize("environ", [{"USER": "alice"}, {"USER": "alice", "DIBS_AGENT": ""}])
def test_without_a_name_the_caller_is_human(environ):
    acting = acting_agent(None, environ)

    assert acting.human
    assert acting.id.startswith("alice-")


def test_a_human_keeps_the_same_identity():
    assert acting_agent(None, {"USER": "alice"}) == acting_agent(None, {"USER": "alice"})


def test_without_a_terminal_the_session_is_used():
    ran = subprocess.run(
        [sys.executable, "-c", SHOW + "; print(os.getsid(0))"],
        env={**os.environ, "USER": "alice", "DIBS_AGENT": ""},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        start_new_session=True,
        check=True,
    )
    identity, session = ran.stdout.splitlines()

    assert identity == f"alice-s{session} True session"


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_person_is_the_same_human_in_every_terminal_even_if_all_streams_are_pipes():
    read_end, write_end = os.pipe()
    child, terminal = pty.fork()
    if child == 0:
        environ = {**os.environ, "USER": "alice", "DIBS_AGENT": ""}
        os.dup2(write_end, 1)
        os.dup2(write_end, 2)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.execve(sys.executable, [sys.executable, "-c", SHOW], environ)
    os.close(write_end)

    with os.fdopen(read_end) as answers:
        answer = answers.read()
    os.waitpid(child, 0)
    os.close(terminal)

    assert answer.startswith("alice-terminal True terminal")


@pytest.mark.parametrize(
    ("device", "name"),
    [
        (136 << 8 | 3, "pts-3"),
        (137 << 8 | 3, "pts-259"),
        (1 << 20 | 136 << 8 | 44, "pts-300"),
        (4 << 8 | 1, "tty1"),
        (4 << 8 | 64, "ttyS0"),
        (204 << 8 | 64, "tty204.64"),
    ],
)
def test_a_terminal_is_named_by_its_device_number(device, name):
    assert _device_name(device) == name


@pytest.mark.parametrize(
    ("user", "start"),
    [
        ("DOMAIN\\alice smith", "DOMAIN-alice-smith-"),
        ("-rf", "rf-"),
        ("é", "x-"),
        ("a" * 300, "a" * 40 + "-"),
    ],
)
def test_an_odd_user_name_still_gives_a_valid_id(user, start):
    acting = acting_agent(None, {"USER": user})

    assert check_agent_id(acting.id).startswith(start)


def test_without_variables_the_user_id_is_used():
    assert acting_agent(None, {}).id.startswith(f"u{os.getuid()}-")


@pytest.mark.parametrize("text", ["a", "A1", "agent-1.b_c", "0", "a" * 64])
def test_an_id_is_letters_digits_dots_underscores_and_hyphens(text):
    assert check_agent_id(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a" * 65,
        "../x",
        "a b",
        "-x",
        ".",
        "..",
        "_a",
        "a/b",
        "a\nb",
        "a\n",
        "é",
        "٣",
        "a\x1b[2J",
        None,
        7,
    ],
)
def test_an_invalid_id_is_refused_and_shown_escaped(text):
    with pytest.raises(BadInput) as caught:
        check_agent_id(text)

    assert caught.value.code == "AGENT_ID"
    assert caught.value.message.isprintable()
    assert "64" in caught.value.hint


def test_an_invalid_flag_is_refused_even_if_empty():
    with pytest.raises(BadInput, match="not a valid agent id"):
        acting_agent("", {"DIBS_AGENT": "named"})


def test_an_invalid_variable_is_named_in_the_message():
    with pytest.raises(BadInput, match="DIBS_AGENT: 'a b'") as caught:
        acting_agent(None, {"DIBS_AGENT": "a b"})

    assert caught.value.field == "DIBS_AGENT"
