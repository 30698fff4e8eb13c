"""Every agent's payloads are understood and answered in its own format.

``payloads/`` contains payloads recorded from the real programs, by version, and examples from their
documentation (``docs-``); ``expected.txt`` lists the event of each.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dibs.core.toolcalls.values import PASSED, EventKind, HookReply, Verdict, Word
from dibs.errors import BadInput
from dibs.guard.dialects import NAMES, dialect
from dibs.guard.dialects.speaker import speaker

PAYLOADS = Path(__file__).parent / "payloads"
ROWS = [
    [cell.strip() for cell in line.split("|")]
    for line in (PAYLOADS / "expected.txt").read_text().splitlines()
]
SIGNS = {"write": "+", "delete": "-", "read": "?"}
DENY = Verdict(Word.DENY, "bob holds it.\nAsk bob.", "alice was refused")
TELL = Verdict(Word.TELL, "news\nof the crew")


def payload(name):
    return json.loads((PAYLOADS / f"{name}.json").read_text())


def event_of(name):
    """Return the event name in the hook's command line; only Copilot's own payloads need it."""
    agent, _, rest = name.partition("/")
    return rest.split("-")[1] if agent == "copilot" else ""


def heard_in(name):
    return dialect(name.partition("/")[0]).parse(payload(name), event_of(name))


def names(*moments):
    return [name for name, moment, *_ in ROWS if moment in moments]


def test_every_payload_is_expected_and_every_agent_has_some():
    there = {f"{file.parent.name}/{file.stem}" for file in PAYLOADS.rglob("*.json")}

    assert there == {row[0] for row in ROWS}
    assert {name.partition("/")[0] for name in there} == set(NAMES)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_payload_is_parsed_as_expected(row):
    name, moment, tells, who, cwd, touches, command = (*row, *[""] * (7 - len(row)))

    heard = heard_in(name)

    told = dialect(heard.agent).can_tell(heard)
    assert heard.agent == name.partition("/")[0]
    assert (heard.moment, "tells" if told else "") == (moment, tells)
    subagent = f"/{heard.subagent[:8]}" if heard.subagent else ""
    assert (heard.session[:8] + subagent, heard.cwd) == (who, cwd)
    assert " ".join(SIGNS[touch.how] + touch.path for touch in heard.touches) == touches
    assert heard.command.partition("\n")[0] == command


#: Agents with fields of their own; the others share names and are recognized by the rest.
MARKED = {"cursor", "opencode", "vscode", "copilot"}


@pytest.mark.parametrize("installed_for", NAMES)
def test_a_payload_is_recognized_whichever_agent_the_hook_was_installed_for(installed_for):
    for name, *_ in ROWS:
        agent, sent = name.partition("/")[0], payload(name)
        environ = {"COPILOT_CLI": "1"} if agent == "copilot" else {}
        plain = agent == "codex" and "turn_id" not in sent
        shared = agent == "gemini" and sent["hook_event_name"] in {
            *("SessionStart", "SessionEnd", "Notification"),
        }

        found = speaker(installed_for, sent, environ)

        if installed_for == agent or agent in MARKED or not (plain or shared or agent == "claude"):
            assert found == agent, name
        elif installed_for in {"claude", "copilot"}:  # settings that other agents read too
            assert found == "claude", name


def test_claude_started_from_copilots_shell_is_claude():
    sent = {**payload("claude/2.1.325-PreToolUse-Write"), "timestamp": 1}
    environ = {"COPILOT_CLI": "1", "CLAUDE_CODE_SESSION_ID": sent["session_id"]}

    assert speaker("claude", sent, environ) == "claude"
    assert speaker("claude", sent, {"COPILOT_CLI": "1"}) == "copilot"


@pytest.mark.parametrize(
    ("installed_for", "event", "more", "agent"),
    [
        ("copilot", "preToolUse", {}, "copilot"),
        ("cursor", "preToolUse", {}, "cursor"),
        ("claude", "preToolUse", {"conversation_id": "c"}, "cursor"),
        ("claude", "PreToolUse", {"cursor_version": "2.4.0"}, "cursor"),
        ("gemini", "BeforeTool", {"turn_id": "1", "model": "m"}, "gemini"),
    ],
)
def test_an_event_in_another_spelling_is_still_checked(installed_for, event, more, agent):
    called = {"tool_name": "Write", "tool_input": {"file_path": "a.txt"}}
    sent = {"hook_event_name": event, "session_id": "s", **called, **more}

    heard = dialect(speaker(installed_for, sent, {})).parse(sent, "")

    assert (heard.agent, heard.moment) == (agent, EventKind.BEFORE)
    assert [touch.path for touch in heard.touches] == ["a.txt"]
    assert json.loads(dialect(agent).answer(DENY, heard).stdout) == denial(heard)


def specific(heard, **fields):
    return {"hookSpecificOutput": {"hookEventName": heard.event, **fields}}


def denial(heard):
    """Return each agent's format of a denial that stops the call and shows the reason to the model."""
    decided = {"permissionDecision": "deny", "permissionDecisionReason": DENY.text}
    if heard.agent == "claude":
        return {**specific(heard, **decided), "systemMessage": DENY.note}
    if heard.agent == "copilot" and heard.event[0].islower():
        return decided
    if heard.agent in {"codex", "copilot", "vscode"}:
        return specific(heard, **decided)
    return {
        "gemini": {"decision": "deny", "reason": DENY.text},
        "cursor": {"permission": "deny", "user_message": DENY.note, "agent_message": DENY.text},
        "opencode": {"deny": DENY.text},
    }[heard.agent]


@pytest.mark.parametrize("name", names(EventKind.BEFORE))
def test_a_denial_has_the_agents_format(name):
    heard = heard_in(name)

    said = dialect(heard.agent).answer(DENY, heard)

    assert (json.loads(said.stdout), said.stderr, said.status) == (denial(heard), "", 0)


def telling(heard):
    """Return each agent's format of text for the model; None if it has none."""
    if not dialect(heard.agent).can_tell(heard):
        return None
    ends = heard.moment in {EventKind.STOPPED, EventKind.SUBAGENT_STOPPED}
    block = {"decision": "block", "reason": TELL.text}
    if heard.agent == "cursor":
        return {"followup_message" if ends else "additional_context": TELL.text}
    if heard.agent == "opencode":
        return {"tell": TELL.text}
    if ends:
        return {**specific(heard, **block), **block} if heard.agent == "vscode" else block
    if heard.agent == "copilot" and heard.moment != EventKind.BEFORE:
        return {"additionalContext": TELL.text}
    return specific(heard, additionalContext=TELL.text)


@pytest.mark.parametrize("name", [row[0] for row in ROWS])
def test_text_reaches_the_model_or_is_not_sent(name):
    heard = heard_in(name)

    said = dialect(heard.agent).answer(TELL, heard)

    expected = telling(heard)
    if expected is None:
        assert said == HookReply("{}" if heard.agent == "cursor" else "")
    else:
        assert (json.loads(said.stdout), said.stderr, said.status) == (expected, "", 0)


@pytest.mark.parametrize("name", [row[0] for row in ROWS])
def test_an_empty_answer_leaves_the_agents_own_rules_in_force(name):
    heard = heard_in(name)

    said = dialect(heard.agent).answer(PASSED, heard)

    assert said == HookReply("{}" if heard.agent == "cursor" else "")


@pytest.mark.parametrize("name", [row[0] for row in ROWS])
def test_a_failure_denies_tool_calls_and_nothing_else(name):
    heard = heard_in(name)

    said = dialect(heard.agent).failed("dibs: cannot be checked", heard)

    assert said.stderr == "dibs: cannot be checked"
    if heard.moment != EventKind.BEFORE:
        assert (said.stdout, said.status) == ("{}" if heard.agent == "cursor" else "", 0)
    elif heard.agent == "copilot":  # it loses the reason of an exit status
        assert "dibs: cannot be checked" in said.stdout
        assert json.loads(said.stdout)
        assert said.status == 0
    else:
        assert (said.stdout, said.status) == ("", 2)


@pytest.mark.parametrize("agent", NAMES)
def test_a_payload_without_an_event_is_refused(agent):
    with pytest.raises(BadInput) as caught:
        dialect(agent).parse({"session_id": "x"}, "")

    assert caught.value.code == "HOOK_PAYLOAD"


def test_an_unnamed_copilot_event_is_recognized_by_its_fields():
    for name, *_ in ROWS:
        if name.startswith("copilot/") and event_of(name)[0].islower():
            found = dialect("copilot").parse(payload(name), "").moment if _told(name) else None
            assert found is None or found == heard_in(name).moment, name


def _told(name):
    """Return whether a payload has a field that identifies its event."""
    unsure = ("preCompact", "errorOccurred", "notification", "postToolUseFailure", "subagentStop")
    return not any(word in name for word in unsure)


@pytest.mark.parametrize("tool", ["run_shell_command", "bash"])
def test_a_shell_call_without_an_id_is_identified_by_its_command(tool):
    def number(agent, event, command):
        if agent == "gemini":
            sent = {"hook_event_name": event, "tool_name": tool, "tool_input": {"command": command}}
        else:
            sent = {"sessionId": "s", "toolName": tool, "toolArgs": {"command": command}}
        return dialect(agent).parse(sent, event).call

    for agent, before, after in (
        ("gemini", "BeforeTool", "AfterTool"),
        ("copilot", "preToolUse", "postToolUse"),
    ):
        one = number(agent, before, "echo x > a")
        assert one
        assert one == number(agent, after, "echo x > a")
        assert one != number(agent, before, "echo x > b")


def test_codex_never_gets_an_unknown_key():
    known = {"hookEventName", "permissionDecision", "permissionDecisionReason", "additionalContext"}
    for name, *_ in ROWS:
        if not name.startswith("codex/"):
            continue
        for verdict in (DENY, TELL, PASSED):
            said = dialect("codex").answer(verdict, heard_in(name)).stdout
            found = json.loads(said) if said else {}
            assert set(found) <= {"hookSpecificOutput", "decision", "reason"}
            inner = found.get("hookSpecificOutput", {})
            assert set(inner) <= known
            assert inner.get("permissionDecision", "deny") == "deny"
