"""Commands that change no tracked file are never blocked and claim nothing."""

from __future__ import annotations

import json
import os
import subprocess

import pytest
from tests.guard.harmless import COMMANDS

from dibs.cli import main
from dibs.guard.agents.program import answer
from dibs.project.project import open_project

IGNORED = "dist/\nbuild/\n*.log\nnode_modules/\n__pycache__/\n*.pyc\n.cache/\n.*_cache/\n"
FILES = (
    "src/app.py", "src/util.py", "src/app.ts", "src/main.c", "src/main.rs", "src/index.php", "README.md",
    "package.json", "infra/main.tf", "docs/guide.md", "notes.md", "tests/test_app.py", "scripts/build.sh",
    "requirements.txt", "uv.lock", "poetry.lock", "yarn.lock", "package-lock.json", "composer.lock",
)  # fmt: skip
BUILT = (
    "dist/app.js", "build/app", "src/__pycache__/app.pyc", "src/debug.log", "build.log", ".cache/x",
    "node_modules/x/index.js", ".pytest_cache/x",
)  # fmt: skip
HELD = (
    "src/",
    "infra/*.tf",
    "README.md",
    "package.json",
    "uv.lock",
    "poetry.lock",
    "yarn.lock",
)
#: The input of commands that read a here-document.
HERE = {"python3 - <<'X'": "print(1 > 0)\nX", "cat <<'EOT'": "x > src/app.py\nEOT"}


def commands():
    lines = [line for line in COMMANDS.splitlines() if line.strip()]
    return [f"{line}\n{HERE[line]}" if line in HERE else line for line in lines]


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A repository in which alice holds most files and has changed two of them."""
    root = tmp_path_factory.mktemp("tree").resolve()
    for path in (*FILES, *BUILT):
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("x\n")
    (root / ".gitignore").write_text(IGNORED)
    git = ("git", "-C", str(root), "-c", "user.name=x", "-c", "user.email=x@y")
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "x"], check=True)
    (root / "src/app.py").write_text("changed\n")
    (root / "README.md").write_text("changed\n")
    claim(root, *HELD)
    return root


def claim(root, *patterns, agent="alice"):
    words = ("claim", *patterns, "--new", "--ttl", "1h", "--agent", agent, "--repo", str(root))
    assert main(words) == 0


def release(root, agent="bob"):
    assert main(("release", "--all", "--agent", agent, "--repo", str(root))) == 0


def ask(root, tool, **given):
    """Return why a call is blocked; empty if it is not."""
    call = {
        "session_id": "bob-session", "cwd": str(root), "hook_event_name": "PreToolUse",
        "tool_name": tool, "tool_input": given, "tool_use_id": os.urandom(4).hex(),
    }  # fmt: skip
    environ = {"DIBS_AGENT": "bob", "HOME": os.environ["HOME"], "PATH": os.environ["PATH"]}
    said, _ = answer(["claude"], json.dumps(call).encode(), environ, str(root), os.getpid())
    return said.stdout + said.stderr if '"deny"' in said.stdout or said.status else ""


def bash(root, command):
    return ask(root, "Bash", command=command)


def write(root, path):
    return ask(root, "Write", file_path=str(root / path), content="x")


def claims(root, agent="bob"):
    project = open_project(str(root))
    try:
        return [held.claim.pattern for held in project.overview(agent).claims]
    finally:
        project.close()


def test_no_harmless_command_is_blocked_or_claims_anything(tree):
    wrong = []
    for command in commands():
        blocked = bash(tree, command)
        taken = claims(tree)
        if blocked or taken:
            wrong.append(f"{command}: {'blocked' if blocked else taken}")
            release(tree)
    if wrong:
        pytest.fail("\n".join(wrong))


@pytest.mark.parametrize(
    "command",
    [
        "echo x > src/app.py",
        "find . -name '*.py' -delete",
        "find . -not -name '*.pyc' -delete",
        "find . ! -name '*.pyc' -delete",
        "find . -name '*.pyc' -o -delete",
        "find . -type f -delete",
        "find . -name '*.py' -exec rm {} +",
        "rm -rf src",
        "rm -rf **/*.py",
        "terraform fmt infra",
        "terraform fmt -diff infra",
        "black src",
        "ruff format .",
        "eslint --fix src",
        "prettier --write src",
        "git stash",
        "git stash -m --help",
        "git checkout .",
        "git reset --hard",
        "sed -i s/a/b/ src/*.py",
        "cp /tmp/x src/debug.py",
        "dart format src",
    ],
)
def test_a_command_that_changes_a_held_file_is_still_blocked(tree, command):
    assert "alice" in bash(tree, command)
