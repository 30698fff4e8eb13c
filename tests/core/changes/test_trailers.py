"""Commit messages: what is kept, what is refused, and that trailers cannot be forged."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.core.changes.trailers import check_message, cleaned, paragraphs, read_signed, signed
from dibs.core.claims.rules import Claim
from dibs.errors import BadInput

CLAIM = Claim("c7", "src/", "exclusive", "alice", 7, 300.0, 0.0, task="T-1")


@pytest.mark.parametrize(
    "line",
    [
        "Dibs-Token: 9", "dibs-token: 9", "DIBS-AGENT:bob", "Dibs-Claim : c1", "  Dibs-Claim: c1",
        "Dibs-Anything: x", "\tDibs-Token: 1", "> Dibs-Token: 1", "Dibs-Token = 1",
    ],
)  # fmt: skip
@pytest.mark.parametrize("frame", ["{}", "a\n\n{}", "a\n{}\nb", "a\n\nb: c\n{}", "a\r\n\r\n{}\r\n"])
def test_a_line_that_looks_like_a_dibs_trailer_is_refused_anywhere(line, frame):
    with pytest.raises(BadInput) as forged:
        check_message(frame.format(line))
    assert forged.value.code == "MESSAGE"


@pytest.mark.parametrize(
    "text", ["dibs commit: works", "use dibs-mode", "Dibs keeps: order", "fix Dibs-Token: parsing"]
)
def test_text_about_dibs_is_not_a_trailer(text):
    assert check_message(text) == text


@pytest.mark.parametrize(
    "end", ["\v", "\f", "\x1c", "\x85", "\u2028", "\u2029", "\r", "\x1b", "\x9b"]
)
def test_no_unusual_newline_hides_a_trailer(end):
    with pytest.raises(BadInput):
        check_message(f"a{end}Dibs-Token: 9")


def test_a_message_is_cleaned_as_git_does():
    assert cleaned("\n\n a \t\n\n\n\nb\n\n") == " a\n\nb"
    assert paragraphs(["a\n", " ", "b"]) == "a\n\nb"


def test_trailers_are_added_to_the_users_trailers():
    text = signed("subject\n\nbody\n\nSigned-off-by: A <a@b>", "alice", [CLAIM])
    assert text.endswith(
        "\n\nSigned-off-by: A <a@b>\nDibs-Agent: alice\nDibs-Claim: c7\nDibs-Token: 7\nDibs-Task: T-1\n"
    )
    assert signed("fix: it", "alice", [CLAIM]).startswith("fix: it\n\nDibs-Agent")


@given(st.text(max_size=200), st.sampled_from(["alice", "bob-2"]))
def test_trailers_are_read_back_whatever_the_message_says(text, agent):
    try:
        message = check_message(text)
    except BadInput:
        return
    found = read_signed(signed(message, agent, [CLAIM]))
    assert found == (agent, ("c7",), (7,), ("T-1",))


def test_a_message_without_dibs_trailers_proves_nothing():
    assert read_signed("fix\n\nDibs-Agent: alice\n\nlater words\n") is None
    assert read_signed("fix") is None


def test_a_message_that_is_not_utf_8_is_refused():
    with pytest.raises(BadInput) as refused:
        check_message("caf\udce9")
    assert refused.value.code == "MESSAGE"
