"""claim, renew, release, check, explain."""

from __future__ import annotations

import re
import shlex

import pytest


def test_a_claim_is_granted_with_a_token(dibs):
    answer = dibs("claim", "src/a.py", "--reason", "fix login", "--task", "42", "--json")

    assert answer.status == 0
    assert answer.json["outcome"] == "granted"
    (claim,) = answer.json["claims"]
    assert claim["pattern"] == "src/a.py"
    assert claim["mode"] == "exclusive"
    assert claim["reason"] == "fix login"
    assert claim["task"] == "42"
    assert claim["token"] == answer.json["token"] > 0
    assert claim["expires_at"] > claim["since"]


def test_a_denial_names_the_owner_the_reason_and_the_next_step(dibs):
    dibs("claim", "src/**", "--reason", "big move", agent="alice")

    answer = dibs("claim", "src/a.py", agent="bob")

    assert answer.status == 3
    assert answer.out.startswith("denied: alice holds src/** (expires in 5m unless renewed)\n")
    assert re.search(r"<data-(\w+) from=\"alice\">big move</data-\1>", answer.out)
    assert "dibs ask src/a.py" in answer.out


def test_a_denial_as_json_has_its_conflicts(dibs):
    dibs("claim", "src/**", agent="alice")

    answer = dibs("claim", "free", "src/*.py", "--json", agent="bob")

    assert answer.status == 3
    assert answer.json["outcome"] == "denied"
    assert answer.json["token"] is None
    (conflict,) = answer.json["conflicts"]
    assert (conflict["pattern"], conflict["held"], conflict["holder"]) == (
        "src/*.py",
        "src/**",
        "alice",
    )
    assert conflict["witness"].startswith("src/")
    assert answer.json["next"]


def test_a_wait_that_timed_out_takes_no_second_ticket(dibs):
    dibs("claim", "a", agent="alice")

    dibs("claim", "a", "--wait", "0.05", agent="bob")

    kinds = [entry["kind"] for entry in dibs("log", "--json").json]
    assert kinds.count("lock_queued") == kinds.count("lock_unqueued") == 1


def test_a_queued_claim_shows_its_position(dibs):
    dibs("claim", "a", agent="alice")

    answer = dibs("claim", "a", "--queue", agent="bob")

    assert answer.out.startswith("queued at position 1: alice holds a ")


def test_a_deadlock_is_denied_and_its_cycle_named(dibs):
    dibs("claim", "a", agent="alice")
    dibs("claim", "b", agent="bob")
    dibs("claim", "b", "--queue", agent="alice")

    answer = dibs("claim", "a", "--wait", "5", agent="bob")

    assert answer.status == 3
    assert "waiting would deadlock: bob waits for alice (a), alice waits for bob (b)" in answer.out


def test_a_renewal_lists_the_claims(dibs):
    dibs("claim", "a", "b", agent="alice")

    answer = dibs("renew", agent="alice")

    assert answer.status == 0
    assert answer.out.count("renewed ") == 2


@pytest.mark.parametrize("words", [(), ("a", "--all")])
def test_a_release_needs_either_patterns_or_all(dibs, words):
    assert dibs("release", *words, agent="alice").status == 64


def test_a_check_reports_availability_and_changes_nothing(dibs):
    dibs("claim", "a", agent="alice")

    free, held = dibs("check", "b", agent="bob"), dibs("check", "a", agent="bob")

    assert (free.status, free.out) == (0, "available\n")
    assert held.status == 3
    assert held.out.startswith("claimed by another agent\n  alice holds a ")
    assert [a["id"] for a in dibs("agent", "ls", "--json").json["agents"]] == ["alice"]


def hints(answer):
    """Return the commands that a denial suggests, as words."""
    found = [
        shlex.split(line.split(": ", 1)[1]) for line in answer.out.splitlines() if ": dibs " in line
    ]
    return [words[1:] for words in found]


def test_tokens_are_for_agents_and_for_people_who_want_them(dibs):
    assert "token" in dibs("claim", "a", agent="alice").out
    assert "token" in dibs("who", "a", agent="bob").out
    assert "token" in dibs("renew", agent="alice").out

    for words in (("claim", "b"), ("who", "b"), ("renew",), ("transfer", "b", "--to", "alice")):
        assert "token" not in dibs(*words).out, words
    for words in (("claim", "c"), ("who", "c"), ("renew",), ("transfer", "c", "--to", "alice")):
        assert "token" in dibs(*words, "-v").out, words


@pytest.mark.parametrize("number", range(3))
def test_each_command_that_a_denial_suggests_to_an_agent_works(dibs, number):
    dibs("claim", "src/**", agent="alice")
    words = hints(dibs("claim", "src/a b.py", agent="bob"))[number]

    dibs("release", "--all", agent="alice") if "--wait" in words else None

    assert dibs(*words, agent="bob").status == 0


@pytest.mark.parametrize("number", range(3))
def test_each_command_that_a_denial_suggests_to_a_person_works(dibs, number):
    dibs("claim", "src/**", agent="alice")
    words = hints(dibs("claim", "src/a b.py"))[number]

    dibs("release", "--all", agent="alice") if "--wait" in words else None

    assert dibs(*words).status == 0


def test_a_person_gets_a_revoke_hint_with_a_reason_and_an_agent_an_escalate_hint(dibs):
    dibs("claim", "src/**", agent="alice")

    person, agent = dibs("claim", "src/a.py"), dibs("claim", "src/a.py", agent="bob")

    assert "take it from alice: dibs revoke 'src/**' --reason WHY" in person.out
    assert "escalate" not in person.out
    assert "let a human decide: dibs escalate src/a.py" in agent.out
    assert "revoke" not in agent.out


def test_a_queued_claim_is_collected_with_the_suggested_command(dibs):
    dibs("claim", "a", agent="alice")
    words = hints(dibs("claim", "b", "a", "--queue", agent="bob"))[0]

    dibs("release", "a", agent="alice")

    assert words == ["claim", "b", "a"]
    assert dibs(*words, agent="bob").status == 0


def test_several_conflicts_are_listed_below_their_count(dibs):
    dibs("claim", "a", "--reason", "refactor", agent="alice")
    dibs("claim", "b", agent="carol")

    lines = dibs("claim", "a", "b").out.splitlines()

    assert lines[:4] == [
        "denied: 2 conflicts",
        "  alice holds a (expires in 5m unless renewed)",
        "    reason: refactor",
        "  carol holds b (expires in 5m unless renewed)",
    ]


def test_many_paths_are_summed_up_unless_all_are_wanted(dibs):
    paths = [f"src/{number}.py" for number in range(30)]

    short, full = dibs("claim", *paths), dibs("claim", *paths, "-v")

    assert short.out.splitlines() == [
        "granted 30 paths (exclusive, expires in 5m)",
        *(f"  src/{number}.py" for number in range(5)),
        "  ... and 25 more (-v lists all)",
    ]
    assert full.out.count("granted src/") == 30
    assert dibs("release", "--all").out.splitlines()[-1] == "  ... and 25 more (-v lists all)"


@pytest.mark.parametrize(
    ("folder", "typed"), [("", "src/a.py"), ("src", "a.py"), ("docs/api", "../../src/a.py")]
)
def test_the_commands_after_a_denial_work_in_the_folder_that_prints_them(
    dibs, repo, monkeypatch, folder, typed
):
    (repo / folder).mkdir(parents=True, exist_ok=True)
    dibs("claim", "src/a.py", agent="alice")
    monkeypatch.chdir(repo / folder)

    denied = dibs("claim", typed, "--json", agent="bob")

    command = f"dibs ask {typed}"
    assert f"request a release: {command}" in denied.json["next"]
    assert dibs(*command.split()[1:], agent="bob").status == 0


@pytest.mark.parametrize(
    "named", ["file:src/a.py", "FILE:./src/a.py", "file:src/**", "file://{}/src/a.py"]
)
def test_the_scheme_file_means_the_path_in_every_command(dibs, repo, named):
    named = named.format(repo)
    (repo / "src").mkdir()
    (repo / "src/a.py").touch()
    dibs("claim", "src/a.py", agent="alice")

    assert dibs("claim", named, agent="bob").status == 3
    assert dibs("check", named, agent="bob").status == 3
    assert dibs("who", named, "--json").json["paths"][0]["holders"]
    assert dibs("ask", named, agent="bob").status == 0
    assert dibs("release", named, agent="alice").status == 0
    assert dibs("claim", named, agent="bob").status == 0


@pytest.mark.parametrize(
    "words",
    [
        ("claim", "b", "--wait", "30000"),
        ("ask", "b", "--within", "30000"),
        ("run", "--ttl", "30000", "--claim", "b", "--", "true"),
    ],
)
def test_every_command_refuses_a_number_that_may_be_milliseconds(dibs, words):
    dibs("claim", "b", agent="alice")

    refused = dibs(*words, agent="bob")

    assert refused.status == 65
    assert "30000 could mean 30000s (8h20m) or 30000ms (30s)" in refused.err


def test_two_patterns_that_overlap_are_explained_by_a_path(dibs):
    answer = dibs("explain", "src/**", "*/a.py")

    assert (answer.status, answer.out) == (0, "src/** and */a.py overlap: both match src/a.py\n")


def test_a_literal_path_may_contain_glob_characters(dibs):
    dibs("claim", "a[1].txt", "--literal", agent="alice")

    assert dibs("claim", "a1.txt", agent="bob").status == 0
    assert dibs("claim", "a[1].txt", "--literal", agent="bob").status == 3
