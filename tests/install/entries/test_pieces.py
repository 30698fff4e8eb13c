"""What Dibs adds to agents' files is added once, and removed without touching anything else."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.install.documents import SETTINGS, is_within, written

from dibs.errors import BadInput
from dibs.install.agents.edits import Choice, file_edits
from dibs.install.agents.table import AGENTS
from dibs.install.entries.commands import Commands, commands, is_our_hook, is_our_server
from dibs.install.entries.json_scan import ANY, scan
from dibs.install.entries.pieces import Default, HookEntries, McpEntry, put_all, take_all

OURS = Commands(
    ("/v/bin/python", "-I", "-S", "/v/dibs/guard/run.py"), ("/v/bin/python", "-P", "-m", "dibs")
)
OTHER = Commands(
    ("/old/python", "-I", "-S", "/old/dibs/guard/run.py"), ("/old/python", "-P", "-m", "dibs")
)
ALL = ANY


def pieces_of(agent, path, made=OURS, root="/nowhere"):
    wishes = file_edits(AGENTS[agent], Choice(root, made))
    return tuple(wish.piece for wish in wishes if wish.path == path)


def gemini(made=OURS):
    return pieces_of("gemini", ".gemini/settings.json", made)


def claude_like():
    hooks, server = (
        pieces_of("claude", ".claude/settings.local.json"),
        pieces_of("claude", ".mcp.json"),
    )
    return tuple(piece._replace(style=ALL) for piece in (*hooks, *server))


def strip_ours(value):
    """Return a document without our entries, judged by values only."""
    value = json.loads(json.dumps(value))
    for groups in value.get("hooks", {}).values():
        groups[:] = [g for g in groups if not any(is_our_hook(h) for h in g.get("hooks", ()))]
    value.get("mcpServers", {}).pop("dibs", None)
    return value


def without_empty(value, was):
    hooks = {k: v for k, v in value.get("hooks", {}).items() if v or k in was.get("hooks", {})}
    rest = {**value, "hooks": hooks}
    return {k: v for k, v in rest.items() if v or k in was or k not in {"hooks", "mcpServers"}}


TEXTS = SETTINGS.flatmap(lambda v: st.tuples(st.just(v), written(v, comments=True, trailing=True)))


@settings(max_examples=30, deadline=None)
@given(TEXTS, st.sampled_from(["", "\ufeff"]))
def test_row_104_other_entries_comments_and_bytes_stay(pair, bom):
    value, text = pair
    old = (bom + text).encode()

    new = put_all(claude_like(), old, "x").decode()

    assert is_within(bom + text, new)
    found = scan(new.removeprefix("\ufeff"), "x", ALL).value
    assert without_empty(strip_ours(found), value) == value
    assert found["mcpServers"]["dibs"]
    assert put_all(claude_like(), new.encode(), "x").decode() == new, "putting in twice is once"


@settings(max_examples=30, deadline=None)
@given(TEXTS)
def test_removal_leaves_other_entries(pair):
    value, text = pair
    new = put_all(claude_like(), text.encode(), "x")

    left = take_all(claude_like(), new, "x", text.encode()).decode()

    assert scan(left or "{}", "x", ALL).value == value


@settings(max_examples=30, deadline=None)
@given(TEXTS, st.data())
def test_entries_added_later_survive_removal(pair, data):
    value, text = pair
    hooks = data.draw(SETTINGS).get("hooks", {})
    more = {event: groups for event, groups in hooks.items() if groups}
    new = put_all(claude_like(), text.encode(), "x").decode()
    document = scan(new, "x", ALL).value
    for event, groups in more.items():
        document["hooks"].setdefault(event, [])[:0] = groups
    later = json.dumps(document, indent=data.draw(st.sampled_from([None, 2])))

    left = take_all(claude_like(), later.encode(), "x", text.encode()).decode()

    wanted = json.loads(json.dumps(value))
    for event, groups in more.items():
        wanted.setdefault("hooks", {}).setdefault(event, [])[:0] = groups
    assert without_empty(scan(left or "{}", "x", ALL).value, wanted) == without_empty(
        wanted, wanted
    )


def test_row_104_a_second_installation_replaces_the_first():
    once = put_all(gemini(OTHER), b"", "x")

    twice = put_all(gemini(), once, "x")

    assert json.loads(twice) == json.loads(put_all(gemini(), b"", "x"))


def test_our_handler_is_removed_from_a_group_with_a_users_handler():
    handler = {"type": "command", "command": OURS.hook("claude")}
    theirs = {"type": "command", "command": "lint"}
    text = json.dumps({"hooks": {"PreToolUse": [{"matcher": "Write", "hooks": [handler, theirs]}]}})

    left = take_all((HookEntries({}),), text.encode(), "x", text.encode())

    assert json.loads(left) == {"hooks": {"PreToolUse": [{"matcher": "Write", "hooks": [theirs]}]}}


def test_a_users_server_with_the_same_name_stays():
    text = b'{"mcpServers": {"dibs": {"type": "http", "url": "http://127.0.0.1:8899/mcp"}}}'
    piece = McpEntry(("mcpServers", "dibs"), {"command": "dibs", "args": ["mcp"]})

    assert put_all((piece,), text, "x") == text
    assert take_all((piece,), text, "x", b"") == text


@pytest.mark.parametrize(
    "command",
    [
        OURS.hook("claude"),
        OURS.hook("copilot", "preToolUse"),
        commands().hook("codex"),
        commands(shared=True).hook("gemini"),
        "'/a b/python' -I -S '/a b/dibs/guard/run.py' claude || exit 2",
        "/usr/bin/dibs hook cursor",
    ],
)
def test_our_commands_are_recognized(command):
    assert is_our_hook({"type": "command", "command": command})


@pytest.mark.parametrize(
    "command",
    [
        *("echo dibs", "dibs status", "mydibs hook claude", "run.py claude"),
        "echo 'see dibs hook claude'",
        "./log.sh && dibs hook claude || exit 2",
        "DIBS_AGENT=ana dibs hook claude || exit 2",
        "dibs hook claude; notify",
        "dibs hook 'claude",
        "wc -l /src/dibs/guard/run.py claude",
    ],
)
def test_other_commands_are_not_ours(command):
    assert not is_our_hook({"type": "command", "command": command})


@pytest.mark.parametrize(
    "value", [None, [], {}, {"command": "npx", "args": ["mcp"]}, {"command": ["dibs"]}]
)
def test_other_servers_are_not_ours(value):
    assert not is_our_server(value)


def test_a_command_works_with_blanks_and_quotes_in_its_path():
    import shlex

    made = Commands(("/a b/it's/python", "-I", "-S", "/x y/dibs/guard/run.py"), ())

    words = shlex.split(made.hook("claude").partition(" ; ")[2])

    assert words[5:7] == ["||", "eval"]
    del words[5:8]
    assert words == [
        "/a b/it's/python",
        "-I",
        "-S",
        "/x y/dibs/guard/run.py",
        "claude",
        "||",
        "exit",
        "2",
    ]
    assert is_our_hook(made.hook("claude"))


def test_a_handler_that_only_mentions_ours_is_not_ours():
    assert not is_our_hook({"command": "lint", "statusMessage": "dibs hook claude"})


def test_what_a_user_added_to_our_server_stays():
    piece = McpEntry(("mcpServers", "dibs"), {"command": "/new/dibs", "args": ["mcp"]})
    old = {"command": "/old/dibs", "args": ["mcp"], "env": {"DIBS_AGENT": "ana"}}

    text = piece.put(json.dumps({"mcpServers": {"dibs": old}}), "x")

    assert json.loads(text)["mcpServers"]["dibs"] == {**old, "command": "/new/dibs"}
    assert piece.put(text, "x") == text


def test_a_value_that_we_added_is_removed_from_a_file_that_was_changed():
    piece = Default(("version",), 1)
    before = '{"hooks": {}}'

    edited = piece.put(before, "x").replace("{", '{"mine": 1, ', 1)

    assert piece.take(edited, "x", before) == '{"mine": 1, "hooks": {}}'
    assert piece.take(edited, "x", "") == edited  # a file that we created still needs it
    assert piece.take('{"version": 2}', "x", before) == '{"version": 2}'


def test_a_file_with_only_a_byte_order_mark_stays():
    content = b"\xef\xbb\xbf"

    assert take_all(gemini(), content, "x", content) == content


@pytest.mark.parametrize(
    ("agent", "path", "content", "why"),
    [
        ("codex", ".codex/hooks.json", b"\xef\xbb\xbf{}", "byte order mark"),
        ("gemini", ".gemini/settings.json", b"\xef\xbb\xbf{}", "byte order mark"),
        ("copilot", ".github/hooks/dibs.json", b"\xef\xbb\xbf{}", "byte order mark"),
        ("codex", ".codex/hooks.json", b'{"hooks": {}, "hooks": {}}', "twice"),
    ],
)
def test_row_104_a_file_that_its_agent_would_ignore_is_refused(agent, path, content, why):
    with pytest.raises(BadInput, match=why) as refused:
        put_all(pieces_of(agent, path), content, path)

    assert refused.value.code == "SETTINGS_INVALID"


def test_claude_accepts_a_byte_order_mark():
    pieces = pieces_of("claude", ".claude/settings.local.json")

    assert put_all(pieces, b"\xef\xbb\xbf{}", "x").startswith(b"\xef\xbb\xbf{")
