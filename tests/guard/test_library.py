"""``dibs.guard`` as a library: a ``Guard`` does in-process what a hook does for a program."""

from __future__ import annotations

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from types import ModuleType, SimpleNamespace

import pytest

from dibs.errors import BadInput, Unavailable
from dibs.guard import Guard, Word
from dibs.services.guard.service import Guarding


@pytest.fixture
def guard(plain, dibs):
    """A guard in the repository in which alice holds ``a.txt``."""
    dibs("init", "--agents", "none")
    dibs("claim", "a.txt", "--reason", "rework it", agent="alice")
    with Guard(str(plain.root), name="bob") as made:
        yield made


def writes(path):
    return "Write", {"file_path": path, "content": ""}


def test_another_agents_file_is_denied_and_an_unclaimed_one_is_claimed(guard, dibs):
    refused = guard.before(*writes("a.txt"))
    passed = guard.before(*writes("b.txt"))

    assert refused.word == Word.DENY
    assert "alice" in refused.text
    assert "rework it" in refused.text
    assert passed.word == Word.PASS
    assert '"bob"' in dibs("who", "b.txt", "--json")


def test_a_subagent_is_a_separate_agent_with_its_parent_on_the_roster(guard, dibs):
    guard.before(*writes("b.txt"))
    helper = guard.for_subagent("helper01", "reviewer")

    assert helper.before(*writes("new.txt")).word == Word.PASS
    assert guard.before(*writes("new.txt")).word == Word.DENY
    assert '"parent": "bob"' in dibs("agent", "ls", "--json")


def test_two_sessions_with_one_name_are_two_agents(guard, plain):
    with Guard(str(plain.root), name="bob") as other:
        assert guard.before(*writes("b.txt")).word == Word.PASS
        assert other.before(*writes("b.txt")).word == Word.DENY


def test_a_briefing_is_confirmed_by_the_next_call_and_otherwise_repeated(guard, dibs, monkeypatch):
    monkeypatch.setattr("dibs.services.briefing.service.LEASE", 0.0)
    guard.started()
    dibs("say", "bob", "the parser is ready", agent="alice")

    first = guard.prompted()
    guard._told.clear()  # as if the process had died
    again = guard.prompted()
    after = guard.prompted()

    assert "the parser is ready" in first.text
    assert "the parser is ready" in again.text
    assert "the parser is ready" not in after.text


def test_the_end_of_a_session_releases_unchanged_files(guard, dibs):
    guard.before(*writes("b.txt"))
    guard.ended()

    assert '"bob"' not in dibs("who", "b.txt", "--json")


@pytest.mark.parametrize(("setting", "word"), [("deny", Word.DENY), ("allow", Word.PASS)])
def test_if_the_check_fails_the_settings_decide(plain, monkeypatch, setting, word):
    (plain.root / "dibs.toml").write_text(f'[guard]\non_error = "{setting}"\n')

    def fail(*_, **__):
        raise Unavailable("the store is gone")

    monkeypatch.setattr(Guarding, "hear", fail)
    with Guard(str(plain.root)) as guard:
        verdict = guard.before(*writes("b.txt"))

        assert verdict.word == word
        assert "the store is gone" in verdict.text + verdict.note
        assert guard.prompted().word == Word.PASS


@pytest.mark.parametrize("given", [{}, {"file_path": 7}, {"file_path": ""}])
def test_a_write_without_a_path_is_denied(guard, given):
    assert guard.before("Write", given).word == Word.DENY


def test_of_many_threads_that_want_a_file_one_gets_it(plain, dibs):
    dibs("init", "--agents", "none")
    count = 8
    barrier = Barrier(count)

    def race(number):
        with Guard(str(plain.root), session=f"session{number}") as guard:
            barrier.wait()
            return guard.before(*writes("b.txt")).word

    with ThreadPoolExecutor(count) as pool:
        words = list(pool.map(race, range(count)))

    assert sorted(words) == [Word.DENY] * (count - 1) + [Word.PASS]


def test_a_guard_is_thread_safe(guard):
    with ThreadPoolExecutor(8) as pool:
        words = list(pool.map(lambda n: guard.before(*writes(f"f{n}.txt")).word, range(40)))

    assert words == [Word.PASS] * 40


# -- the Claude Agent SDK


def event(name, session="feed0001", **fields):
    return {"hook_event_name": name, "session_id": session, **fields}


def ask(hooks, given):
    (matcher,) = hooks[given["hook_event_name"]]
    callback = matcher["hooks"][0] if isinstance(matcher, dict) else matcher.hooks[0]
    return asyncio.run(callback(given, "toolu_1", {"signal": None}))


def use(path, **fields):
    tool, given = writes(path)
    return event("PreToolUse", tool_name=tool, tool_input=given, **fields)


def test_sdk_hooks_deny_in_the_sdks_format_and_say_nothing_otherwise(guard):
    hooks = guard.claude_hooks()

    denied = ask(hooks, use("a.txt"))["hookSpecificOutput"]

    assert denied["hookEventName"] == "PreToolUse"
    assert denied["permissionDecision"] == "deny"
    assert "alice" in denied["permissionDecisionReason"]
    assert ask(hooks, use("b.txt")) == {}


def test_the_first_prompt_of_a_session_delivers_the_full_briefing(guard):
    hooks = guard.claude_hooks()

    told = ask(hooks, event("UserPromptSubmit", prompt="go"))["hookSpecificOutput"]
    again = ask(hooks, event("UserPromptSubmit", prompt="go on"))

    assert told["hookEventName"] == "UserPromptSubmit"
    assert "alice" in told["additionalContext"]
    assert again == {}


def test_an_invalid_call_is_denied_and_never_raises(guard):
    said = ask(guard.claude_hooks(), event("PreToolUse", tool_name="Write", tool_input="?"))

    assert said["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_with_the_sdk_installed_its_own_matchers_are_used(guard, monkeypatch):
    module = ModuleType("claude_agent_sdk")
    module.HookMatcher = SimpleNamespace
    monkeypatch.setitem(sys.modules, "claude_agent_sdk", module)

    hooks = guard.claude_hooks(timeout=5.0)

    assert isinstance(hooks["PreToolUse"][0], SimpleNamespace)
    assert hooks["PreToolUse"][0].timeout == 5.0
    assert ask(hooks, use("a.txt"))["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_importing_the_hooks_package_does_not_load_the_library(monkeypatch):
    import subprocess

    code = "import sys, dibs.guard; print([m for m in sys.modules if m.startswith('dibs.')])"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert told.stdout.strip() == "['dibs.guard']"


@pytest.mark.parametrize("given", [None, [], ["file_path"], "a.txt", 7])
def test_invalid_input_from_a_model_is_denied_and_raises_nothing(guard, given):
    assert guard.before("Write", given).word == Word.DENY
    guard.after("Write", given)


def test_a_closed_guard_denies_for_its_subagents_too(guard):
    helper = guard.for_subagent("helper01")
    guard.close()
    guard.close()

    for one in (guard, helper):
        verdict = one.before(*writes("b.txt"))
        assert verdict.word == Word.DENY
        assert "this guard is closed" in verdict.text
    assert asyncio.run(guard.claude_hooks()["PreToolUse"][0]["hooks"][0]({}))["hookSpecificOutput"]


@pytest.mark.parametrize("what", ["session", "subagent", "name"])
def test_a_guards_names_must_be_strings(plain, what):
    with pytest.raises(BadInput, match=f"{what} must be a string"):
        Guard(str(plain.root), **{what: 7})


def test_a_briefing_that_another_thread_just_confirmed_is_not_an_error(guard):
    class Emptied(list):
        """A list that another thread empties between a check and the next step."""

        def __bool__(self):
            return True

    guard._told = Emptied()

    assert guard.before(*writes("b.txt")).word == Word.PASS
