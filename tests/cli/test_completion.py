"""completion: scripts made from the parsers, tried in the shells that are here."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from dibs.cli.commands.completion import SHELLS, grammar
from dibs.cli.support import COMMANDS

from .conftest import PROGRAM

EVIL = "$(touch pwned)"


@pytest.fixture
def tab(dibs, repo, tmp_path, monkeypatch):
    """Return what a shell offers behind some words; ``dibs`` is found on the way."""
    monkeypatch.setenv("HOME", str(tmp_path))
    program = tmp_path / "bin" / "dibs"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nexec {PROGRAM[0]} {PROGRAM[1]} '{PROGRAM[2]}' \"$@\"\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    dibs("claim", "taken.txt", EVIL, agent="alice")
    dibs("claim", "b.txt", agent="bob")

    def press(shell, *words):
        if not shutil.which(shell):
            pytest.skip(f"{shell} is not installed")
        script = tmp_path / f"script.{shell}"
        script.write_text(dibs("completion", shell).out)
        return {"bash": in_bash, "fish": in_fish}[shell](script, words)

    return press


def in_bash(script, words):
    line = (
        f'source {script}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _dibs;'
        "((${#COMPREPLY[@]} == 0)) || printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    done = subprocess.run(
        ["bash", "-c", line, "bash", *words], capture_output=True, text=True, check=True
    )
    return done.stdout.split("\n")[:-1]


def in_fish(script, words):
    line = f'source {script}; complete -C "$argv"'
    done = subprocess.run(
        ["fish", "--no-config", "-c", line, "--", " ".join(words)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [offer.partition("\t")[0] for offer in done.stdout.splitlines()]


@pytest.mark.parametrize("shell", ["bash", "fish"])
@pytest.mark.parametrize(
    ("words", "offers"),
    [
        (("dibs", "cla"), ["claim"]),
        (("dibs", "claim", "--sha"), ["--shared"]),
        (("dibs", "agent", "le"), ["leave"]),
        (("dibs", "agent", "stop", "al"), ["alice"]),
        (("dibs", "agent", "report", "--con"), ["--context"]),
        (("dibs", "transfer", "a", "--to", "b"), ["bob"]),
        (("dibs", "release", "tak"), ["taken.txt"]),
        (("dibs", "run", "--on-lost", "w"), ["warn"]),
        (("dibs", "log", "--kind", "lock_den"), ["lock_denied"]),
        (("dibs", "completion", "z"), ["zsh"]),
    ],
)
def test_a_shell_offers_what_fits(tab, shell, words, offers):
    assert tab(shell, *words) == offers


@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_a_claimed_pattern_is_offered_and_never_run(tab, repo, shell):
    offers = tab(shell, "dibs", "release", "")

    assert EVIL in offers
    assert not (repo / "pwned").exists()


def test_files_are_offered_where_a_path_is_meant(tab, repo):
    (repo / "here.txt").touch()

    assert tab("bash", "dibs", "claim", "her") == ["here.txt"]
    assert tab("bash", "dibs", "log", "her") == []


def test_zsh_reads_the_script(dibs, tmp_path):
    if not shutil.which("zsh"):
        pytest.skip("zsh is not installed")
    script = tmp_path / "script.zsh"
    script.write_text(dibs("completion", "zsh").out)

    line = (
        f"autoload -U compinit; compinit -u -d {tmp_path}/dump; source {script}; echo $_comps[dibs]"
    )
    done = subprocess.run(["zsh", "-f", "-c", line], capture_output=True, text=True, check=True)

    assert (done.stdout, done.stderr) == ("_dibs\n", "")


@pytest.mark.parametrize("shell", SHELLS)
def test_every_command_and_option_is_in_the_script(dibs, shell):
    script = dibs("completion", shell).out

    assert {words.names[0] for words in grammar()} == set(COMMANDS)
    for words in grammar():
        assert all(name in script for name in words.names)
        for option in words.options:
            assert all(spelling.lstrip("-") in script for spelling in option.spellings)
    assert "--values agents" in script or "values=agents" in script or "_values agents" in script


def test_the_script_is_json_too(dibs):
    answer = dibs("completion", "bash", "--json").json

    assert answer["script"] + "\n" == dibs("completion", "bash").out


def test_a_shell_is_named(dibs):
    assert dibs("completion").status == 64
    answer = dibs("completion", "fsh")
    assert answer.status == 64
    assert "did you mean fish?" in answer.err


def test_values_are_silent_where_there_is_no_project(dibs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    answer = dibs("completion", "--values", "agents")

    assert answer == (0, "", "")


def test_the_hidden_option_stays_hidden(dibs):
    assert "--values" not in dibs("completion", "--help").out
