"""completion: what the program offers, in the shells that are installed."""

from __future__ import annotations

import shutil
import subprocess
from argparse import SUPPRESS

import pytest

from dibs.cli.commands.completion import SCRIPTS, offers
from dibs.cli.support import COMMANDS, load
from dibs.cli.support.parsing import build

from .conftest import PROGRAM


@pytest.fixture
def tab(dibs, repo, tmp_path, monkeypatch):
    """Return what a shell offers after some words; ``dibs`` is on the PATH."""
    monkeypatch.setenv("HOME", str(tmp_path))
    program = tmp_path / "bin" / "dibs"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nexec {PROGRAM[0]} {PROGRAM[1]} '{PROGRAM[2]}' \"$@\"\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")

    def press(shell, *words):
        if not shutil.which(shell):
            pytest.skip(f"{shell} is not installed")
        script = tmp_path / f"script.{shell}"
        script.write_text(dibs("completion", shell).out)
        return {"bash": in_bash, "zsh": in_zsh, "fish": in_fish}[shell](script, words)

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


def in_zsh(script, words):
    """Return what zsh would add; its real completion needs a terminal."""
    stubs = "compdef() { : }; compadd() { print -rl -- ${(P)@[-1]} };"
    line = f"{stubs} source {script}; words=($@); CURRENT=$#; _dibs"
    done = subprocess.run(
        ["zsh", "-f", "-c", line, "zsh", *[word or "''" for word in words]],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [offer for offer in done.stdout.split("\n") if offer]


def in_fish(script, words):
    line = f'source {script}; complete -C "$argv"'
    done = subprocess.run(
        ["fish", "--no-config", "-c", line, "--", " ".join(words)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [offer.partition("\t")[0] for offer in done.stdout.splitlines()]


@pytest.mark.parametrize("shell", SCRIPTS)
@pytest.mark.parametrize(
    ("words", "offers"),
    [
        (("dibs", "cla"), ["claim"]),
        (("dibs", "claim", "--sha"), ["--shared"]),
        (("dibs", "agent", "le"), ["leave"]),
        (("dibs", "agent", "report", "--con"), ["--context"]),
        (("dibs", "run", "--on-lost", "w"), ["warn"]),
        (("dibs", "completion", "z"), ["zsh"]),
    ],
)
def test_a_shell_offers_matching_words(tab, shell, words, offers):
    assert tab(shell, *words) == offers


@pytest.mark.parametrize("shell", SCRIPTS)
def test_files_are_offered_for_path_arguments_and_never_run(tab, repo, shell):
    (repo / "$(touch pwned)").touch()
    (repo / "here.txt").touch()

    assert tab(shell, "dibs", "claim", "her") == ["here.txt"]
    assert "$(touch pwned)" in tab(shell, "dibs", "claim", "")
    assert not (repo / "pwned").exists()
    assert tab(shell, "dibs", "log", "her") == []


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


def parsers():
    """Yield the words and the parser of each command and subcommand."""
    for name in COMMANDS:
        parser = build(name, load(name))
        verbs = next((a for a in parser._actions if a.dest == "verb"), None)
        yield (name,), parser
        for verb, inner in verbs.choices.items() if verbs else ():
            yield (name, verb), inner


def offered(*words):
    return {word for word, _ in offers(words)}


def test_every_command_subcommand_and_option_is_offered(repo):
    assert offered("") == {*COMMANDS, "help"}
    assert offered("help", "") == set(COMMANDS)
    for words, parser in parsers():
        verbs = next((a for a in parser._actions if a.dest == "verb"), None)
        if verbs:
            assert offered(*words, "") == set(verbs.choices)
        else:
            shown = [a for a in parser._actions if a.help != SUPPRESS]
            assert offered(*words, "-") == {name for a in shown for name in a.option_strings}


@pytest.mark.parametrize("shell", SCRIPTS)
def test_a_script_offers_what_the_program_prints(dibs, shell):
    assert "dibs completion --offer -- " in dibs("completion", shell).out


def test_the_script_is_json_too(dibs):
    answer = dibs("completion", "bash", "--json").json

    assert answer["script"] + "\n" == dibs("completion", "bash").out


def test_an_unknown_shell_is_an_error(dibs):
    assert dibs("completion").status == 64
    answer = dibs("completion", "fsh")
    assert answer.status == 64
    assert "did you mean 'fish'?" in answer.err


def test_the_hidden_option_stays_hidden(dibs):
    assert "--offer" not in dibs("completion", "--help").out
