"""Hooks that outlive Dibs: if its environment or package is deleted, they say so in one line."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest

from dibs.install.agents.edits import Choice, file_edits, hook_entries
from dibs.install.agents.table import AGENTS
from dibs.install.entries.commands import Commands, commands, is_our_hook

SHELLS = [shell for shell in ("sh", "bash", "dash", "zsh", "fish") if shutil.which(shell)]
#: The agents that keep hooks in JSON files of their own.
GUARDED = [name for name, agent in AGENTS.items() if agent.hooks.file.endswith(".json")]


#: Blocks with a reason, dies without one, or allows.
SCRIPT = """
import os, sys
if "preToolUse" in sys.argv:
    sys.stderr.write("a.txt: alice holds it\\n")
    sys.exit(2)
if "PreToolUse" in sys.argv:
    os.kill(os.getpid(), 9)
if "BeforeTool" in sys.argv:
    os._exit(1)
"""


@pytest.fixture
def environment(tmp_path):
    """A virtual environment with a quote and a space in its path, and a script that blocks by itself."""
    place = tmp_path / "bob's venv"
    (place / "bin").mkdir(parents=True)
    (place / "bin" / "python").symlink_to(sys.executable)
    script = place / "dibs" / "guard" / "run.py"
    script.parent.mkdir(parents=True)
    script.write_text(SCRIPT)
    return place


def installed(place):
    script = str(place / "dibs" / "guard" / "run.py")
    return Commands((str(place / "bin" / "python"), "-I", "-S", script), ("dibs",))


def blocking(name, choice):
    """Return the commands of an agent's hooks that can block, and of those that cannot."""
    agent = AGENTS[name]
    found = ([], [])
    for event, groups in hook_entries(agent, choice, agent.hooks.file).groups.items():
        handler = groups[0]["hooks"][0] if agent.hooks.grouped else groups[0]
        refuses = event.lower().startswith(("pre", "beforetool"))
        found[not refuses].append(handler[agent.hooks.key])
    return found


def run(command, shell="sh", **environ):
    done = subprocess.run([shell, "-c", command], capture_output=True, text=True, check=False, input="{}",
                          env={"PATH": "/usr/bin:/bin", **environ})  # fmt: skip
    return done.returncode, done.stderr


@pytest.mark.parametrize("gone", ["environment", "package", "interpreter"])
@pytest.mark.parametrize("name", GUARDED)
def test_a_leftover_hook_says_in_one_line_what_is_missing_and_what_to_do(environment, name, gone):
    block, other = blocking(name, Choice("/", installed(environment)))
    removed = {"environment": environment, "package": environment / "dibs"}.get(gone)
    shutil.rmtree(removed) if removed else (environment / "bin" / "python").unlink()

    for command in block:
        status, said = run(command)
        assert status == 2
        assert said.count("\n") == 1
        assert said.startswith("Dibs blocked this call, because it is no longer installed in ")
        assert said.endswith(
            f"Reinstall it and run dibs init, or delete its hooks from {AGENTS[name].hooks.file}.\n"
        )
    assert {run(command)[0] for command in other} == {0}


@pytest.mark.parametrize("shell", SHELLS)
def test_a_hook_works_in_every_shell(environment, shell):
    commands_ = installed(environment)

    assert run(commands_.hook("claude"), shell) == (0, "")
    assert run(commands_.hook("copilot", "preToolUse"), shell) == (2, "a.txt: alice holds it\n")
    shutil.rmtree(environment)
    assert run(commands_.hook("claude"), shell)[0] == 2


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("event", ["PreToolUse", "BeforeTool"])
def test_a_hook_that_dies_silently_is_reported_in_one_line(environment, shell, event):
    """By a signal, which some shells report themselves, or with another status than 2."""
    status, said = run(installed(environment).hook("codex", event, file=".codex/hooks.json"), shell)

    assert status == 2
    assert said.splitlines()[-1].startswith(
        "Dibs blocked this call, because its hook failed (status "
    )
    assert said.endswith("run dibs doctor, or delete its hooks from .codex/hooks.json.\n")


@pytest.mark.parametrize("file", ["it's", 'a"b', "$(touch x)", "`x`", "a\nb", "", "a b/hooks.json"])
def test_the_report_of_a_dead_hook_quotes_no_strange_file_name(environment, file, tmp_path):
    status, said = run(installed(environment).hook("codex", "BeforeTool", file=file))

    assert status == 2
    named = file if file == "a b/hooks.json" else "this file"
    assert said.endswith(f"delete its hooks from {named}.\n")


def test_a_shared_hook_says_that_dibs_is_not_on_the_path():
    status, said = run(commands(shared=True).hook("claude", file=".claude/settings.json"))

    assert status == 2
    assert said == (
        "Dibs blocked this call, because dibs is not on the PATH."
        " Install Dibs, or delete its hooks from .claude/settings.json.\n"
    )


@pytest.mark.parametrize("shared", [True, False])
def test_hooks_of_this_and_of_older_releases_are_recognized(shared):
    made = commands(shared=shared)
    head, _, now = made.hook("claude", file="x").partition(" ; ")
    old = f"{now.partition(' || ')[0]} || exit 2"

    assert old.endswith("claude || exit 2")
    assert is_our_hook(old)
    assert is_our_hook(f"{head} ; {old}")
    assert not is_our_hook(f"{old.removesuffix('exit 2')}eval 'notify' || exit 2")
    assert is_our_hook(made.hook("claude", file="it's"))
    assert is_our_hook(made.hook("copilot", "preToolUse"))
    assert not is_our_hook("lint ; " + made.hook("claude"))
    assert not is_our_hook(made.hook("claude") + " ; lint")


@pytest.mark.skipif(not shutil.which("node"), reason="needs node")
@pytest.mark.parametrize("gone", ["environment", "package"])
def test_a_leftover_plug_in_of_opencode_says_what_is_missing(environment, tmp_path, gone):
    (edit,) = [
        e
        for e in file_edits(AGENTS["opencode"], Choice("/", installed(environment)))
        if e.what == "plugin"
    ]
    (tmp_path / "plugin.mjs").write_text(edit.piece.text)
    shutil.rmtree(environment if gone == "environment" else environment / "dibs")
    code = (
        "import { Dibs } from './plugin.mjs'\n"
        "const client = { session: { get: async () => ({ data: {} }) } }\n"
        "const hooks = await Dibs({ client, directory: '/' })\n"
        "const call = { tool: 'write', sessionID: 's', callID: 'c' }\n"
        "const said = (error) => console.log(JSON.stringify(error.message))\n"
        "await hooks['tool.execute.before'](call, { args: {} }).catch(said)\n"
    )
    (tmp_path / "driver.mjs").write_text(code)

    said = json.loads(subprocess.check_output(["node", "driver.mjs"], cwd=tmp_path))

    assert said.startswith("Dibs blocked this call, because it is no longer installed (")
    assert said.endswith("Reinstall it and run dibs init, or delete .opencode/plugin/dibs.js.")
