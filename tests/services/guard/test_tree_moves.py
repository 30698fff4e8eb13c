"""Commands that move HEAD or a branch in a shared working tree are checked before they run."""

import os
import subprocess

import pytest
from tests.services.guards import Guarded

from dibs.config.load import Config
from dibs.core.toolcalls.values import EventKind, Word
from dibs.engines.memory import MemoryEngine
from dibs.local.repository import find
from dibs.project.store import open_store
from dibs.services.guard.service import Guarding
from dibs.services.state.commits import Intent, finish
from dibs.services.state.own_claims import claims_of

MOVES_HEAD = (
    "git switch other", "git checkout other", "git checkout -b new", "git switch -c new",
    "git switch -c new other", "git checkout -b new main", "git checkout --detach", "git switch -d other",
    "git checkout HEAD~1", "git switch -", "git rebase other", "git rebase -i HEAD~1", "git pull --rebase",
    "git pull -r origin main", "git bisect start HEAD HEAD~1", "git symbolic-ref HEAD refs/heads/other",
    "git update-ref --no-deref HEAD other", "git stash branch new", "git reset --hard HEAD~1",
    "git checkout --orphan new", "git checkout far", "cd src && git switch other", "sh -c 'git switch other'",
    "git -C src checkout other", "gh pr checkout 5", "git commit -m x; git switch other",
    'git switch "$BRANCH"', "git checkout -qB main other",
)  # fmt: skip
KEEPS_HEAD = (
    "git switch main", "git checkout main", "git checkout top.py", "git checkout -- top.py",
    "git checkout HEAD",
    "git reset --hard HEAD -- ", "git branch new", "git branch -m new newer", "git merge other",
    "git rebase --abort", "git rebase --continue", "git pull", "git pull --no-rebase", "git bisect log",
    "git reset -- top.py", "git status", "git symbolic-ref HEAD", "git stash list", "git fetch",
    "git worktree add ../third other", "git log --oneline", "git commit -m x", "git push",
)  # fmt: skip


@pytest.fixture
def guarded(tmp_path, own_git):
    found = Guarded(tmp_path / "repo")
    for name in ("src/a.py", "src/b.py", "top.py"):
        found.write(name, "1\n")
    found.commit()
    found.git("branch", "other", "HEAD~1")
    found.git("update-ref", "refs/remotes/origin/far", "HEAD~1")
    found.git("switch", "-q", "other")
    found.git("switch", "-q", "main")
    found.edit("alice", "src/a.py")
    return found


def not_denied(guarded, commands, said):
    """Return the commands that are allowed, or denied without this text."""
    told = {command: guarded.shell("bob", command) for command in commands}
    return [c for c, one in told.items() if one.word != Word.DENY or said not in one.text]


def not_passed(guarded, commands, agent="bob"):
    return [c for c in commands if guarded.shell(agent, c).word != Word.PASS]


def test_head_stays_while_another_agent_holds_a_file_in_the_tree(guarded):
    assert not_denied(guarded, MOVES_HEAD, "claude-alice holds src/a.py") == []
    assert "`dibs worktree new`" in guarded.shell("bob", MOVES_HEAD[0]).text


def test_commands_that_leave_head_on_its_branch_are_allowed(guarded):
    assert not_passed(guarded, KEEPS_HEAD) == []


def test_the_only_agent_in_a_tree_moves_head_freely(guarded):
    commands = ("git switch other", "git checkout -b new", "git rebase other")
    assert not_passed(guarded, commands, "alice") == []


def test_an_expired_or_released_claim_does_not_keep_head(guarded):
    guarded.clock.advance(10_000)

    assert guarded.shell("bob", "git switch other").word == Word.PASS


def test_head_is_free_in_another_worktree(guarded, tmp_path):
    guarded.git("worktree", "add", "-q", str(tmp_path / "bob"), "other")
    there = find(str(tmp_path / "bob"), {})
    apart = Guarded(tmp_path / "bob", guarded.engine, there)

    assert apart.shell("bob", "git switch -c new").word == Word.PASS
    assert guarded.shell("bob", f"git -C {there.root} switch -c new").word == Word.PASS
    assert guarded.shell("carol", "git switch -c new").word == Word.DENY
    assert apart.shell("carol", f"git -C {guarded.root} switch -c new").word == Word.DENY


def test_head_is_free_in_another_clone_with_the_same_path(guarded, tmp_path):
    """Two containers have the same path, and share a store on a server."""
    engine = MemoryEngine(guarded.clock)
    clones = []
    for name in ("one", "two"):
        os.makedirs(tmp_path / name)
        clone = Guarded(
            guarded.root, engine, guarded.repository._replace(state=str(tmp_path / name))
        )
        clone.store = open_store(engine, Config(engine="redis://x"), clone.repository)
        clone.guarding = Guarding(clone.store, clone.repository)
        clones.append(clone)
    clones[0].edit("alice", "src/a.py")

    assert clones[0].shell("bob", "git switch -c new").word == Word.DENY
    assert clones[1].shell("carol", "git switch -c new").word == Word.PASS


@pytest.mark.parametrize("pattern", ["@git/HEAD", "@git/*"])
def test_a_claim_on_head_keeps_it(guarded, pattern):
    guarded.clock.advance(10_000)
    guarded.claim("carol", pattern)

    verdict = guarded.shell("bob", "git switch other")

    assert verdict.word == Word.DENY
    assert f"carol holds {pattern}" in verdict.text.replace("  ", " ")


def test_a_claim_on_another_resource_does_not_keep_head(guarded):
    guarded.clock.advance(10_000)
    guarded.claim("carol", "port:8000", "@git/index")

    assert guarded.shell("bob", "git switch other").word == Word.PASS


def test_an_agent_that_moves_head_itself_keeps_claims_on_the_new_branch(guarded):
    def branches():
        return {
            c.branch for _, c in guarded.store.look(lambda rows: claims_of(rows, "claude-alice"))
        }

    assert branches() == {"refs/heads/main"}
    guarded.shell("alice", "git switch -c new")
    assert branches() == {""}
    guarded.git("switch", "-q", "-c", "new")
    guarded.hear("alice", EventKind.AFTER, command="git switch -c new", tool="Bash")
    assert branches() == {"refs/heads/new"}


# -- history


def land(guarded, agent, ref="refs/heads/main"):
    """Record the last commit as landed by an agent; return it."""
    commit = guarded.git("rev-parse", ref)
    intent = Intent(commit, "commit", agent, "agent", ref, "", commit, "", (), "x", (), (), (), {})
    guarded.store.apply(lambda rows: finish(rows, "clone", intent))
    return commit


@pytest.fixture
def landed(guarded):
    """Bob is alone in the tree; carol landed the last commit on ``main`` and on ``side``."""
    guarded.clock.advance(10_000)
    guarded.git("switch", "-q", "-c", "side")
    guarded.write("side.py")
    guarded.commit()
    guarded.side = land(guarded, "carol", "refs/heads/side")
    guarded.git("switch", "-q", "main")
    guarded.main = land(guarded, "carol")
    guarded.git("update-ref", "refs/remotes/origin/main", "main")
    return guarded


REMOVES = (
    "git reset --soft HEAD~1", "git reset HEAD^", "git reset --hard HEAD~1", "git commit --amend -m x",
    "git commit -a --amend --no-edit", "git update-ref refs/heads/main HEAD~1",
    "git update-ref HEAD HEAD~1",
    "git rebase --onto HEAD~1 HEAD", "git checkout -B main other", "git switch -C main other",
    "git push -f origin HEAD~1:main", "git push origin +other:main", "git push --force origin other:main",
    "git branch -M other main", "git branch -C other main", "git branch -f -m other main",
    "git push origin :main", "git push origin --delete main", "bash -c 'git reset --soft HEAD~1'",
)  # fmt: skip


def test_a_command_that_removes_anothers_landed_commit_is_blocked(landed):
    assert not_denied(landed, REMOVES, f"{landed.main[:10]} by carol") == []


def test_a_branch_with_anothers_unmerged_commit_cannot_be_deleted_or_moved(landed):
    for command in (
        "git branch -D side",
        "git branch -m side away",
        "git branch -f side main",
        "git update-ref -d refs/heads/side",
    ):
        assert f"{landed.side[:10]} by carol" in landed.shell("bob", command).text


KEEPS = (
    "git reset --soft HEAD", "git reset", "git revert HEAD", "git commit -m x", "git branch -d other",
    "git branch -f other main", "git push", "git push -f origin main", "git merge side",
    "git branch -D new", "git branch -m other away", "git branch -c side copy", "git branch -m new",
    "git push origin main:new", "git reset top.py",
)  # fmt: skip


def test_commands_that_remove_no_landed_commit_are_allowed(landed):
    assert not_passed(landed, KEEPS) == []


def test_own_landed_commits_can_be_rebased_but_not_amended_in_the_main_working_tree(landed):
    landed.git("commit", "-q", "--allow-empty", "-m", "own")
    land(landed, "claude-bob")

    assert "dibs commit" in landed.shell("bob", "git commit --amend -m x").text
    assert landed.shell("bob", "git rebase HEAD~1").word == Word.PASS
    assert landed.shell("bob", "git rebase HEAD~2").word == Word.DENY


def test_git_that_fails_blocks_nothing(landed):
    subprocess.run(["rm", "-rf", f"{landed.root}/.git/objects"], check=True)

    assert landed.shell("bob", "git reset --soft HEAD~1").word == Word.PASS
