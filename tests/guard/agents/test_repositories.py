"""Files in submodules, nested, and sibling repositories: the project that contains them decides."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import closing

import pytest

from dibs.guard.agents.program import answer
from dibs.project.project import create, open_project
from dibs.services.state.ledger import Query

NAMED = {f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def git(folder, *words):
    quiet = ["-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main"]
    subprocess.run(
        ["git", "-C", str(folder), *quiet, *words],
        check=True, capture_output=True, env={**os.environ, **NAMED},
    )  # fmt: skip


def repository(folder, *files):
    """Create a repository with committed files."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init")
    for name in files:
        (folder / name).write_text(f"{name}\n")
    git(folder, "add", "-A")
    git(folder, "commit", "--allow-empty", "-m", "begin")
    return folder


@pytest.fixture(autouse=True)
def no_agent(monkeypatch, tmp_path):
    for variable in list(os.environ):
        if variable.startswith(("DIBS_", "CLAUDE", "COPILOT", "GEMINI")):
            monkeypatch.delenv(variable)
    monkeypatch.chdir(tmp_path)


@pytest.fixture(params=["submodule", "nested"])
def outer(request, tmp_path):
    """A project with a repository ``lib`` inside it that is not a project."""
    root = repository(tmp_path / "outer", "a.py")
    if request.param == "submodule":
        source = repository(tmp_path / "source", "x.py", "y.py")
        git(root, "submodule", "add", str(source), "lib")
        git(root, "commit", "-m", "lib")
    else:
        repository(root / "lib", "x.py", "y.py")
    project(root)
    return root


def project(root):
    create(str(root))[0].close()
    return root


def call(tool, cwd, session="alice", event="PreToolUse", **fields):
    sent = {
        "session_id": session, "cwd": str(cwd), "hook_event_name": event,
        "tool_name": tool, "tool_input": fields, "tool_use_id": "t1",
    }  # fmt: skip
    found, _ = answer(
        ("claude",), json.dumps(sent).encode(), dict(os.environ), str(cwd), os.getpid()
    )
    assert found.status == 0, found
    if not found.stdout:
        return ""
    return json.loads(found.stdout)["hookSpecificOutput"].get("permissionDecisionReason", "")


def claims(root):
    with closing(open_project(str(root))) as opened:
        held, _ = opened.claims.all()
        return {one.claim.pattern: one.claim.agent for one in held}


def hold(root, path, cwd=""):
    """Let bob edit a file, which claims it."""
    assert call("Write", cwd or root, "bob", file_path=str(root / path), content="b") == ""


def test_a_file_in_a_repository_without_a_project_is_claimed_in_the_outer_one(outer):
    hold(outer, "lib/x.py")

    assert claims(outer) == {"lib/x.py": "claude-bob"}
    assert "claude-bob holds it" in call("Edit", outer, file_path=str(outer / "lib/x.py"))
    assert call("Edit", outer, file_path=str(outer / "lib/y.py")) == ""


def test_a_session_inside_such_a_repository_is_guarded_by_the_outer_project(outer):
    hold(outer, "a.py", cwd=outer / "lib")
    hold(outer, "lib/x.py", cwd=outer / "lib")

    assert claims(outer) == {"a.py": "claude-bob", "lib/x.py": "claude-bob"}
    assert "holds it" in call("Write", outer / "lib", file_path="x.py", content="")
    assert "holds it" in call("Bash", outer / "lib", command="echo 1 > x.py")
    assert "holds it" in call("Bash", outer / "lib", command="echo 1 > ../a.py")


WRITES = (
    "echo 1 > lib/x.py", "cd lib && sed -i s/a/b/ x.py", "sed -i s/a/b/ lib/*.py", "rm -rf lib",
    "git -C lib checkout .", "cd lib && git checkout -- x.py", "git -C lib reset --hard",
    "cd lib && git stash", "mv lib/x.py /tmp/gone", "cp a.py lib/x.py", "git -C lib restore x.py",
)  # fmt: skip


def test_a_shell_command_cannot_write_a_held_file_in_such_a_repository(outer):
    hold(outer, "lib/x.py")
    (outer / "lib" / "x.py").write_text("of bob\n")

    assert [c for c in WRITES if "lib" not in call("Bash", outer, command=c)] == []


HARMLESS = (
    "cat lib/x.py", "git -C lib status", "git -C lib log", "cd lib && git diff", "ls lib",
    "echo 1 > lib/new.py", "git submodule status", "git -C lib fetch", "cd lib && git add y.py",
)  # fmt: skip


def test_harmless_commands_in_such_a_repository_are_allowed(outer):
    hold(outer, "lib/x.py")

    assert [c for c in HARMLESS if call("Bash", outer, command=c)] == []


def test_a_claim_of_the_whole_folder_counts_for_its_files(outer):
    with closing(open_project(str(outer))) as opened:
        from dibs.core.claims.agents import Caller

        opened.claims.claim(Caller("bob"), [opened.tree.resolve("lib/")])

    assert "bob holds" in call("Edit", outer, file_path=str(outer / "lib/y.py"))
    assert "bob holds" in call("Bash", outer, command="cd lib && echo 1 > y.py")


def test_a_hidden_write_to_a_held_file_in_such_a_repository_is_detected(outer):
    hold(outer, "lib/x.py")
    assert call("Bash", outer, command="python build.py") == ""
    (outer / "lib" / "x.py").write_text("of alice\n")
    call("Bash", outer, event="PostToolUse", command="python build.py")

    with closing(open_project(str(outer))) as opened:
        kinds = [entry.kind for entry in opened.ledger.select(Query(), 50)]
    assert "foreign_write" in kinds


@pytest.fixture
def inner(outer):
    """The inner repository as a project of its own, in which bob holds ``x.py``."""
    project(outer / "lib")
    hold(outer / "lib", "x.py")
    return outer


def test_an_inner_project_decides_about_its_own_files(inner):
    assert claims(inner / "lib") == {"x.py": "claude-bob"}
    assert claims(inner) == {}
    assert "holds it" in call("Edit", inner, file_path=str(inner / "lib/x.py"))
    assert call("Edit", inner, file_path=str(inner / "lib/y.py")) == ""
    assert claims(inner / "lib")["y.py"] == "claude-alice"


OUTSIDE = (
    "echo 1 > lib/x.py", "cd lib && sed -i s/a/b/ x.py", "git -C lib checkout x.py",
)  # fmt: skip


def test_a_shell_command_outside_an_inner_project_is_judged_there(inner):
    (inner / "lib" / "x.py").write_text("of bob\n")

    assert [c for c in OUTSIDE if "holds it" not in call("Bash", inner, command=c)] == []


def test_a_session_in_an_inner_project_is_judged_by_the_outer_one_for_outer_files(inner):
    hold(inner, "a.py")

    assert "holds it" in call("Edit", inner / "lib", file_path=str(inner / "a.py"))
    assert "holds it" in call("Bash", inner / "lib", command="echo 1 > ../a.py")
    assert "holds it" in call("Bash", inner / "lib", command=f"cd {inner} && sed -i s/a/b/ a.py")


@pytest.mark.parametrize("command", [
    "echo 1 > ../sibling/x.py", "cd ../sibling && sed -i s/a/b/ x.py", "git -C ../sibling checkout .",
    "cp a.py {sibling}/x.py", "rm -rf ../sibling/x.py",
])  # fmt: skip
@pytest.mark.parametrize("start", ["outer", "nowhere"])
def test_a_shell_command_for_a_sibling_project_is_judged_there(tmp_path, command, start):
    sibling = project(repository(tmp_path / "sibling", "x.py", "y.py"))
    hold(sibling, "x.py")
    (sibling / "x.py").write_text("of bob\n")
    folder = tmp_path / start
    folder.mkdir()
    if start == "outer":
        project(repository(folder, "a.py"))

    assert "claude-bob holds" in call("Bash", folder, command=command.format(sibling=sibling))
    assert call("Bash", folder, command="echo 1 > ../sibling/y.py") == ""
    assert claims(sibling)["y.py"] == "claude-alice"


@pytest.mark.parametrize("command", [
    "echo 1 > ../sibling/y.py; python -c 'write()'", "make -C ../sibling gen", "make -C../sibling gen",
    "cd ../sibling && make gen", "cd .. && make -C sibling gen", "bash ../sibling/t.sh",
    "npm --prefix ../sibling run g", "npm --prefix=../sibling run g",
    "(cd ../sibling && git status && sh t.sh)",
    "./w.sh {sibling}", "python3 -c \"open('{sibling}'+chr(47)+'x.py','w')\"",
    "for d in ../sibling; do ./w.sh $d; done",
    "python3 - <<E\nrun('{sibling}')\nE", "bash -c 'cd ../sibling; make'",
])  # fmt: skip
def test_a_hidden_write_to_a_sibling_that_the_command_names_is_detected(tmp_path, command):
    """A script that the command line hides is compared before and after, in each project it names."""
    own = project(repository(tmp_path / "own", "a.py"))
    sibling = project(repository(tmp_path / "sibling", "x.py", "y.py"))
    hold(sibling, "x.py")
    for name in ("t.sh", "Makefile"):
        (sibling / name).touch()
    command = command.replace("{sibling}", str(sibling))
    assert call("Bash", own, command=command) == ""
    (sibling / "x.py").write_text("of alice\n")
    call("Bash", own, event="PostToolUse", command=command)

    with closing(open_project(str(sibling))) as opened:
        kinds = [entry.kind for entry in opened.ledger.select(Query(), 50)]
    assert "foreign_write" in kinds


def test_a_new_repository_in_a_folder_does_not_hide_its_files(tmp_path):
    root = project(repository(tmp_path / "app", "a.py"))
    (root / "src").mkdir()
    hold(root, "src/x.py")
    git(root / "src", "init")

    assert "holds it" in call("Edit", root, file_path=str(root / "src/x.py"))
    (root / "src" / ".git" / "HEAD").unlink()  # git ignores it then, and so does Dibs
    assert "holds it" in call("Edit", root, file_path=str(root / "src/x.py"))
