"""The pre-commit note saves a second check, and never hides a change in between."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def no_python(repo):
    """Remove the interpreter from the reference-transaction hook."""
    hook = repo.root / ".git/hooks/reference-transaction"
    text = hook.read_text()
    assert f"python={sys.executable}\n" in text
    hook.write_text(text.replace(f"python={sys.executable}\n", "python=/nowhere/python\n"))
    return repo


def editor(folder: Path, *commands: str) -> str:
    """Return an editor that runs ``commands`` while git waits for a message."""
    place = folder / "editor"
    place.write_text("\n".join(("#!/bin/sh", *commands, 'echo words >"$1"', "")))
    place.chmod(0o755)
    return str(place)


def claim(pattern: str) -> str:
    return f"{sys.executable} -m dibs claim {pattern} --agent alice >/dev/null || exit 1"


def test_a_plain_commit_is_checked_once(no_python):
    no_python.commit("b.txt", "c.txt", agent="bob")
    no_python.commit("b.txt", "d/e.txt")
    no_python.git("rm", "-q", "c.txt")
    no_python.git("mv", "b.txt", "f.txt")
    no_python.git("commit", "-q", "-m", "x")


def test_a_note_is_not_valid_for_another_commit(no_python):
    no_python.commit("b.txt", agent="bob")
    no_python.edit("b.txt")

    said = no_python.refused("commit", "--no-verify", "-m", "x", agent="bob")

    assert "/nowhere/python is missing" in said


def test_a_claim_taken_after_pre_commit_is_still_seen(repo, tmp_path):
    repo.edit("b.txt")

    said = repo.refused("commit", GIT_EDITOR=editor(tmp_path, claim("b.txt")), agent="bob")

    assert "b.txt: alice holds it" in said
    assert "branch update refused" in said


def test_a_note_is_not_valid_after_another_claim(no_python, tmp_path):
    no_python.edit("b.txt")

    said = no_python.refused("commit", GIT_EDITOR=editor(tmp_path, claim("c.txt")), agent="bob")

    assert "/nowhere/python is missing" in said


def test_a_note_is_valid_only_for_the_checked_paths(no_python, tmp_path):
    no_python.edit("b.txt")
    note = no_python.root / ".git/dibs-pass"

    other = editor(tmp_path, f"sed -i s/b.txt/c.txt/ {note}")
    assert "/nowhere/python is missing" in no_python.refused("commit", GIT_EDITOR=other)
    same = editor(tmp_path, f"sed -i s/c.txt/b.txt/ {note}")
    no_python.git("commit", GIT_EDITOR=same)


def test_a_note_is_valid_only_for_its_agent(no_python, tmp_path):
    # A hook between the two changes who commits; the note's first line shows it.
    no_python.edit("b.txt")
    note = no_python.root / ".git/dibs-pass"
    forge = f"printf '%s' \"$(sed 's/ bob$/ eve/' {note})\" >{note}"

    no_python.refused("commit", GIT_EDITOR=editor(tmp_path, forge), agent="bob")


def test_no_note_is_written_if_claims_are_required(no_python, dibs, monkeypatch):
    monkeypatch.setenv("DIBS_GATE_UNCLAIMED", "deny")
    dibs("claim", "b.txt", agent="bob")
    no_python.edit("b.txt")

    no_python.refused("commit", "-m", "x", agent="bob")

    assert not (no_python.root / ".git/dibs-pass").exists()
