"""Rules for every command: it has help, takes the common options, and fails in one clear line."""

from __future__ import annotations

import pytest

from dibs.cli import main
from dibs.cli.support import COMMANDS, load
from dibs.cli.support.parsing import build


def test_no_command_at_all_shows_the_help(capsys):
    status = main([])

    assert status == 0
    assert "usage: dibs COMMAND" in capsys.readouterr().out


def _words(text):
    return " ".join(text.split())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_a_module_whose_docstring_its_help_shows(dibs, name):
    answer = dibs(name, "--help")

    assert answer.status == 0
    shown = _words(answer.out)
    assert all(_words(part) in shown for part in (load(name).__doc__ or "").split("\n\n"))
    assert answer.err == ""


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_takes_json_and_a_repository(name):
    parser = build(name, load(name))
    verbs = next((a.choices for a in parser._actions if a.dest == "verb"), {"": parser})

    for inner in verbs.values():
        assert {"--json", "--repo", "--agent"} <= set(inner._option_string_actions)


def test_the_version_is_that_of_the_package(dibs):
    from dibs import __version__

    assert dibs("--version").out == f"dibs {__version__}\n"


@pytest.mark.parametrize(
    "words",
    [("claim",), ("who",), ("explain", "a"), ("transfer", "a"), ("revoke", "a"), ("agent",)],
)
def test_a_missing_argument_is_a_usage_error_in_one_line(dibs, words):
    answer = dibs(*words)

    assert answer.status == 64
    assert answer.err.count("\n") == 1
    assert answer.out == ""


def test_an_option_given_twice_is_refused(dibs):
    answer = dibs("claim", "a", "--ttl", "10", "--ttl", "20")

    assert answer.status == 64
    assert "--ttl given more than once" in answer.err


def test_an_invalid_value_has_its_own_status(dibs):
    answer = dibs("claim", "--ttl=abc", "a")

    assert answer.status == 65
    assert "'abc'" in answer.err


def test_with_json_an_error_is_one_object(dibs):
    answer = dibs("claim", "../out", "--json")

    assert answer.status == 65
    assert answer.json["error"]["code"] == "PATH_ESCAPE"
    assert answer.err == ""


def test_json_after_a_double_dash_is_not_an_option(dibs):
    answer = dibs("claim", "--", "../out", "--json")

    assert answer.status == 65
    assert answer.out == ""


def test_a_bug_is_one_line_with_its_own_status(dibs, monkeypatch):
    monkeypatch.setattr("dibs.cli.commands.who.act", lambda session, args: 1 / 0)

    answer = dibs("who", "a")

    assert answer.status == 70
    assert answer.err.startswith("dibs: internal error: ZeroDivisionError")
    assert answer.err.count("\n") == 1


def test_outside_a_repository_no_project_is_found(dibs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    answer = dibs("status", "--json")

    assert answer.status == 6
    assert answer.json["error"]["code"] == "NO_REPO"


def test_a_repository_can_be_named(dibs, repo, tmp_path, monkeypatch):
    dibs("claim", "a", agent="alice")
    monkeypatch.chdir(tmp_path)

    answer = dibs("status", "--repo", str(repo), "--json")

    assert [claim["pattern"] for claim in answer.json["claims"]] == ["a"]


def test_a_subfolder_sees_the_same_project(dibs, repo, monkeypatch):
    (repo / "sub").mkdir()
    dibs("claim", "sub/a", agent="alice")
    monkeypatch.chdir(repo / "sub")

    answer = dibs("claim", "a", agent="bob")

    assert answer.status == 3


@pytest.mark.parametrize("agent", ["../x", "a b", "-x", "x" * 65])
def test_an_invalid_agent_id_is_an_error(dibs, agent):
    assert dibs("claim", "a", f"--agent={agent}").status == 65


@pytest.mark.parametrize("token", ["0", "-1", "x", "1.5", "9223372036854775808", "²", "1" * 5000])
def test_an_invalid_token_is_an_error_and_never_means_any_token(dibs, token):
    dibs("claim", "a", agent="alice")

    answer = dibs("release", "a", f"--token={token}", agent="alice")

    assert answer.status == 65
    assert len(answer.err) < 500
    assert dibs("who", "a", "--json").json["paths"][0]["holders"]
