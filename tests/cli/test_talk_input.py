"""Bad input for messages, groups, conflicts, decisions, delegation, and briefings.

Every mistake gets one clear line with a stable code, no traceback, and changes nothing.
"""

import io

import pytest

from dibs.cli import main

LONG = "x" * 20_000
#: Values that no person types but programs may pass.
HOSTILE = (
    "", "\n", "--", LONG, "\x1b[31m\u202e", "\udcff", "../x", "*", "[", "role:", "@human",
    "m99999999999999999999", "d1.1", "nan", "1e400", "m\u0663", "a\0b",
)  # fmt: skip
#: Every place for a value, marked BAD.
PLACES = (
    "say BAD hi", "say bob BAD", "say --reply BAD hi",
    "say bob hi --request-id BAD", "inbox BAD", "group new BAD bob",
    "group new other BAD", "group add crew BAD", "group rm crew BAD", "group show BAD", "group drop BAD",
    "decide new BAD", "decide new t --by BAD",
    "decide new t --rationale BAD", "decide show BAD", "decide confirm BAD", "decide confirm d9 --reason BAD",
    "decide reject BAD --reason no", "decide comment BAD no", "decide comment d9 BAD", "decide withdraw BAD",
    "decide revoke BAD", "decide refuse BAD --reason no", "ask BAD",
    "ask b.py --within BAD", "ask b.py --note BAD", "answer BAD yes", "answer a.py BAD",
    "answer a.py later --in BAD", "answer a.py no --to BAD", "answer a.py no --note BAD", "escalate BAD",
    "escalate b.py --note BAD", "delegate BAD work", "delegate bob BAD", "delegate bob work --path BAD",
    "delegate bob work --context BAD", "delegate --cancel BAD", "brief --tokens BAD", "brief --agent BAD",
    "inbox --agent BAD",
)  # fmt: skip


@pytest.fixture
def crew(dibs, monkeypatch):
    """Two agents with one claim each, a release request, and a pending decision."""
    monkeypatch.setattr("sys.stdin", io.StringIO())
    dibs("agent", "join", "--role", "tester", agent="bob")
    dibs("claim", "a.py", agent="alice")
    dibs("claim", "b.py", agent="bob")
    dibs("ask", "a.py", agent="bob")
    dibs("group", "new", "crew", "bob", agent="alice")
    dibs("decide", "new", "use httpx", "--confirm", agent="alice")
    dibs("say", "bob", "hello", agent="alice")
    return dibs


@pytest.mark.parametrize("place", PLACES)
def test_no_value_breaks_a_command_or_sends_control_characters_to_a_terminal(crew, capsys, place):
    for bad in HOSTILE:
        words = [bad if word == "BAD" else word for word in place.split()]
        named = [] if "--agent" in words else ["--agent", "alice"]
        capsys.readouterr()
        status = main([words[0], *named, *words[1:]] if words[0] not in {"group", "decide"}
                      else [*words[:2], *named, *words[2:]])  # fmt: skip
        out, err = capsys.readouterr()
        assert status in {0, 3, 6, 64, 65, 75, 77}, (bad, err)
        assert not [c for c in out + err if not c.isprintable() and c != "\n"], bad
        if status not in {0, 3}:
            assert out == "", bad
            assert len(err.splitlines()) == 1, (bad, err)
            assert len(err) < 300, (bad, err)


CASES = [
    # messages
    (("say", "bbo", "hi"), 6, "NO_ADDRESSEE"),
    (("say", "alice", "hi"), 65, "TO_SELF"),
    (("say", "bob", "  \n "), 65, "TEXT_EMPTY"),
    (("say", "bob", LONG), 65, "LIMIT"),
    (("say",), 64, "USAGE"),
    (("say", "--reply", "m9999", "hi"), 6, "NO_MESSAGE"),
    (("inbox", "m9999"), 6, "NO_MESSAGE"),
    (("inbox", "--all", "--sent"), 64, "USAGE"),
    (("group", "new", "crew", "bob"), 65, "GROUP_EXISTS"),
    (("group", "new", "all", "bob"), 65, "GROUP_NAME"),
    (("group", "new", "other", "nobody"), 6, "NO_AGENT"),
    (("group", "rm", "crew", "zed"), 6, "NOT_IN_GROUP"),
    (("group", "show", "crw"), 6, "NO_GROUP"),
    (("group", "frob"), 64, "USAGE"),
    # conflicts
    (("ask", "../x"), 65, "PATH_ESCAPE"),
    (("ask", "b.py", "--within", "x"), 65, "WAIT_RANGE"),
    (("ask", "b.py", "--note", LONG), 65, "LIMIT"),
    (("ask",), 64, "USAGE"),
    (("answer", "a.py", "perhaps"), 65, "REPLY"),
    (("answer", "b.py", "yes"), 6, "NOT_ASKED"),
    (("answer", "a.py"), 64, "USAGE"),
    (("escalate",), 64, "USAGE"),
    # decisions
    (("decide", "new", ""), 65, "TITLE"),
    (("decide", "new", "x" * 201), 65, "LIMIT"),
    (("decide", "new", "t", "--by", "a b"), 65, "DECIDER"),
    (("decide", "show", "d9999"), 6, "NO_DECISION"),
    (("decide", "confirm", "D7"), 77, "MAY_NOT_DECIDE"),
    (("decide", "reject", "D7"), 64, "USAGE"),
    (("decide", "reject", "D7", "--reason", ""), 65, "REASON"),
    (("decide", "revoke", "D7"), 65, "NO_CONFLICT"),
    (("decide", "comment", "D7", ""), 65, "COMMENT"),
    # delegation
    (("delegate", "zed", "work"), 6, "NO_ADDRESSEE"),
    (("delegate", "alice", "work"), 65, "TO_SELF"),
    (("delegate", "bob", "a\nb"), 65, "TASK_FIELD"),
    (("delegate", "--cancel", "nothing"), 6, "NO_TASK"),
    (("delegate", "bob"), 64, "USAGE"),
    # briefings
    (("brief", "--tokens", "199"), 65, "LIMIT"),
    (("brief", "--tokens", "many"), 65, "NUMBER"),
    (("brief", "--peek", "--full"), 64, "USAGE"),
]


def happened(crew):
    """Return the ledger's sequence numbers."""
    return [entry["seq"] for entry in crew("log", "--json").json]


def test_bad_input_is_one_line_with_a_code_and_nothing_happens(crew):
    waits = next(one["id"] for one in crew("decide", "ls", "--pending", "--json").json["decisions"])
    before = happened(crew)
    for case, status, code in CASES:
        words = tuple(waits if word == "D7" else word for word in case)
        spoken = crew(*words, agent="alice")
        written = crew(*words, "--json", agent="alice")
        assert (spoken.status, written.status) == (status, status), spoken
        assert (written.json["error"]["code"], spoken.out) == (code, ""), words
        assert len(spoken.err.splitlines()) == 1, words
        assert len(spoken.err) < 300, words
    assert happened(crew) == before
