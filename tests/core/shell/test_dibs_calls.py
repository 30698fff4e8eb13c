"""The Dibs commands in an agent's shell call: what acts as someone else, and what only mentions it."""

from __future__ import annotations

from shlex import quote

import pytest

from dibs.core.claims.commands import HUMAN_ONLY, human_only
from dibs.core.shell.dibs_calls import find_calls, refused_call

REFUSED = (
    "echo '{}' | dibs hook claude",
    "dibs hook cursor preToolUse < event.json",
    "/venv/bin/python -I -S /venv/lib/python3.11/site-packages/dibs/guard/run.py claude < event.json",
    "dibs release --all --agent alice",
    "dibs release --agent=alice a.py",
    "dibs agent stop alice",
    "dibs agent stop --reason loops alice",
    "dibs agent join --parent alice",
    "dibs agent join --parent=alice",
    "DIBS_AGENT=alice dibs release --all",
    "export DIBS_AGENT=alice",
    "export DIBS_AGENT=alice && dibs release --all",
    "DIBS_AGENT=alice; dibs release",
    "env DIBS_AGENT=alice dibs release --all",
    "unset DIBS_AGENT; dibs say all hi",
    "env -u DIBS_AGENT dibs status",
    "env -i dibs status",
    "env -i PATH=/bin dibs status",
    "env --unset=DIBS_AGENT dibs status",
    "DIBS_AGENT= dibs status",
    "dibs revoke a.py --reason x",
    "/usr/local/bin/dibs revoke a.py",
    "./.venv/bin/dibs revoke a.py",
    "python -m dibs revoke a.py",
    "python3 -m dibs revoke a.py",
    "bash -c 'dibs revoke a.py'",
    'bash -lc "cd /x && dibs revoke a.py"',
    "setsid dibs revoke a.py",
    "setsid -f dibs revoke a.py",
    "nohup dibs revoke a.py &",
    "nohup sh -c 'sleep 1; dibs revoke a.py' >/dev/null 2>&1 &",
    "tmux new -d 'dibs revoke a.py'",
    'tmux new-session -d -s x "dibs revoke a.py"',
    "tmux send-keys -t 0 'dibs revoke a.py --reason x' Enter",
    'tmux send-keys "dibs revoke a.py" C-m',
    "screen -dmS x dibs revoke a.py",
    "script -qc 'dibs revoke a.py' /dev/null",
    'script -q -c "dibs revoke a.py" /dev/null',
    "at now <<< 'dibs revoke a.py'",
    "echo 'dibs revoke a.py' | at now",
    'echo "dibs revoke a.py" | bash',
    "printf 'dibs revoke a.py\\n' | sh",
    "ssh localhost 'dibs revoke a.py'",
    "ssh -t localhost dibs revoke a.py",
    "unshare -pf --mount-proc dibs revoke a.py",
    "unshare -Urpf --mount-proc sh -c 'dibs revoke a.py'",
    "systemd-run --user dibs revoke a.py",
    "timeout 5 dibs revoke a.py",
    "pipx run dibs revoke a.py",
    "echo '* * * * * dibs revoke a.py' | crontab -",
    "sudo dibs revoke a.py",
    "sudo -u bob -- dibs revoke a.py",
    "xargs -n1 dibs revoke < list",
    "find . -name '*.py' -exec dibs revoke {} \\;",
    "D=dibs; $D revoke a.py",
    "(dibs revoke a.py)",
    "x=$(dibs revoke a.py)",
    "if true; then dibs revoke a.py; fi",
    "for f in a b; do dibs revoke $f; done",
    "true && dibs revoke a.py || true",
    "dibs git uninstall",
    "dibs init --uninstall",
    "dibs init --uninstall --purge --yes",
    "dibs token new --scope human",
    "dibs token new --agent alice",
    "dibs crew stop",
    "dibs serve stop",
    "dibs open",
    "dibs run a.py -- dibs revoke b.py",
    'eval "dibs revoke a.py"',
    "python3 -c \"import os; os.system('dibs revoke a.py')\"",
    "python3 -c \"import subprocess; subprocess.run(['dibs','revoke','a.py'])\"",
    'python -c \'import subprocess as s; s.run(["/usr/bin/dibs", "revoke", "a.py", "--reason", "x"])\'',
    "node -e \"require('child_process').execSync('dibs revoke a.py')\"",
    "perl -e 'system(\"dibs revoke a.py\")'",
    "unknowntool --run 'dibs revoke a.py'",
    "uv run dibs revoke a.py",
    "uvx dibs revoke a.py",
    "dibs --json revoke a.py",
    "bwrap --dev-bind / / dibs revoke a.py",
    "coproc dibs revoke a.py",
    "watch -n1 'dibs revoke a.py'",
    "dibs agent join --agent mallory --parent me",
    "dibs commit --agent alice -m x",
    "dibs claim a.py --agent human",
    "bash <<EOF\ndibs revoke a.py\nEOF",
    "at now <<EOF\ndibs revoke a.py\nEOF",
    "python3 - <<'EOF'\nimport os\nos.system('dibs revoke a.py')\nEOF",
)
HARMLESS = (
    "dibs hook --help",
    "python -m ruff check src/dibs/guard/run.py",
    "dibs claim a.py",
    "dibs status",
    "dibs release --all",
    "dibs release --agent me a.py",
    "DIBS_AGENT=me dibs status",
    'dibs say all "please run dibs revoke a.py"',
    'dibs ask a.py --note "or a human runs dibs revoke"',
    "grep -rn 'dibs revoke' docs",
    'rg "dibs revoke a.py" .',
    "echo 'dibs revoke a.py'",
    'echo "run dibs revoke" >> notes.md',
    'git commit -m "docs: explain dibs revoke"',
    "git commit -am 'say when dibs revoke applies; dibs git uninstall'",
    "git log --grep 'dibs revoke'",
    'gh pr create --title x --body "dibs revoke is human only"',
    "sed -n '/dibs revoke/p' docs/x.md",
    "cat docs/revoke.md",
    "dibs help revoke",
    "dibs revoke --help",
    "man dibs",
    "pip install dibs",
    "cd src/dibs && ls",
    "ls src/dibs/cli/commands/revoke.py",
    "pytest tests/cli/test_revoke.py -k dibs",
    "python -m pytest src/dibs",
    "dibs git status",
    "dibs token ls",
    "dibs crew stop bob",
    "dibs init --check",
    "dibs log --agent alice",
    "dibs changes --agent alice",
    "sed -i 's/dibs revoke/dibs ask/' docs/x.md",
    "awk '/dibs revoke/ {print}' f",
    "vim src/dibs/x.py",
    "make -C dibs test",
    "dibs run a.py -- make",
    "dibs explain a b",
    "tail -f dibs.log",
    "cp dibs revoke",
    "diff dibs.toml other.toml",
    "python -c \"print('dibs')\"",
    "python scripts/english.py docs",
    "cat > notes.md <<EOF\nA human runs dibs revoke a.py\nEOF",
    "tee x.md <<'EOF'\ndibs revoke a.py\nEOF",
    "git commit -F - <<EOF\ndibs revoke\nEOF",
)


@pytest.mark.parametrize("command", REFUSED)
def test_a_command_that_runs_dibs_as_someone_else_is_refused(command):
    what, why = refused_call(command, "me")

    assert what
    assert why


@pytest.mark.parametrize("command", HARMLESS)
def test_a_command_that_only_mentions_dibs_or_acts_for_the_agent_passes(command):
    assert refused_call(command, "me") == ("", "")


def test_a_session_with_a_number_may_use_the_name_that_it_was_given():
    assert refused_call("DIBS_AGENT=tester dibs status", "tester-2") == ("", "")
    assert (
        refused_call("DIBS_AGENT=tester-3 dibs status", "tester-2")[1]
        == "you are tester-2, not tester-3"
    )


def test_an_agent_may_name_its_subagents():
    for command in ("dibs release --agent me.kid", "dibs agent stop me.kid"):
        assert refused_call(command, "me", ("me", "me.kid")) == ("", "")


@pytest.mark.parametrize(
    "command", ["dibs serve stop", "dibs serve --install", "dibs token new", "dibs crew stop"]
)
def test_a_refusal_names_the_whole_command_for_humans(command):
    assert refused_call(command, "me")[0] == command


@pytest.mark.parametrize("name", HUMAN_ONLY)
def test_every_command_for_humans_is_found_by_its_words(name):
    words = [
        *name.split(),
        *(word if word != "WORD" else "x" for word in HUMAN_ONLY[name][:1] if word != "ALONE"),
    ]

    assert human_only(words)
    assert not human_only([*words, "--help"])


def test_deep_nesting_and_broken_syntax_end():
    deep = "dibs revoke a"
    for _ in range(4):
        deep = f"bash -c {quote(deep)}"

    assert refused_call(deep, "me")[0]
    assert list(find_calls("bash -c 'dibs " * 200)) is not None
    assert list(find_calls("$(dibs revoke " * 200)) is not None
