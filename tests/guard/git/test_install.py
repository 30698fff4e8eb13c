"""Our hooks next to the user's: existing hooks run as before, and are restored byte for byte."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess

import pytest

from dibs.git import calls


def picture(root):
    """Return every file of a folder with its bytes, mode, and link target."""
    found = {}
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.islink(path):
                found[path] = os.readlink(path)
            else:
                with open(path, "rb") as file:
                    found[path] = (stat.S_IMODE(os.stat(path).st_mode), file.read())
    return found


def hook(place, *lines, mode=0o755):
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("\n".join(("#!/bin/sh", *lines, "")))
    place.chmod(mode)


@pytest.fixture
def held(plain, dibs):
    dibs("claim", "a.txt", agent="alice")
    return plain


def edit(place, python):
    """Change the interpreter in a hook."""
    rows = place.read_text().splitlines(keepends=True)
    place.write_text("".join(f"python={python}\n" if r[:7] == "python=" else r for r in rows))


def both(clone):
    """Return the hooks folder and the configuration, as they are on disk."""
    config = clone.root / ".git/config"
    return picture(clone.root / ".git/hooks"), picture(clone.root / ".husky"), config.read_bytes()


def test_existing_hooks_run_first_with_their_arguments_and_input(held, dibs, tmp_path):
    hooks, log = held.root / ".git/hooks", tmp_path / "log"
    hook(hooks / "pre-commit", f'echo "pre-commit $# $GIT_INDEX_FILE" >>{log}')
    hook(hooks / "reference-transaction", f'echo "$1" >>{log}; cat >>{log}')
    hook(hooks / "pre-push", f'echo "push $*" >>{log}; cat >>{log}')
    held.git("init", "-q", "--bare", str(tmp_path / "hub.git"))
    before = both(held)

    dibs("git", "install")
    new = held.commit("b.txt", agent="bob")
    held.git("push", "-q", str(tmp_path / "hub.git"), "main")
    said = log.read_text()

    assert "pre-commit 0 " in said
    assert f"{new} refs/heads/main\n" in said
    assert said.count("prepared\n") == said.count("committed\n")
    assert (
        f"push {tmp_path}/hub.git {tmp_path}/hub.git\nrefs/heads/main {new} refs/heads/main 0"
        in said
    )
    held.edit("a.txt")
    held.refused("commit", "-m", "x", agent="bob")
    dibs("git", "uninstall")
    assert both(held) == before
    assert [name for name in os.listdir(held.root / ".git") if "dibs-" in name] == []


@pytest.mark.parametrize("name", ["pre-commit", "reference-transaction"])
def test_an_existing_hook_still_refuses(plain, dibs, name):
    hook(plain.root / ".git/hooks" / name, "echo no way >&2", "exit 7")
    dibs("git", "install")
    plain.edit("b.txt")

    done = plain.run("commit", "-m", "x")

    assert done.returncode != 0
    assert "no way" in done.stderr


def test_a_hook_that_is_not_executable_does_not_run_and_is_restored(held, dibs):
    hook(held.root / ".git/hooks/pre-commit", "exit 1", mode=0o644)
    os.symlink("pre-commit", held.root / ".git/hooks/pre-push")
    before = both(held)
    dibs("git", "install")
    held.commit("b.txt", agent="bob")
    dibs("git", "uninstall")

    assert both(held) == before


def test_installing_twice_changes_nothing_and_uninstalling_twice_neither(held, dibs):
    hook(held.root / ".git/hooks/pre-commit", "exit 0")
    before = both(held)

    dibs("git", "install")
    once = both(held)
    dibs("git", "install")
    assert both(held) == once
    dibs("git", "uninstall")
    assert "no git hooks to remove" in dibs("git", "uninstall")
    assert both(held) == before


def test_an_agent_cannot_remove_the_hooks(repo, dibs):
    dibs("git", "uninstall", agent="bob", status=77)
    repo.edit("a.txt")
    repo.refused("commit", "-m", "x", agent="bob")


def test_a_hook_that_replaced_ours_stays(held, dibs):
    place = held.root / ".git/hooks/pre-commit"
    hook(place, "exit 0 # first")
    dibs("git", "install")
    hook(place, "exit 0 # second")

    assert main_status(held, dibs) is False
    dibs("git", "install", status=78)  # it is unclear which of the two should run
    dibs("git", "uninstall")

    assert "second" in place.read_text()
    assert "first" in (place.parent / "pre-commit.dibs-before").read_text()


def test_an_edited_dibs_hook_belongs_to_the_user(held, dibs):
    place = held.root / ".git/hooks/pre-push"
    dibs("git", "install")
    with open(place, "a", encoding="utf-8") as file:
        file.write("# and my own line\n")

    dibs("git", "uninstall")

    assert place.read_text().endswith("# and my own line\n")
    assert not (place.parent / "pre-commit").exists()


def test_a_killed_install_can_be_continued(held, dibs):
    place = held.root / ".git/hooks/pre-commit"
    hook(place, "exit 0")
    before = both(held)
    os.link(place, f"{place}.dibs-before")

    dibs("git", "install")
    dibs("git", "uninstall")

    assert both(held) == before


def main_status(clone, dibs):
    found = json.loads(dibs("git", "status", "--json", status=6))
    return found["installed"]


def husky(clone):
    """Create what husky 9 creates: a generated folder that runs tracked scripts."""
    clone.write(".husky/pre-commit", "echo tracked >>husky.log\n")
    clone.write(
        ".husky/_/h",
        '#!/usr/bin/env sh\ns=".husky/$(basename "$0")"\n[ -f "$s" ] || exit 0\nsh -e "$s" "$@"\n',
    )
    for name in ("pre-commit", "commit-msg", "pre-push"):
        hook(clone.root / ".husky/_" / name, '. "$(dirname "$0")/h"')
    clone.write(".husky/_/.gitignore", "*")
    with open(clone.root / ".git/config", "a", encoding="utf-8") as file:
        file.write('[core]\n  hooksPath=".husky/_"   ; as someone likes it\n')


def test_husky_runs_as_before_and_its_files_are_not_touched(held, dibs):
    husky(held)
    before = both(held)

    dibs("git", "install")
    assert both(held)[:2] == before[:2]
    held.commit("b.txt")
    assert "tracked" in (held.root / "husky.log").read_text()
    held.edit("a.txt")
    held.refused("commit", "-m", "x", agent="bob")
    held.refused("commit", "-n", "-m", "x", agent="bob")
    dibs("git", "install")
    dibs("git", "uninstall")

    assert both(held) == before
    assert held.git("config", "core.hooksPath") == ".husky/_"
    assert not (held.root / ".git/dibs/hooks").exists()


def test_status_reports_when_husky_resets_its_path(held, dibs):
    husky(held)
    dibs("git", "install")
    held.git("config", "core.hooksPath", ".husky/_")

    assert "not installed" in dibs("git", "status", status=6)
    dibs("git", "install")
    held.edit("a.txt")
    held.refused("commit", "-m", "x", agent="bob")


def test_a_setting_that_changed_since_keeps_its_change(held, dibs):
    husky(held)
    dibs("git", "install")
    held.git("config", "user.nickname", "someone")

    dibs("git", "uninstall")

    assert held.git("config", "core.hooksPath") == ".husky/_"
    assert held.git("config", "user.nickname") == "someone"


def test_hooks_in_the_users_global_configuration_run_as_before(held, dibs, tmp_path):
    hook(tmp_path / "mine/pre-commit", f"echo mine >>{tmp_path}/log")
    held.git("config", "--global", "core.hooksPath", str(tmp_path / "mine"))
    before = both(held)

    dibs("git", "install")
    held.commit("b.txt", agent="bob")
    held.edit("a.txt")
    held.refused("commit", "-m", "x", agent="bob")
    dibs("git", "uninstall")

    assert (tmp_path / "log").read_text() == "mine\nmine\n"
    assert both(held) == before


@pytest.mark.parametrize("again", [True, False])
def test_hooks_can_be_reinstalled_after_a_repository_moved(
    held, dibs, tmp_path, monkeypatch, again
):
    hook(tmp_path / "team/pre-commit", f"echo team >>{tmp_path}/log")
    held.git("config", "core.hooksPath", str(tmp_path / "team"))
    config = (held.root / ".git/config").read_bytes()
    dibs("git", "install")
    held.root = held.root.rename(tmp_path / "elsewhere")
    monkeypatch.chdir(held.root)

    if again:  # git has an absolute path, so it must be set again
        dibs("git", "install")
        held.edit("a.txt")
        held.refused("commit", "-m", "x", agent="bob")
        assert (tmp_path / "log").read_text() == "team\n"
    dibs("git", "uninstall")

    assert (held.root / ".git/config").read_bytes() == config
    assert not (held.root / ".git/dibs/hooks").exists()


def test_a_linked_hooks_folder_is_not_changed(held, dibs, tmp_path):
    hook(tmp_path / "shared/pre-commit", f"echo shared >>{tmp_path}/log")
    hooks = held.root / ".git/hooks"
    for sample in hooks.iterdir():
        sample.unlink()
    hooks.rmdir()
    hooks.symlink_to(tmp_path / "shared")
    shared, config = picture(tmp_path / "shared"), (held.root / ".git/config").read_bytes()

    dibs("git", "install")
    held.commit("b.txt")
    assert picture(tmp_path / "shared") == shared
    dibs("git", "uninstall")

    assert (tmp_path / "log").read_text() == "shared\n"
    assert (held.root / ".git/config").read_bytes() == config


FRAMEWORK = (
    "# File generated by pre-commit: https://pre-commit.com",
    'HERE="$(cd "$(dirname "$0")" && pwd)"',
    '[ ! -x "$HERE/pre-commit.legacy" ] || "$HERE/pre-commit.legacy" "$@" || exit',
    'echo framework >>"$HERE/log"',
)


def test_the_pre_commit_framework_works_before_and_after_our_hooks(held, dibs):
    place = held.root / ".git/hooks/pre-commit"
    hook(place, *FRAMEWORK)
    dibs("git", "install")
    held.commit("b.txt", agent="bob")
    assert (place.parent / "log").read_text() == "framework\n"
    dibs("git", "uninstall")
    place.unlink()

    # The other way around: it renames our hook and runs it.
    dibs("git", "install")
    place.rename(place.parent / "pre-commit.legacy")
    hook(place, *FRAMEWORK)
    held.edit("a.txt")
    held.refused("commit", "-m", "x", agent="bob")
    dibs("git", "uninstall")
    assert not (place.parent / "pre-commit.legacy").exists()
    assert "framework" in place.read_text()


def test_a_hook_that_the_framework_runs_counts_as_installed(held, dibs):
    place = held.root / ".git/hooks/pre-commit"
    dibs("git", "install")
    place.rename(place.parent / "pre-commit.legacy")
    hook(place, *FRAMEWORK)
    assert "not installed" not in dibs("git", "status")

    dibs(
        "git", "install"
    )  # installing ours again in front would make the two run each other forever

    assert "framework" in place.read_text()
    assert not (place.parent / "pre-commit.dibs-before").exists()
    held.edit("a.txt")
    held.refused("commit", "-m", "x", agent="bob")
    dibs("git", "uninstall")
    assert "framework" in place.read_text()
    assert not (place.parent / "pre-commit.legacy").exists()


def test_a_hook_that_a_tool_restored_over_ours_is_saved_again(held, dibs):
    place = held.root / ".git/hooks/pre-commit"
    hook(place, "echo tool >>tool.log")
    before = both(held)
    for _ in range(2):
        dibs("git", "install")
        place.unlink()
        hook(place, "echo tool >>tool.log")
    assert "not installed" in dibs("git", "status", status=6)
    dibs("git", "install")
    held.edit("a.txt")
    assert "commit refused" in held.refused("commit", "-m", "x", agent="bob")

    place.unlink()
    hook(place, "echo tool >>tool.log")
    dibs("git", "uninstall")

    assert both(held) == before


def test_uninstall_reports_a_saved_hook_that_another_replaced(held, dibs):
    place = held.root / ".git/hooks/pre-commit"
    hook(place, "echo old")
    dibs("git", "install")
    place.unlink()
    hook(place, "echo new")

    said = dibs("git", "uninstall")

    assert f"because a newer one replaced it: {place}.dibs-before" in said
    assert "old" in place.with_name("pre-commit.dibs-before").read_text()
    assert "new" in place.read_text()


def test_the_framework_can_check_without_our_hooks(held, dibs, monkeypatch, capsys):
    held.edit("a.txt")
    dibs("git", "check", agent="bob", status=3)
    assert json.loads(dibs("git", "check", "--json", agent="alice")) == {
        "allowed": True,
        "stopped": [],
    }
    held.git("commit", "-q", "-m", "x")
    dibs("git", "check", agent="bob")
    monkeypatch.setenv("PRE_COMMIT_FROM_REF", held.git("rev-parse", "HEAD~1"))
    monkeypatch.setenv("PRE_COMMIT_TO_REF", held.git("rev-parse", "HEAD"))
    dibs("git", "check", agent="bob", status=3)


def test_a_hook_without_its_interpreter_says_so_and_refuses(repo):
    for name in ("pre-commit", "reference-transaction"):
        edit(repo.root / ".git/hooks" / name, "/gone/python")
    repo.edit("b.txt")

    said = repo.refused("commit", "-m", "x")
    assert "refused: cannot check claims: /gone/python is missing" in said
    assert "if Dibs moved, run: dibs git install" in said
    done = repo.run("commit", "-m", "x", DIBS_GATE_ON_ERROR="allow")

    assert done.returncode == 0
    assert "warning: allowed without checking claims: /gone/python is missing" in done.stderr
    assert "refused" not in done.stderr


def leftovers(said):
    """Return the command in a hook's message that removes the hooks."""
    (line,) = [line for line in said.splitlines() if "remove its hooks" in line]
    return line.partition("remove its hooks: ")[2]


def test_the_command_that_a_leftover_hook_prints_removes_all_hooks(repo):
    hook(repo.root / ".git/hooks/commit-msg")
    edit(repo.root / ".git/hooks/pre-commit", "/gone/python")
    repo.edit("b.txt")

    command = leftovers(repo.refused("commit", "-m", "x"))
    subprocess.run(command, shell=True, cwd=repo.root, check=True)

    hooks = os.listdir(repo.root / ".git/hooks")
    assert [name for name in hooks if not name.endswith(".sample")] == ["commit-msg"]
    repo.git("commit", "-m", "x", agent="bob")


def test_the_command_that_a_leftover_hook_prints_restores_the_hooks_path(held, dibs):
    held.git("config", "core.hooksPath", "it's $mine")
    dibs("git", "install")
    edit(held.root / ".git/dibs/hooks/pre-commit", "/gone/python")
    held.edit("b.txt")

    subprocess.run(
        leftovers(held.refused("commit", "-m", "x")), shell=True, cwd=held.root, check=True
    )

    assert held.git("config", "core.hooksPath") == "it's $mine"


def test_a_hook_without_dibs_says_so_and_refuses(repo):
    for name in ("pre-commit", "reference-transaction"):
        place = repo.root / ".git/hooks" / name
        place.write_text(place.read_text().replace("sys.path += [", "sys.path += [] and ["))
    repo.edit("b.txt")

    said = repo.refused("commit", "-m", "x")

    assert "No module named" in said
    assert "refused: cannot check claims: Dibs cannot be loaded" in said
    assert "DIBS_GATE_ON_ERROR=allow" in said
    done = repo.run("commit", "-m", "x", DIBS_GATE_ON_ERROR="allow")
    assert done.returncode == 0
    assert "warning: allowed without checking claims: Dibs cannot be loaded" in done.stderr


def test_a_hook_that_cannot_read_the_update_refuses(held, dibs):
    hook(held.root / ".git/hooks/reference-transaction")
    dibs("git", "install")
    head = held.git("rev-parse", "HEAD")
    held.edit("a.txt")

    done = subprocess.run(
        [str(shutil.which("git")), "commit", "-q", "--no-verify", "-m", "x"],
        cwd=held.root,
        env={**os.environ, "PATH": ""},
        check=False,
        capture_output=True,
    )

    assert done.returncode != 0
    assert held.git("rev-parse", "HEAD") == head


def test_an_unreachable_store_blocks_commits_unless_configured_otherwise(repo):
    down = {
        "DIBS_ENGINE": "redis://127.0.0.1:1/0",
        "DIBS_PROJECT": "x",
        "DIBS_TIMEOUT": "1s",
    }
    (repo.root / ".git" / "dibs" / "engine.json").unlink()
    repo.edit("b.txt")

    said = repo.refused("commit", "-m", "x", **down)
    assert "refused: cannot check claims:" in said
    assert "DIBS_GATE_ON_ERROR=allow" in said
    repo.refused("commit", "-n", "-m", "x", **down)
    done = repo.run("commit", "-m", "x", DIBS_GATE_ON_ERROR="allow", **down)
    assert done.returncode == 0
    assert "warning: allowed without checking claims:" in done.stderr


def test_unreadable_settings_block_commits(repo):
    repo.write("dibs.toml", "[claims]\nttl = 'nonsense'\n")
    repo.git("add", "b.txt")
    repo.edit("b.txt")

    assert "nonsense" in repo.refused("commit", "-m", "x")
    assert "nonsense" in repo.refused("commit", "-n", "-m", "x")


def test_dibs_commit_is_not_checked_twice(repo):
    edit(repo.root / ".git/hooks/pre-commit", "/gone/python")
    repo.edit("b.txt")

    repo.git("hook", "run", "pre-commit", DIBS_COMMITTING="1")


@pytest.fixture
def started(monkeypatch):
    """The git commands that Dibs starts, in order."""
    found, real = [], calls.spawn

    def spawn(argv, **named):
        found.append(next(w for w in argv if "=" not in w and not w.startswith("-")))
        return real(argv, **named)

    monkeypatch.setattr(calls, "spawn", spawn)
    return found


@pytest.mark.parametrize("in_front", [False, True])
def test_dibs_commit_does_not_start_its_own_hooks(held, dibs, started, in_front):
    if in_front:
        held.git("config", "core.hooksPath", ".hooks")
    dibs("git", "install")
    held.write("a.txt")
    started.clear()

    dibs("commit", "-m", "short", agent="alice")

    assert started == [
        *("config", "status", "commit", "diff-tree", "diff-files", "update-ref"),
    ]
    assert held.git("log", "-1", "--format=%s") == "short"


_HOOKS = ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit")


@pytest.mark.parametrize(
    ("where", "name"),
    [*((where, name) for where in ("beside", "husky") for name in _HOOKS), ("ours", "pre-commit")],
)
def test_dibs_commit_runs_each_of_the_users_hooks(held, dibs, where, name):
    line = f"echo user >>{held.root}/.git/log"
    if where == "husky":
        held.git("config", "core.hooksPath", ".husky")
    elif where == "beside":
        hook(held.root / ".git/hooks" / name, line)
    dibs("git", "install")
    if where == "husky":
        hook(held.root / ".husky" / name, line)
    elif where == "ours":  # changed by the user
        ours = held.root / ".git/hooks" / name
        hook(ours, *ours.read_text().splitlines()[1:3], line, "exit")
    held.write("a.txt")

    dibs("commit", "-m", "hooked", agent="alice")

    assert (held.root / ".git/log").read_text() == "user\n"
    assert held.git("log", "-1", "--format=%s") == "hooked"


def test_hooks_in_the_users_settings_are_left_to_git(held, dibs, started):
    held.git("config", "--global", "hook.lint.command", "true")
    held.git("config", "--global", "hook.lint.event", "pre-commit")
    dibs("git", "install")
    held.write("a.txt")
    started.clear()

    dibs("commit", "-m", "with settings", agent="alice")

    assert "hook" in started
