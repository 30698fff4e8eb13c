"""The help screens: the overview, examples, and what an error suggests."""

from __future__ import annotations

import re
import shlex

import pytest
from tests.cli.test_completion import parsers

from dibs.cli import main
from dibs.cli.support import COMMANDS, GROUPS, load
from dibs.cli.support.examples import examples_in
from dibs.cli.support.help import overview
from dibs.cli.support.parsing import build, parse
from dibs.cli.support.suggestions import MEANINGS


def understood(line):
    """Parse a command line as the program would."""
    line = re.sub(r'^eval "\$\((.*)\)"$', r"\1", line)
    words = shlex.split(re.split(r" (?:\||&&|;|<) ", line)[0], comments=True)
    while re.fullmatch(r"[A-Z_]+=.*", words[0]):
        words.pop(0)
    program, name, *words = words
    assert program == "dibs"
    if name != "help":
        parse(name, load(name), words)


# -- the overview


def test_help_lists_every_command_in_its_group(dibs):
    answer = dibs("help")

    assert answer.status == 0
    assert all(f"\n  {name} " in answer.out for name in COMMANDS)
    assert [line for line in answer.out.splitlines() if line in GROUPS] == list(GROUPS)


def test_every_command_belongs_to_exactly_one_group():
    assert sum(len(group) for group in GROUPS.values()) == len(COMMANDS)


@pytest.mark.parametrize("words", [("help", "help"), ("--help",), ("--help", "--help"), ("-h",)])
def test_every_way_to_ask_for_help_shows_the_same_screen(dibs, words):
    assert dibs(*words).out == dibs("help").out


@pytest.mark.parametrize("width", [36, 40, 60, 80, 200])
def test_the_overview_fits_the_terminal_and_breaks_no_word(width):
    lines = "\n".join(overview(width)).split("\n")

    assert max(map(len, lines)) <= width
    words = " ".join(" ".join(lines).split())
    assert all(summary in words for summary in COMMANDS.values())


def test_the_overview_is_json_too(dibs):
    answer = dibs("help", "--json").json

    assert [group["name"] for group in answer["groups"]] == list(GROUPS)
    assert {c["name"] for group in answer["groups"] for c in group["commands"]} == set(COMMANDS)


# -- one command


def test_help_for_a_command_is_the_commands_own_help(dibs):
    for name in COMMANDS:
        assert dibs("help", name).out == dibs(name, "--help").out


def test_help_for_a_subcommand_is_the_subcommands_own_help(dibs):
    assert dibs("help", "task", "new").out == dibs("task", "new", "--help").out


def test_help_for_a_command_is_json_too(dibs):
    command = dibs("help", "claim", "--json").json["command"]

    assert command["usage"].startswith("dibs claim")
    assert command["examples"]
    assert command["text"] == dibs("claim", "--help").out
    inner = dibs("help", "task", "new", "--json").json["command"]
    assert (inner["name"], inner["summary"]) == ("task new", "create a task")
    assert inner["text"] == dibs("task", "new", "--help").out


def test_help_for_an_unknown_word_suggests_one_that_exists(dibs):
    answer = dibs("help", "stauts")

    assert answer.status == 64
    assert answer.err == "dibs: unknown command 'stauts' (did you mean 'dibs help status'?)\n"


def test_subcommands_are_a_plain_list(dibs):
    text = dibs("help", "git").out

    assert "\nsubcommands:\n  install " in text
    assert "None" not in text


# -- examples


def test_every_command_and_subcommand_has_examples():
    bare = [words for words, parser in parsers() if not examples_in(parser.format_help())]

    assert bare == []


def test_every_example_parses_and_the_first_is_of_its_own_command():
    for words, parser in parsers():
        lines = [line.partition("   ")[0] for line in examples_in(parser.format_help())]
        assert f"dibs {' '.join(words)}" in lines[0]
        for line in lines:
            understood(line)


# -- suggestions


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("stauts", "dibs status"),
        ("lock", "dibs claim"),
        ("unlock", "dibs release"),
        ("ls", "dibs status"),
        ("watch", "dibs status --watch"),
        ("uninstall", "dibs init --uninstall"),
        ("unistall", "dibs init --uninstall"),
        ("wait", "dibs claim --wait 5m"),
    ],
)
def test_an_unknown_command_suggests_the_one_that_was_meant(dibs, word, meant):
    answer = dibs(word)

    assert answer.status == 64
    assert answer.err == f"dibs: unknown command '{word}' (did you mean '{meant}'?)\n"
    assert answer.out == ""


def test_a_word_without_a_meaning_gets_the_list_of_commands(dibs):
    assert dibs("xyzzy").err == "dibs: unknown command 'xyzzy' (`dibs help` lists the commands)\n"


def test_no_synonym_hides_a_command():
    assert MEANINGS.keys().isdisjoint(COMMANDS)


def test_every_suggestion_names_options_and_subcommands_that_exist():
    for line in set(MEANINGS.values()) - {"help"}:
        name, *words = line.split()
        parser = build(name, load(name))
        verbs = next((a.choices for a in parser._actions if a.dest == "verb"), None)
        if verbs:
            parser = verbs[words.pop(0)]
        options = [word for word in words if word.startswith("-")]
        assert set(options) <= set(parser._option_string_actions), line


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("task", "nwe"), "task: unknown subcommand 'nwe' (did you mean 'new'?)"),
        (("git",), "git: missing subcommand (use one of install, uninstall, status, check)"),
        (("-v",), "unknown option '-v' (options go after the command)"),
        (("claim", "a", "--raeson", "x"), "claim: unknown option '--raeson' (did you mean '--reason'?)"),
        (("claim", "a", "--ttl"), "claim: --ttl needs a value (see `dibs claim --help`)"),
        (
            ("claim",),
            'claim: missing PATTERN (for example: dibs claim src/auth.py --reason "fix login")',
        ),
        (
            ("revoke", "my file.py"),
            "revoke: missing --reason (run: dibs revoke 'my file.py' --reason WHY)",
        ),
        (
            ("revoke", "--", "-x.py"),
            "revoke: missing --reason (run: dibs revoke --reason WHY -- -x.py)",
        ),
        (
            ("transfer", "docs/", "bob"),
            "transfer: missing --to (run: dibs transfer docs/ --to bob)",
        ),
        (
            ("task", "take", "t1"),
            "task: unexpected argument 't1' (for a specific task, use: dibs task start TASK)",
        ),
        (("explain", "a", "b", "c"), "explain: unexpected argument 'c' (see `dibs explain --help`)"),
        (
            ("task", "new", "x", "--priority", "hgh"),
            "task new: invalid --priority 'hgh' (did you mean 'high'?)",
        ),
        (
            ("claim", "-x.py"),
            "claim: unknown option '-x.py' (for a path, use -- first: dibs claim -- -x.py)",
        ),
    ],
)  # fmt: skip
def test_a_wrong_command_line_gets_an_error_that_says_what_is_valid(dibs, words, message):
    answer = dibs(*words)

    assert answer.status == 64
    assert answer.err == f"dibs: {message}\n"


def test_a_file_whose_name_looks_like_an_option_gets_the_double_dash(dibs, repo):
    (repo / "-x").touch()

    assert "dibs claim -- -x)" in dibs("claim", "-x").err
    assert dibs("claim", "--", "-x").status == 0


def test_an_option_before_the_command_is_an_error_that_says_where_it_goes(capsys):
    assert main(["--json", "status"]) == 64
    assert "options go after the command" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("foo",), "(`dibs help` lists the commands)"),
        (("say", "--shade", "bob", "hi"), "(see `dibs say --help`)"),
        (("init", "--remove"), "(did you mean '--uninstall'?)"),
        (("worktree", "prune"), "(did you mean 'gc'?)"),
        (("init", "--uninstal"), "(did you mean '--uninstall'?)"),
    ],
)
def test_a_suggestion_is_close_in_meaning_or_spelling_or_missing(dibs, words, hint):
    assert dibs(*words).err.rstrip("\n").endswith(hint)
