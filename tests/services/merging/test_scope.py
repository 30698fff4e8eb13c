"""Scope: a branch can only land changes that its agents had claimed."""

from __future__ import annotations

import time

import pytest
from tests.services.merge_yard import Yard, git, put

from dibs.core.claims.agents import Caller
from dibs.services.state.ledger import Ledger
from dibs.services.state.rows import encode
from dibs.services.state.worktrees import WorktreeRow, put_row
from dibs.services.worktrees.create import WorktreeRequest

pytestmark = pytest.mark.usefixtures("own_git")


def signed(agent, *tokens):
    rows = [f"Dibs-Agent: {agent}", *(f"Dibs-Token: {token}" for token in tokens)]
    return "work\n\n" + "\n".join(rows) + "\n"


def long_ago(monkeypatch, seconds):
    """Set git's dates to an earlier time."""
    moment = f"{int(time.time() - seconds)} +0000"
    monkeypatch.setenv("GIT_COMMITTER_DATE", moment)


def later(tree, *words):
    """Run git at a time when the earlier claims are certainly over."""
    moment = f"{int(time.time() + 60)} +0000"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIT_COMMITTER_DATE", moment)
        git(tree, *words)


def only(report):
    (verdict,) = report.verdicts
    return verdict


def whys(report):
    return {one.path: one.why for one in only(report).outside}


def test_an_unclaimed_change_is_refused_with_commit_and_path(yard):
    oid = yard.work("bob", {"a.txt": "x\n", "b.txt": "y\n"}, claim=False)

    report = yard.merge("bob")

    assert only(report).end == "scope"
    assert [(o.path, o.why, o.commit, o.agent) for o in only(report).outside] == [
        ("a.txt", "unclaimed", oid, "bob"),
        ("b.txt", "unclaimed", oid, "bob"),
    ]
    assert "dibs claim" in only(report).outside[0].hint


def test_a_recorded_commit_needs_no_claim(yard):
    oid = yard.work("bob", {"a.txt": "x\n"}, claim=False)
    row = {"agent": "bob", "tokens": [1], "claims": ["c1"], "patterns": ["a.txt"], "at": 1.0}
    yard.project.store.apply(lambda rows: rows.txn.put(f"commit/{oid}", encode(row)))

    assert yard.merge("bob").fine


def test_a_record_covers_only_its_own_patterns(yard):
    oid = yard.work("bob", {"a.txt": "x\n", "b.txt": "y\n"}, claim=False)
    row = {"agent": "bob", "tokens": [1], "claims": ["c1"], "patterns": ["a.txt"], "at": 1.0}
    yard.project.store.apply(lambda rows: rows.txn.put(f"commit/{oid}", encode(row)))

    assert whys(yard.merge("bob")) == {"b.txt": "unclaimed"}


def apart(*lines, count=40):
    """Return a text of many lines, some of them changed."""
    given = dict(lines)
    return "".join(f"{given.get(number, f'line {number}')}\n" for number in range(count))


def test_a_rebased_commit_is_recognized_by_its_changes(yard):
    put(yard.main, "a.txt", apart())
    git(yard.main, "commit", "-qam", "long")
    yard.commit("bob", {"a.txt": apart((30, "of bob"))})
    put(yard.main, "a.txt", "above\n" + apart((28, "of ann")))
    git(yard.main, "commit", "-qam", "ann")
    git(yard.worktree("bob"), "rebase", "-q", "main")

    assert yard.merge("bob").fine
    assert yard.read("a.txt") == "above\n" + apart((28, "of ann"), (30, "of bob"))


def test_an_amended_change_without_a_claim_is_detected(yard):
    yard.commit("bob", {"a.txt": "x\n"})
    tree = yard.worktree("bob")
    put(tree, "a.txt", "x\nand more\n")
    later(tree, "commit", "-qa", "--amend", "--no-edit")

    assert whys(yard.merge("bob")) == {"a.txt": "unclaimed"}


def test_another_agents_commit_may_be_cherry_picked(yard):
    picked = yard.commit("eve", {"a.txt": "x\n"})
    git(yard.worktree("bob"), "cherry-pick", picked)

    assert yard.merge("bob").fine


def test_trailers_copied_from_another_commit_prove_nothing(yard):
    yard.commit("eve", {"a.txt": "of eve\n"})
    copied = git(yard.worktree("eve"), "log", "-1", "--format=%B")
    yard.work("bob", {"a.txt": "of bob\n"}, claim=False, message=copied)

    assert whys(yard.merge("bob")) == {"a.txt": "unclaimed"}


def test_trailers_copied_from_its_own_commit_prove_nothing(yard):
    yard.commit("bob", {"a.txt": "of bob\n"})
    assert yard.merge("bob").fine
    yard.commit("eve", {"a.txt": "of eve\n"})
    tree = yard.worktree("bob")
    copied = git(tree, "log", "-1", "--format=%B")
    put(tree, "a.txt", "of bob again\n")
    later(tree, "commit", "-qam", copied)

    assert whys(yard.merge("bob")) == {"a.txt": "unclaimed"}


def test_past_claims_are_read_from_the_monthly_ledger_files(yard):
    yard.configure("[ledger]\nlimit = 100\n")
    token = yard.claim("bob", "a.txt").token
    yard.work("bob", {"a.txt": "x\n"}, claim=False)
    yard.release("bob", "a.txt")
    for _ in range(120):
        yard.claim("eve", "z")
        yard.release("eve", "z")
    Ledger(yard.project.store).trim()
    assert yard.entries()[0].seq > token

    assert yard.merge("bob").fine


@pytest.mark.parametrize("lie", ["no such token", "of another agent", "no claim", "as another"])
def test_trailers_without_a_record_are_reported_as_forged(yard, monkeypatch, lie):
    of_eve = yard.claim("eve", "a.txt").token
    yard.release("eve", "a.txt")
    token = {"no such token": 9_999, "no claim": 1}.get(lie, of_eve)
    agent = "zoe" if lie == "as another" else "bob"
    long_ago(monkeypatch, 3600)
    yard.work("bob", {"a.txt": "x\n"}, claim=False, message=signed(agent, token))

    assert whys(yard.merge("bob")) == {"a.txt": "forged"}


def test_a_plain_commit_is_allowed_if_its_agent_held_the_path_then(yard):
    yard.work("bob", {"a.txt": "x\n"})
    yard.release("bob", "a.txt")

    assert yard.merge("bob").fine


def test_a_path_that_another_agent_holds_is_not_changed(yard):
    yard.work("bob", {"a.txt": "x\n"})
    yard.release("bob", "a.txt")
    yard.claim("eve", "*.txt")

    verdict = only(yard.merge("bob"))

    assert verdict.end == "held"
    (one,) = verdict.outside
    assert (one.path, one.holder, one.pattern) == ("a.txt", "eve", "*.txt")
    assert one.expires_in > 0


def test_an_owner_with_its_own_worktree_does_not_block_a_merge(yard):
    yard.work("bob", {"a.txt": "x\n"})
    yard.release("bob", "a.txt")
    yard.claim("eve", "*.txt")
    yard.project.worktrees.new(Caller("eve"), WorktreeRequest("eve"))

    assert only(yard.merge("bob")).end == "merged"


def test_a_plain_merge_inside_the_branch_needs_no_claims(yard):
    yard.work("bob", {"a.txt": "x\n"})
    put(yard.main, "b.txt", "of ann\n")
    put(yard.main, "c.txt", "of ann\n")
    git(yard.main, "add", ".")
    git(yard.main, "commit", "-qm", "ann")
    git(yard.worktree("bob"), "merge", "-q", "--no-edit", "main")

    assert yard.merge("bob").fine


def test_a_merge_inside_the_branch_that_drops_work_is_detected(yard):
    yard.work("bob", {"a.txt": "x\n"})
    put(yard.main, "b.txt", "of ann\n")
    git(yard.main, "commit", "-qam", "ann")
    git(yard.worktree("bob"), "merge", "-q", "--no-edit", "-s", "ours", "main")

    report = yard.merge("bob")

    assert whys(report) == {"b.txt": "unclaimed"}
    assert yard.read("b.txt") == "of ann\n"


def test_an_octopus_merge_that_drops_work_is_detected(yard):
    yard.work("bob", {"a.txt": "x\n"})
    put(yard.main, "b.txt", "of ann\n")
    git(yard.main, "commit", "-qam", "ann")
    third = yard.folder / "third"
    git(yard.main, "worktree", "add", "-q", "-b", "agent/third", third, "main~1")
    yard.work("third", {"c.txt": "c\n"})
    yard.release("third", "c.txt")
    yard.claim("bob", "c.txt")
    git(yard.worktree("bob"), "merge", "-q", "-s", "ours", "main", "agent/third")

    report = yard.merge("bob")

    assert whys(report) == {"b.txt": "unclaimed"}
    assert yard.read("b.txt") == "of ann\n"


def test_an_octopus_merge_cannot_drop_lines_from_its_own_file(yard):
    put(yard.main, "a.txt", apart())
    git(yard.main, "commit", "-qam", "long")
    yard.commit("third", {"c.txt": "c\n"})
    yard.commit("bob", {"a.txt": apart((5, "of bob"))})
    put(yard.main, "a.txt", apart((30, "of ann")))
    git(yard.main, "commit", "-qam", "ann")
    later(yard.worktree("bob"), "merge", "-q", "-s", "ours", "main", "agent/third")

    assert whys(yard.merge("bob")) == {"a.txt": "unclaimed", "c.txt": "unclaimed"}
    assert yard.read("a.txt") == apart((30, "of ann"))


def test_a_plain_octopus_merge_needs_no_claims(yard):
    yard.commit("third", {"c.txt": "c\n"})
    yard.commit("bob", {"a.txt": "of bob\n"})
    put(yard.main, "b.txt", "of ann\n")
    git(yard.main, "commit", "-qam", "ann")
    later(yard.worktree("bob"), "merge", "-q", "--no-edit", "main", "agent/third")

    assert yard.merge("bob").fine
    assert (yard.read("a.txt"), yard.read("c.txt")) == ("of bob\n", "c\n")


def test_a_graft_does_not_hide_a_commit(yard, monkeypatch):
    long_ago(monkeypatch, 3600)
    hidden = yard.work("bob", {"a.txt": "hidden\n"}, claim=False)
    monkeypatch.delenv("GIT_COMMITTER_DATE")
    shown = yard.commit("bob", {"a.txt": "shown\n"})
    first = yard.tip("main")
    put(yard.main, ".git/info/grafts", f"{shown} {first}\n")

    assert {one.commit for one in only(yard.merge("bob")).outside} == {hidden}


def test_changes_from_a_newer_remote_branch_are_reported_as_such(yard):
    put(yard.main, "b.txt", "of others\n")
    git(yard.main, "commit", "-qam", "others")
    git(yard.main, "update-ref", "refs/remotes/origin/main", "main")
    git(yard.main, "reset", "-q", "--hard", "main~1")
    yard.work("bob", {"a.txt": "x\n"})
    git(yard.worktree("bob"), "merge", "-q", "--no-edit", "origin/main")

    verdict = only(yard.merge("bob"))

    assert verdict.end == "scope"
    assert verdict.notes[-1].endswith("is in origin/main: update main from it first")


def test_a_change_smuggled_into_a_merge_is_detected(yard):
    yard.work("bob", {"a.txt": "x\n"})
    put(yard.main, "c.txt", "of ann\n")
    git(yard.main, "add", ".")
    git(yard.main, "commit", "-qm", "ann")
    tree = yard.worktree("bob")
    git(tree, "merge", "-q", "--no-commit", "main")
    put(tree, "b.txt", "smuggled\n")
    git(tree, "commit", "-qam", "merge")

    assert whys(yard.merge("bob")) == {"b.txt": "unclaimed"}


def test_a_change_follows_a_file_that_was_renamed_on_the_other_side(tmp_path):
    long = "".join(f"line {number}\n" for number in range(50))
    yard = Yard(tmp_path / "yard", **{"a.txt": long})
    yard.work("bob", {"a.txt": long.replace("line 7\n", "seven\n")})
    git(yard.main, "mv", "a.txt", "renamed.txt")
    git(yard.main, "commit", "-qm", "ann renames")

    assert yard.merge("bob").fine
    assert "seven\n" in yard.read("renamed.txt")
    yard.close()


def test_only_humans_merge_files_that_configure_tools(yard):
    yard.work("bob", {".mcp.json": "{}\n"})

    assert whys(yard.merge("bob")) == {".mcp.json": "guarded"}
    assert yard.merge("", "agent/bob").fine


def test_with_scope_warn_unclaimed_changes_are_reported_and_land(yard):
    yard.configure('[merge]\nscope = "warn"\n')
    yard.work("bob", {"a.txt": "x\n"}, claim=False)

    report = yard.merge("bob")

    assert report.fine
    assert only(report).notes == ("warning: a.txt was changed without a claim",)


def test_a_human_can_merge_unclaimed_changes(yard):
    git(yard.main, "checkout", "-q", "-b", "feature")
    put(yard.main, "a.txt", "x\n")
    git(yard.main, "commit", "-qam", "by hand")
    git(yard.main, "checkout", "-q", "main")

    assert only(yard.merge("", "feature")).end == "scope"
    assert yard.merge("", "feature", allow_unclaimed=True).fine


def test_a_branch_with_any_name_belongs_to_its_worktrees_agent(yard):
    git(yard.main, "branch", "topic")
    tree = yard.folder / "topic"
    git(yard.main, "worktree", "add", "-q", tree, "topic")
    row = WorktreeRow("bob", str(tree), "topic", "", 0, "", "", 0.0, "ready")
    yard.project.store.apply(lambda rows: put_row(rows, row))
    yard.claim("bob", "a.txt")
    put(tree, "a.txt", "x\n")
    git(tree, "commit", "-qam", "work")

    report = yard.merge("", "topic")

    assert report.fine
    assert only(report).agent == "bob"
