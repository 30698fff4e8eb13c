"""``dibs init`` guards agents: planned first, merged into existing files, removed byte for byte."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.wirings import SETTINGS, THEIRS, git, our_handlers, put, tree

from dibs.install import apply
from dibs.install.agents.table import AGENTS

EVERY = ",".join(AGENTS)

pytestmark = pytest.mark.usefixtures("home")


def test_agents_that_are_found_are_guarded(dibs, repo, home):
    (home / ".codex").mkdir()
    put(repo, "CLAUDE.md", b"# Rules\n")

    answer = dibs("init", "--json").json

    assert answer["agents"] == ["claude", "codex"]
    assert answer["found"] == {"claude": "CLAUDE.md in the repository", "codex": "folder ~/.codex"}
    assert our_handlers(repo / SETTINGS)
    assert our_handlers(repo / ".codex" / "hooks.json")
    assert answer["git_gates"] is True
    assert (repo / ".git" / "hooks" / "pre-commit").exists()


def test_a_dry_run_shows_the_plan_and_changes_nothing(dibs, repo):
    before = tree(repo)

    answer = dibs("init", "--agents", EVERY, "--dry-run")

    assert answer.status == 0
    assert "create   .codex/hooks.json" in answer.out
    assert tree(repo) == before
    assert not (repo / ".git" / "dibs").exists()


def test_a_second_run_has_nothing_to_do(dibs, repo):
    dibs("init", "--agents", EVERY)
    before = tree(repo)
    times = {path: (repo / path).stat().st_mtime_ns for path in before}

    answer = dibs("init", "--agents", EVERY, "--json").json

    assert {change["act"] for change in answer["changes"]} == {"keep"}
    assert not answer["git_gates"]
    assert tree(repo) == before
    assert {path: (repo / path).stat().st_mtime_ns for path in before} == times


@pytest.mark.parametrize("agents", [*AGENTS, EVERY])
def test_uninstall_restores_the_working_tree(dibs, repo, agents):
    put(repo, SETTINGS, THEIRS).chmod(0o600)
    put(repo, "CLAUDE.md", b"# Rules without an end of line")
    put(repo, ".gemini/settings.json", b'{\n\t"theme": "x" // mine\n}\n')
    put(repo, ".codex/config.toml", b'model = "m"  # mine')
    put(repo, "opencode.jsonc", b'{\n  // mine\n  "mcp": {},\n}\n')
    put(repo, ".mcp.json", b'{"mcpServers":{"other":{"command":"x"}}}')
    exclude = repo / ".git" / "info" / "exclude"
    before, hidden = tree(repo), exclude.read_bytes()
    hooks = tree(repo / ".git" / "hooks")

    dibs("init", "--agents", agents)
    assert tree(repo) != before
    answer = dibs("init", "--uninstall")

    assert answer.status == 0
    assert tree(repo) == before
    assert exclude.read_bytes() == hidden
    assert tree(repo / ".git" / "hooks") == hooks
    assert not (repo / ".git" / "dibs" / "wiring").exists()


def test_every_later_run_still_knows_the_original_bytes(dibs, repo):
    put(repo, SETTINGS, b'{ "hooks": {  } ,\n\n "model":"opus"}')
    put(repo, "AGENTS.md", b"# Rules without an end of line")
    put(repo, ".mcp.json", b'{ "mcpServers" : { } }')
    before = tree(repo)

    for more in (["--no-mcp"], [], ["--shared"], ["--no-instructions"], []):
        assert dibs("init", "--agents", "claude", *more).status == 0
    dibs("init", "--uninstall")

    assert tree(repo) == before


def test_row_104_a_file_that_cannot_be_read_stops_everything(dibs, repo):
    put(repo, ".codex/hooks.json", b'{\n  "hooks": {\n    "Stop": [}\n  }\n}\n')
    before = tree(repo)

    answer = dibs("init", "--agents", EVERY, "--json")

    assert answer.status == 65
    assert answer.json["error"]["code"] == "SETTINGS_INVALID"
    assert ".codex/hooks.json:3: " in answer.json["error"]["message"]
    assert tree(repo) == before
    assert not (repo / ".git" / "dibs").exists()


def test_entries_added_after_init_stay(dibs, repo):
    place = put(repo, SETTINGS, THEIRS)
    page = put(repo, "AGENTS.md", b"# Rules\n")
    dibs("init", "--agents", "claude")
    found = json.loads(place.read_bytes())
    found["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": "beep"}]})
    found["later"] = True
    place.write_text(json.dumps(found))
    page.write_bytes(page.read_bytes() + b"\n# Later\n")

    dibs("init", "--uninstall")

    left = json.loads(place.read_bytes())
    wanted = json.loads(THEIRS)
    wanted["hooks"]["Stop"] = [{"hooks": [{"type": "command", "command": "beep"}]}]
    assert left == {**wanted, "later": True}
    assert page.read_bytes() == b"# Rules\n\n# Later\n"


def test_parts_that_are_no_longer_wanted_are_removed(dibs, repo):
    dibs("init", "--agents", "claude")

    dibs("init", "--agents", "claude", "--no-mcp", "--no-instructions")

    assert set(tree(repo)) == {
        ".claude",
        SETTINGS,
        "dibs.toml",
        ".claude/skills",
        ".claude/skills/dibs",
    }
    dibs("init", "--uninstall")
    assert tree(repo) == {}


def test_git_ignores_machine_specific_files(dibs, repo):
    dibs("init", "--agents", EVERY)

    seen = git("status", "--porcelain", "--untracked-files=all").split("\n")

    assert seen[:-1] == ["?? AGENTS.md", "?? GEMINI.md", "?? dibs.toml"]


def test_existing_settings_are_never_touched(dibs, repo):
    mine = put(repo, "dibs.toml", b'[claims]\nttl = "2m"\n')

    dibs("init", "--agents", "claude")
    dibs("init", "--uninstall")

    assert mine.read_bytes() == b'[claims]\nttl = "2m"\n'


def test_settings_that_were_edited_stay(dibs, repo):
    dibs("init", "--agents", "claude")
    mine = repo / "dibs.toml"
    mine.write_text(mine.read_text().replace('# ttl = "5m"', 'ttl = "2m"'))
    edited = mine.read_bytes()

    dibs("init", "--agents", "claude")
    dibs("init", "--uninstall")

    assert mine.read_bytes() == edited


def test_no_file_is_written_through_a_link_that_points_outside(dibs, repo, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (repo / ".claude").symlink_to(outside)
    (repo / ".mcp.json").symlink_to(tmp_path / "no.json")

    answer = dibs("init", "--agents", "claude")

    assert answer.status == 0
    assert "is outside the repository" in answer.out
    assert list(outside.iterdir()) == []
    assert not (tmp_path / "no.json").exists()


def test_a_link_inside_the_repository_stays_and_its_target_gets_one_block(dibs, repo):
    page = put(repo, "AGENTS.md", b"# Rules\n")
    (repo / "CLAUDE.md").symlink_to("AGENTS.md")

    dibs("init", "--agents", "claude,codex")

    assert (repo / "CLAUDE.md").is_symlink()
    assert page.read_text().count("dibs:begin") == 1
    dibs("init", "--uninstall")
    assert page.read_bytes() == b"# Rules\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can change owners")
def test_root_keeps_the_owner_of_files(dibs, repo):
    place = put(repo, SETTINGS, THEIRS)
    os.chown(place, 1234, 1234)
    os.chown(place.parent, 1234, 1234)

    dibs("init", "--agents", "claude")

    assert (place.stat().st_uid, place.stat().st_gid) == (1234, 1234)


def test_only_a_human_may_remove_the_guards(dibs, repo):
    dibs("init", "--agents", "claude")
    before = tree(repo)

    answer = dibs("init", "--uninstall", agent="bob")

    assert answer.status == 77
    assert tree(repo) == before


def test_git_hooks_installed_before_init_survive_uninstall(dibs, repo):
    dibs("git", "install")

    dibs("init", "--agents", "claude")
    dibs("init", "--uninstall")

    assert (repo / ".git" / "hooks" / "pre-commit").exists()


def test_a_kill_at_any_file_leaves_a_state_that_uninstall_restores(dibs, repo, monkeypatch):
    put(repo, SETTINGS, THEIRS)
    put(repo, ".mcp.json", b"{}")
    before = tree(repo)
    write = apply._write
    for most in range(6):
        left = [most]

        def write_some(repository, change, left=left):
            if not left[0]:
                raise KeyboardInterrupt
            left[0] -= 1
            write(repository, change)

        monkeypatch.setattr(apply, "_write", write_some)
        dibs("init", "--agents", "claude")
        monkeypatch.setattr(apply, "_write", write)
        dibs("init", "--uninstall")
        assert tree(repo) == before, most
        dibs("git", "uninstall")


def test_a_file_that_changes_after_planning_is_not_overwritten(dibs, repo, monkeypatch):
    place = put(repo, SETTINGS, THEIRS)
    apply_plan = apply.apply_plan

    def late(repository, plan, **gates):
        place.write_bytes(b'{"mine": 1}')
        return apply_plan(repository, plan, **gates)

    monkeypatch.setattr(apply, "apply_plan", late)
    answer = dibs("init", "--agents", "claude")

    assert answer.status == 69
    assert place.read_bytes() == b'{"mine": 1}'


def test_a_new_worktree_is_guarded_like_the_main_tree(dibs, repo):
    put(repo, "a.txt", b"a\n")
    git("add", "a.txt")
    git("-c", "user.name=x", "-c", "user.email=x@y", "commit", "-qm", "first")
    dibs("init", "--agents", "claude,codex")

    made = dibs("worktree", "new", "bob", "--json").json["worktree"]

    place = Path(made["path"])
    assert (place / SETTINGS).read_bytes() == (repo / SETTINGS).read_bytes()
    assert our_handlers(place / ".codex" / "hooks.json")
    assert subprocess.run(
        ["git", "-C", str(place), "status", "--porcelain"], check=True, capture_output=True
    ).stdout == b""  # fmt: skip


def test_uninstall_removes_the_copies_in_worktrees_too(dibs, repo):
    git("-c", "user.name=x", "-c", "user.email=x@y", "commit", "-qm", "first", "--allow-empty")
    dibs("init", "--agents", "claude,codex")
    place = Path(dibs("worktree", "new", "bob", "--json").json["worktree"]["path"])
    edited = place / ".codex" / "hooks.json"
    edited.write_text(edited.read_text() + "\n")

    dibs("init", "--uninstall")

    assert set(tree(place)) - {".git"} == {".codex", ".codex/hooks.json"}


def test_a_file_that_git_ignores_is_copied_to_new_worktrees(dibs, repo):
    put(repo, ".gitignore", b".claude/settings.local.json\n")
    git("add", ".gitignore")
    git("-c", "user.name=x", "-c", "user.email=x@y", "commit", "-qm", "first")
    dibs("init", "--agents", "claude")

    place = Path(dibs("worktree", "new", "bob", "--json").json["worktree"]["path"])

    assert our_handlers(place / SETTINGS)


def test_uninstall_removes_shared_files_in_a_clone_without_a_manifest(dibs, repo):
    put(repo, ".claude/settings.json", THEIRS)
    put(repo, "CLAUDE.md", b"# Rules\n")
    dibs("init", "--agents", "claude,codex", "--shared", "--no-git-gates")
    shutil.rmtree(repo / ".git" / "dibs")
    put(repo, ".cursor/mcp.json", b"{}")
    put(repo, ".gemini/settings.json", b"not json")

    answer = dibs("init", "--uninstall")

    assert answer.status == 0
    assert json.loads((repo / ".claude" / "settings.json").read_bytes()) == json.loads(THEIRS)
    assert (repo / "CLAUDE.md").read_bytes() == b"# Rules\n"
    assert (repo / ".cursor" / "mcp.json").read_bytes() == b"{}"
    assert (repo / ".gemini" / "settings.json").read_bytes() == b"not json"
    assert not (repo / ".mcp.json").exists()


def test_a_linked_worktree_can_be_initialized_alone(dibs, repo):
    git("-c", "user.name=x", "-c", "user.email=x@y", "commit", "-qm", "first", "--allow-empty")
    git("worktree", "add", "-q", "../side")
    side = repo.parent / "side"
    before = tree(side)

    dibs("init", "--agents", "claude", "--repo", str(side))
    assert our_handlers(side / SETTINGS)
    assert not (repo / ".claude").exists()
    dibs("init", "--uninstall", "--repo", str(side))

    assert tree(side) == before


def test_a_human_on_a_terminal_is_asked(repo):
    import pexpect

    environ = {**os.environ, "TERM": "dumb"}
    words = ["-c", "from dibs.cli import program; program()", "init", "--agents", "claude"]
    for said, status in (("n", 3), ("y", 0)):
        child = pexpect.spawn(sys.executable, words, env=environ, encoding="utf-8", timeout=30)
        child.expect_exact("continue? [Y/n]")
        child.sendline(said)
        child.expect(pexpect.EOF)
        child.close()
        assert child.exitstatus == status
        assert (repo / SETTINGS).exists() == (status == 0)


def test_row_104_a_duplicated_hook_is_removed(dibs, repo):
    dibs("init", "--agents", "claude")
    place = repo / SETTINGS
    found = json.loads(place.read_bytes())
    for groups in found["hooks"].values():
        groups.extend(list(groups))
    place.write_text(json.dumps(found))

    dibs("init", "--agents", "claude")

    assert {len(groups) for groups in json.loads(place.read_bytes())["hooks"].values()} == {1}
