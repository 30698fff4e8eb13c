"""Scope: a branch lands only what its agents had claimed when they changed it."""

from __future__ import annotations

import time

import pytest
from tests.services.merge_yard import Yard, git, put

from dibs.core.claims.agents import Agent, Caller
from dibs.services.state.ledger import Ledger
from dibs.services.state.rows import encode
from dibs.services.state.worktrees import WorktreeRow, put_row
from dibs.services.worktrees.create import WorktreeRequest

pytestmark = pytest.mark.usefixtures("own_git")


def signed(agent, *tokens):
    rows = [f"Dibs-Agent: {agent}", *(f"Dibs-Token: {token}" for token in tokens)]
    return "work\n\n" + "\n".join(rows) + "\n"


def long_ago(monkeypatch, seconds):
    """Let git believe that it is earlier."""
    moment = f"{int(time.time() - seconds)} +0000"
    monkeypatch.setenv("GIT_COMMITTER_DATE", moment)


def later(tree, *words):
    """Run git when the claims of before are surely over."""
    moment = f"{int(time.time() + 60)} +0000"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIT_COMMITTER_DATE", moment)
        git(tree, *words)


def only(report):
    (verdict,) = report.verdicts
    return verdict


def whys(report):
    return {one.path: one.why for one in only(report).outside}


def test_a_change_that_nobody_claimed_is_refused_with_commit_and_path(yard):
    oid = yard.work("bob", {"a.txt": "x\n", "b.txt": "y\n"}, claim=False)

    report = yard.merge("bob")

    assert only(report).end == "scope"
    assert [(o.path, o.why, o.commit, o.agent) for o in only(report).outside] == [
        ("a.txt", "unclaimed", oid, "bob"),
        ("b.txt", "unclaimed", oid, "bob"),
    ]
    assert "dibs claim" in only(report).outside[0].hint


def test_a_commit_that_the_gate_recorded_needs_no_claim_any_more(yard):
    oid = yard.work("bob", {"a.txt": "x\n"}, claim=False)
    row = {"agent": "bob", "tokens": [1], "claims": ["c1"], "patterns": ["a.txt"], "at": 1.0}
    yard.project.store.apply(lambda rows: rows.txn.put(f"commit/{oid}", encode(row)))

    assert yard.merge("bob").fine


def test_a_record_covers_its_own_patterns_only(yard):
    oid = yard.work("bob", {"a.txt": "x\n", "b.txt": "y\n"}, claim=False)
    row = {"agent": "bob", "tokens": [1], "claims": ["c1"], "patterns": ["a.txt"], "at": 1.0}
    yard.project.store.apply(lambda rows: rows.txn.put(f"commit/{oid}", encode(row)))

    assert whys(yard.merge("bob")) == {"b.txt": "unclaimed"}


def apart(*lines, count=40):
    """Return a text of many lines, some of them other than they were."""
    given = dict(lines)
    return "".join(f"{given.get(number, f'line {number}')}\n" for number in range(count))


def test_a_rebased_commit_is_known_by_what_it_repeats(yard):
    put(yard.main, "a.txt", apart())
    git(yard.main, "commit", "-qam", "long")
    yard.commit("bob", {"a.txt": apart((30, "of bob"))})
    put(yard.main, "a.txt", "above\n" + apart((28, "of ann")))
    git(yard.main, "commit", "-qam", "ann")
    git(yard.worktree("bob"), "rebase", "-q", "main")

    assert yard.merge("bob").fine
    assert yard.read("a.txt") == "above\n" + apart((28, "of ann"), (30, "of bob"))


def test_a_commit_whose_message_was_amended_is_known_by_what_it_repeats(yard):
    yard.commit("bob", {"a.txt": "x\n"})
    tree = yard.worktree("bob")
    message = git(tree, "log", "-1", "--format=%B").replace("work", "better words")
    git(tree, "commit", "-q", "--amend", "-m", message)

    assert yard.merge("bob").fine


def test_what_is_amended_without_a_claim_is_found_out(yard):
    yard.commit("bob", {"a.txt": "x\n"})
    tree = yard.worktree("bob")
    put(tree, "a.txt", "x\nand more\n")
    later(tree, "commit", "-qa", "--amend", "--no-edit")

    assert whys(yard.merge("bob")) == {"a.txt": "unclaimed"}


def test_a_commit_of_another_agent_may_be_picked(yard):
    picked = yard.commit("eve", {"a.txt": "x\n"})
    git(yard.worktree("bob"), "cherry-pick", picked)

    assert yard.merge("bob").fine


def test_trailers_copied_from_another_commit_show_nothing(yard):
    yard.commit("eve", {"a.txt": "of eve\n"})
    copied = git(yard.worktree("eve"), "log", "-1", "--format=%B")
    yard.work("bob", {"a.txt": "of bob\n"}, claim=False, message=copied)

    assert whys(yard.merge("bob")) == {"a.txt": "unclaimed"}


def test_the_trailers_of_another_commit_of_its_own_show_nothing(yard):
    yard.commit("bob", {"a.txt": "of bob\n"})
    assert yard.merge("bob").fine
    yard.commit("eve", {"a.txt": "of eve\n"})
    tree = yard.worktree("bob")
    copied = git(tree, "log", "-1", "--format=%B")
    put(tree, "a.txt", "of bob again\n")
    later(tree, "commit", "-qam", copied)

    assert whys(yard.merge("bob")) == {"a.txt": "unclaimed"}


def test_a_name_in_a_trailer_opens_nothing_that_this_agent_holds(yard):
    yard.configure('[merge]\nscope = "warn"\n')
    token = yard.claim("eve", "a.txt").token
    yard.work("bob", {"a.txt": "x\n"}, claim=False, message=signed("eve", token))

    verdict = only(yard.merge("bob"))

    assert (verdict.end, verdict.outside[0].holder) == ("held", "eve")


def test_a_claim_is_known_from_the_monthly_files_when_the_ledger_was_cut(yard):
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
def test_trailers_without_support_are_forged_and_said_to_be(yard, monkeypatch, lie):
    of_eve = yard.claim("eve", "a.txt").token
    yard.release("eve", "a.txt")
    token = {"no such token": 9_999, "no claim": 1}.get(lie, of_eve)
    agent = "zoe" if lie == "as another" else "bob"
    long_ago(monkeypatch, 3600)
    yard.work("bob", {"a.txt": "x\n"}, claim=False, message=signed(agent, token))

    assert whys(yard.merge("bob")) == {"a.txt": "forged"}


def test_a_claim_that_was_handed_over_is_the_heirs(yard):
    yard.claim("eve", "a.txt")
    yard.project.agents.join(Agent("bob"))
    yard.project.holdings.transfer(Caller("eve"), [yard.project.pattern("a.txt")], to="bob")
    yard.work("bob", {"a.txt": "x\n"}, claim=False)
    yard.release("bob", "a.txt")

    assert yard.merge("bob").fine


def test_a_plain_commit_counts_if_its_agent_held_the_path_then(yard):
    yard.work("bob", {"a.txt": "x\n"})
    yard.release("bob", "a.txt")

    assert yard.merge("bob").fine


def test_a_claim_of_another_time_counts_for_nothing(yard, monkeypatch):
    long_ago(monkeypatch, 3600)
    yard.work("bob", {"a.txt": "x\n"}, claim=False)
    monkeypatch.delenv("GIT_COMMITTER_DATE")
    yard.claim("bob", "a.txt")
    yard.release("bob", "a.txt")

    assert whys(yard.merge("bob")) == {"a.txt": "unclaimed"}

    yard.claim("bob", "a.txt")  # held now, it answers for it
    assert yard.merge("bob").fine


def test_a_shared_claim_lets_nobody_write(yard):
    yard.claim("bob", "a.txt", mode="shared")
    yard.work("bob", {"a.txt": "x\n"}, claim=False)

    assert whys(yard.merge("bob")) == {"a.txt": "unclaimed"}


def test_what_others_hold_now_is_not_changed_for_them(yard):
    yard.work("bob", {"a.txt": "x\n"})
    yard.release("bob", "a.txt")
    yard.claim("eve", "*.txt")

    verdict = only(yard.merge("bob"))

    assert verdict.end == "held"
    (one,) = verdict.outside
    assert (one.path, one.holder, one.pattern) == ("a.txt", "eve", "*.txt")
    assert one.expires_in > 0


def test_a_holder_with_a_worktree_of_its_own_is_not_in_the_way(yard):
    yard.work("bob", {"a.txt": "x\n"})
    yard.release("bob", "a.txt")
    yard.claim("eve", "*.txt")
    yard.project.worktrees.new(Caller("eve"), WorktreeRequest("eve"))

    assert only(yard.merge("bob")).end == "merged"


def test_a_merge_inside_of_the_branch_needs_no_claim_for_what_it_only_joins(yard):
    yard.work("bob", {"a.txt": "x\n"})
    put(yard.main, "b.txt", "of ann\n")
    put(yard.main, "c.txt", "of ann\n")
    git(yard.main, "add", ".")
    git(yard.main, "commit", "-qm", "ann")
    git(yard.worktree("bob"), "merge", "-q", "--no-edit", "main")

    assert yard.merge("bob").fine


def test_a_merge_inside_of_the_branch_that_drops_others_work_is_found_out(yard):
    yard.work("bob", {"a.txt": "x\n"})
    put(yard.main, "b.txt", "of ann\n")
    git(yard.main, "commit", "-qam", "ann")
    git(yard.worktree("bob"), "merge", "-q", "--no-edit", "-s", "ours", "main")

    report = yard.merge("bob")

    assert whys(report) == {"b.txt": "unclaimed"}
    assert yard.read("b.txt") == "of ann\n"


def test_a_merge_of_many_that_drops_others_work_is_found_out(yard):
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


def test_a_merge_of_many_cannot_drop_what_others_wrote_into_a_file_of_its_own(yard):
    put(yard.main, "a.txt", apart())
    git(yard.main, "commit", "-qam", "long")
    yard.commit("third", {"c.txt": "c\n"})
    yard.commit("bob", {"a.txt": apart((5, "of bob"))})
    put(yard.main, "a.txt", apart((30, "of ann")))
    git(yard.main, "commit", "-qam", "ann")
    later(yard.worktree("bob"), "merge", "-q", "-s", "ours", "main", "agent/third")

    assert whys(yard.merge("bob")) == {"a.txt": "unclaimed", "c.txt": "unclaimed"}
    assert yard.read("a.txt") == apart((30, "of ann"))


def test_a_merge_of_many_needs_no_claim_for_what_it_only_joins(yard):
    yard.commit("third", {"c.txt": "c\n"})
    yard.commit("bob", {"a.txt": "of bob\n"})
    put(yard.main, "b.txt", "of ann\n")
    git(yard.main, "commit", "-qam", "ann")
    later(yard.worktree("bob"), "merge", "-q", "--no-edit", "main", "agent/third")

    assert yard.merge("bob").fine
    assert (yard.read("a.txt"), yard.read("c.txt")) == ("of bob\n", "c\n")


def test_a_commit_is_not_hidden_by_a_graft(yard, monkeypatch):
    long_ago(monkeypatch, 3600)
    hidden = yard.work("bob", {"a.txt": "hidden\n"}, claim=False)
    monkeypatch.delenv("GIT_COMMITTER_DATE")
    shown = yard.commit("bob", {"a.txt": "shown\n"})
    first = yard.tip("main")
    put(yard.main, ".git/info/grafts", f"{shown} {first}\n")

    assert {one.commit for one in only(yard.merge("bob")).outside} == {hidden}


def test_what_came_from_a_remote_that_is_ahead_is_said_to(yard):
    put(yard.main, "b.txt", "of others\n")
    git(yard.main, "commit", "-qam", "others")
    git(yard.main, "update-ref", "refs/remotes/origin/main", "main")
    git(yard.main, "reset", "-q", "--hard", "main~1")
    yard.work("bob", {"a.txt": "x\n"})
    git(yard.worktree("bob"), "merge", "-q", "--no-edit", "origin/main")

    verdict = only(yard.merge("bob"))

    assert verdict.end == "scope"
    assert verdict.notes[-1].endswith("is in origin/main: update main from it first")


def test_what_is_smuggled_into_a_merge_is_found_out(yard):
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


def test_files_that_steer_tools_are_let_in_by_humans_only(yard):
    yard.work("bob", {".mcp.json": "{}\n"})

    assert whys(yard.merge("bob")) == {".mcp.json": "guarded"}
    assert yard.merge("", "agent/bob").fine


def test_with_scope_warn_changes_without_a_claim_are_told_and_land(yard):
    yard.configure('[merge]\nscope = "warn"\n')
    yard.work("bob", {"a.txt": "x\n"}, claim=False)

    report = yard.merge("bob")

    assert report.fine
    assert only(report).notes == ("warning: a.txt was changed without a claim",)


def test_a_human_lets_in_what_nobody_claimed(yard):
    git(yard.main, "checkout", "-q", "-b", "feature")
    put(yard.main, "a.txt", "x\n")
    git(yard.main, "commit", "-qam", "by hand")
    git(yard.main, "checkout", "-q", "main")

    assert only(yard.merge("", "feature")).end == "scope"
    assert yard.merge("", "feature", allow_unclaimed=True).fine


def test_a_branch_of_any_name_is_its_worktrees_agents(yard):
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
