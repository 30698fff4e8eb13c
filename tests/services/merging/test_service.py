"""The merge queue: what lands, what is refused and why, and that no one's work is touched."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from tests.services.merge_yard import HUMAN, Yard, git, put

from dibs.core.claims.agents import Caller
from dibs.errors import BadInput, NotAllowed, Unavailable
from dibs.services.commits import gate
from dibs.services.merging.queue import QueueTimeout
from dibs.services.merging.values import MergeRequest

pytestmark = pytest.mark.usefixtures("own_git")


def python(text):
    """Return a test command that runs ``text``."""
    return f"{sys.executable} -c '{text}'"


def test_a_branch_with_claimed_changes_is_merged_and_the_tree_updated(yard):
    yard.work("bob", {"a.txt": "of bob\n", "new/deep.txt": "new\n", "b.txt": None})

    report = yard.merge("bob")

    assert yard.ends(report) == {"agent/bob": "merged"}
    assert report.fine
    assert yard.read("a.txt") == "of bob\n"
    assert yard.read("new/deep.txt") == "new\n"
    assert not (yard.main / "b.txt").exists()
    assert git(yard.main, "status", "--porcelain") == ""
    assert report.new == yard.tip()
    parents = git(yard.main, "rev-list", "--parents", "-1", "main").split()[1:]
    assert parents == [report.old, yard.tip("agent/bob")]


def test_a_merge_commit_names_the_agent_and_its_claim_on_the_queue(yard):
    yard.work("bob", {"a.txt": "of bob\n"})
    yard.merge("bob")

    message = git(yard.main, "log", "-1", "--format=%B")
    token = yard.entries("merge")[0].details["tokens"][0]

    assert message.startswith("Merge branch 'agent/bob' into main\n\nDibs-Agent: bob\n")
    assert f"Dibs-Token: {token}" in message


def test_the_queue_is_released_after_every_outcome(yard):
    yard.work("bob", {"a.txt": "of bob\n"}, claim=False)
    yard.merge("bob")
    yard.work("eve", {"b.txt": "of eve\n"})
    yard.merge("eve", test="false")
    with pytest.raises(BadInput):
        yard.merge("eve", test="/no/such/program")

    held = [h.claim.pattern for h in yard.project.claims.all()[0]]

    assert not [pattern for pattern in held if pattern.startswith("@merge")]


def test_a_merge_waits_for_the_owner_of_the_queue_and_names_it(yard):
    yard.work("bob", {"a.txt": "of bob\n"})
    yard.claim("eve", "@merge/main")
    told = []

    with pytest.raises(QueueTimeout) as taken:
        yard.merge("bob", wait=0.2, told=told)

    assert taken.value.answer.conflicts[0].holder == "eve"
    assert told == ["waiting for eve to finish merging into main"]


def test_a_manual_claim_on_the_queue_is_kept(yard):
    yard.work("bob", {"a.txt": "of bob\n"})
    yard.claim("bob", "@merge/main", reason="a freeze")

    assert yard.merge("bob").fine

    held = [h.claim.pattern for h in yard.project.claims.all("bob")[0]]
    assert "@merge/main" in held


def test_a_branch_with_nothing_to_merge_is_not_a_refusal(yard):
    yard.work("bob", {"a.txt": "of bob\n"})
    yard.merge("bob")
    before = yard.tip()

    report = yard.merge("bob")

    assert yard.ends(report) == {"agent/bob": "contained"}
    assert report.fine
    assert yard.tip() == before


def test_a_dry_run_moves_nothing(yard):
    yard.work("bob", {"a.txt": "of bob\n"})
    yard.work("eve", {"b.txt": "of eve\n"}, claim=False)
    before, state = yard.tip(), yard.state()
    entries = len(yard.entries())

    report = yard.merge("", "agent/bob", "agent/eve", dry_run=True)

    assert yard.ends(report) == {"agent/bob": "would_merge", "agent/eve": "scope"}
    assert (yard.tip(), yard.state()) == (before, state)
    assert len(yard.entries()) == entries


# -- the working tree that has the integration branch


@pytest.mark.parametrize(
    "how", ["changed", "staged", "deleted", "in the way", "ignored in the way"]
)
def test_a_dirty_tree_is_never_touched(yard, how):
    yard.work("bob", {"a.txt": "of bob\n", "new.txt": "new\n"})
    if how == "changed":
        put(yard.main, "b.txt", "mine\n")
    elif how == "staged":
        put(yard.main, "c.txt", "mine\n")
        git(yard.main, "add", "c.txt")
    elif how == "deleted":
        (yard.main / "b.txt").unlink()
    else:
        put(yard.main, "new.txt", "mine\n")
        if how == "ignored in the way":
            put(yard.main, ".git/info/exclude", "new.txt\n")
    before, state = yard.tip(), yard.state()

    report = yard.merge("bob")

    assert yard.ends(report) == {"agent/bob": "dirty"}
    assert str(yard.main) in report.verdicts[0].notes[0]
    assert (yard.tip(), yard.state()) == (before, state)


def test_untracked_files_elsewhere_do_not_prevent_a_merge(yard):
    yard.work("bob", {"a.txt": "of bob\n"})
    put(yard.main, "notes.txt", "mine\n")

    assert yard.merge("bob").fine

    assert yard.read("notes.txt") == "mine\n"


def test_a_dirty_tree_on_another_branch_does_not_prevent_a_merge(yard):
    yard.work("bob", {"a.txt": "of bob\n"})
    put(yard.main, "b.txt", "mine\n")
    git(yard.main, "branch", "integration")
    state = yard.state()

    report = yard.merge("bob", into="integration")

    assert yard.ends(report) == {"agent/bob": "merged"}
    assert yard.state() == state
    assert git(yard.main, "show", "integration:a.txt") == "of bob"


def test_no_one_can_commit_the_old_files_on_top_of_the_merge(yard, monkeypatch):
    yard.work("bob", {"a.txt": "of bob\n"})
    tried = []

    def reach(step):
        if step == "moved":  # the branch has the merge, but the working tree does not yet
            put(yard.main, "b.txt", "of ann\n")
            words = ["git", "-C", yard.main, "commit", "-qam", "ann"]
            tried.append(subprocess.run(words, capture_output=True, check=False).returncode)

    monkeypatch.setattr(gate, "reach", reach)

    assert yard.merge("bob").fine

    assert tried == [128]
    assert git(yard.main, "show", "HEAD:a.txt") == "of bob"
    assert git(yard.main, "status", "--porcelain") == "M b.txt"


def test_uncommitted_changes_in_the_branchs_tree_are_not_merged_but_reported(yard):
    yard.work("bob", {"a.txt": "of bob\n"})
    put(yard.worktree("bob"), "b.txt", "half done\n")

    report = yard.merge("bob")

    assert report.fine
    assert report.verdicts[0].notes == ("not merged, because uncommitted: b.txt",)
    assert (yard.worktree("bob") / "b.txt").read_text() == "half done\n"
    assert yard.read("b.txt") == "b\n"


def test_files_of_every_kind_are_updated(yard):
    tree = yard.worktree("bob")
    yard.claim("bob", "a.txt", "a.txt/**", "l", "x.sh", "b.txt")
    (tree / "a.txt").unlink()
    put(tree, "a.txt/inner", "now a folder\n")
    os.symlink("b.txt", tree / "l")
    put(tree, "x.sh", "#!/bin/sh\n")
    (tree / "x.sh").chmod(0o755)
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", "kinds")

    assert yard.merge("bob").fine

    assert yard.read("a.txt/inner") == "now a folder\n"
    assert os.readlink(yard.main / "l") == "b.txt"
    assert os.access(yard.main / "x.sh", os.X_OK)
    assert git(yard.main, "status", "--porcelain") == ""

    (tree / "a.txt/inner").unlink()
    (tree / "a.txt").rmdir()
    put(tree, "a.txt", "a file again\n")
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", "back")

    assert yard.merge("bob").fine
    assert yard.read("a.txt") == "a file again\n"
    assert git(yard.main, "status", "--porcelain") == ""


def test_odd_file_names_are_merged(yard):
    names = [
        " lead",
        "-f",
        ":(top)x",
        "*",
        "new\nline",
        'quo"te',
        "é",
        "e\u0301x",
        "t/" + "n" * 200,
    ]
    tree = yard.worktree("bob")
    yard.claim("bob", "strange/")
    for name in names:
        put(tree, f"strange/{name}", "text\n")
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", "names")

    report = yard.merge("bob")

    assert report.fine, report
    assert git(yard.main, "status", "--porcelain") == ""
    assert all((yard.main / "strange" / name).read_text() == "text\n" for name in names)


def test_a_submodule_commit_is_merged_like_a_file(yard, tmp_path):
    inner = Yard(tmp_path / "inner")
    git(yard.main, "-c", "protocol.file.allow=always", "submodule", "add", "-q", inner.main, "sub")
    git(yard.main, "commit", "-q", "-m", "with a submodule")
    tree = yard.worktree("bob")
    newer = git(inner.main, "commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "newer")
    git(tree, "update-index", "--cacheinfo", f"160000,{newer},sub")
    git(tree, "commit", "-q", "-m", "bump")

    assert yard.ends(yard.merge("bob")) == {"agent/bob": "scope"}
    yard.claim("bob", "sub")
    assert yard.merge("bob").fine
    assert git(yard.main, "rev-parse", "main:sub") == newer
    yard.work("bob", {"a.txt": "of bob\n"})
    assert yard.merge("bob").fine  # the submodule's own files may lag behind
    inner.close()


# -- names and states


@pytest.mark.parametrize(
    "name",
    ["-x", "--upload-pack=x", "a..b", "a.lock", "x@{1}", "a b", "refs/heads/x", "HEAD", "a\nb"],
)
def test_an_invalid_branch_name_is_refused(yard, name):
    with pytest.raises(BadInput) as wrong:
        yard.merge("", name)
    assert wrong.value.code == "REF_NAME"
    with pytest.raises(BadInput):
        yard.merge("", "main", into=name)


def test_a_repository_without_commits_has_nothing_to_merge_into(tmp_path):
    root = tmp_path / "empty"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    from dibs.project.project import open_project

    project = open_project(str(root), environ={})
    with pytest.raises(Unavailable) as wrong:
        project.merges.merge(HUMAN, MergeRequest(branches=("x",)))
    project.close()
    assert wrong.value.code == "REPO_STATE"


def test_a_branch_that_is_being_rebased_is_not_moved(yard):
    yard.work("bob", {"a.txt": "of bob\n"})
    git(yard.main, "checkout", "-q", "-b", "side")
    put(yard.main, "a.txt", "side\n")
    git(yard.main, "commit", "-qam", "side")
    git(yard.main, "checkout", "-q", "main")
    put(yard.main, "a.txt", "main\n")
    git(yard.main, "commit", "-qam", "main")
    git(yard.main, "rebase", "side", check=False)

    with pytest.raises(Unavailable) as wrong:
        yard.merge("bob", into="main")
    assert wrong.value.code == "REPO_STATE"


def test_agents_cannot_skip_the_projects_tests_or_scope_check(yard):
    yard.configure('[merge]\ntest = "false"\n')
    yard.work("bob", {"a.txt": "of bob\n"})
    for wish in ({"test": ""}, {"test": "true"}, {"allow_unclaimed": True}):
        with pytest.raises(NotAllowed) as wrong:
            yard.merge("bob", **wish)
        assert wrong.value.code == "HUMANS_ONLY"
    assert yard.merge("", "agent/bob", test="").fine


def test_settings_in_an_agents_worktree_do_not_count(yard):
    from dibs.project.project import open_project

    yard.configure('[merge]\ntest = "false"\n')
    yard.work("bob", {"a.txt": "of bob\n"})
    put(yard.worktree("bob"), "dibs.toml", '[merge]\ntest = "true"\nscope = "warn"\n')

    project = open_project(str(yard.worktree("bob")), environ={})
    report = project.merges.merge(Caller("bob"), MergeRequest(branches=("agent/bob",)))
    project.close()

    assert yard.ends(report) == {"agent/bob": "tests"}


# -- conflicts


def test_a_conflict_changes_nothing_and_becomes_one_task_that_names_both_agents(yard):
    yard.work("bob", {"a.txt": "of bob\n"})
    yard.release("bob", "a.txt")
    yard.work("eve", {"a.txt": "of eve\n"}, message="mine\n\nDibs-Agent: eve\nDibs-Token: 1")
    yard.release("eve", "a.txt")
    yard.claim("eve", "a.txt")
    git(yard.main, "merge", "-q", "--no-edit", "agent/eve")
    yard.release("eve", "a.txt")
    yard.claim("bob", "a.txt")
    tips, state = (yard.tip(), yard.tip("agent/bob")), yard.state()

    first = yard.merge("bob")
    files = {k: v for k, v in yard.state().items() if "/work/" not in k}
    second = yard.merge("bob")

    verdict = first.verdicts[0]
    assert verdict.end == "conflict"
    assert [(c.path, c.kind, c.hunks) for c in verdict.clashes] == [("a.txt", "contents", 1)]
    assert verdict.others == ("eve",)
    assert (yard.tip(), yard.tip("agent/bob")) == tips
    assert files == state
    assert verdict.task == second.verdicts[0].task
    shown = yard.project.tasks.show(None, verdict.task).stored.task
    assert (shown.agent, shown.artefacts) == ("bob", ("a.txt",))
    assert "eve" in yard.project.tasks.show(None, verdict.task).stored.text
    refused = yard.entries("merge_refused")[0]
    assert refused.details["owner"] == "bob"
    assert refused.details["others"] == ["eve"]
    assert len(yard.project.tasks.all(None)) == 1


def test_a_conflict_resolved_in_the_branch_is_merged(yard):
    yard.work("bob", {"a.txt": "of bob\n"})
    put(yard.main, "a.txt", "of ann\n")
    git(yard.main, "commit", "-qam", "ann")
    assert yard.ends(yard.merge("bob")) == {"agent/bob": "conflict"}

    tree = yard.worktree("bob")
    git(tree, "merge", "main", check=False)
    put(tree, "a.txt", "of both\n")
    git(tree, "commit", "-qam", "resolved")

    assert yard.merge("bob").fine
    assert yard.read("a.txt") == "of both\n"


def test_a_conflicting_branch_does_not_block_the_others(yard):
    yard.work("bob", {"a.txt": "of bob\n"})
    yard.release("bob", "a.txt")
    yard.work("dan", {"a.txt": "of dan\n"})
    yard.work("eve", {"b.txt": "of eve\n"})
    yard.claim("bob", "x")
    yard.release("dan", "a.txt")

    report = yard.merge("", "agent/bob", "agent/dan", "agent/eve")

    assert yard.ends(report) == {
        "agent/bob": "merged",
        "agent/dan": "conflict",
        "agent/eve": "merged",
    }


def test_criss_cross_histories_are_merged(yard):
    yard.work("bob", {"a.txt": "of bob\n"})
    yard.work("eve", {"b.txt": "of eve\n"})
    bob, eve = yard.worktree("bob"), yard.worktree("eve")
    one, other = yard.tip("agent/bob"), yard.tip("agent/eve")
    git(bob, "merge", "-q", "--no-edit", other)
    git(eve, "merge", "-q", "--no-edit", one)
    yard.work("bob", {"a.txt": "of bob again\n"})
    yard.work("eve", {"b.txt": "of eve again\n"})
    yard.release("bob", "a.txt")
    yard.release("eve", "b.txt")

    report = yard.merge("", "agent/bob", "agent/eve", allow_unclaimed=True)

    assert report.fine, report
    assert (yard.read("a.txt"), yard.read("b.txt")) == ("of bob again\n", "of eve again\n")


def test_an_unrelated_branch_is_refused_without_a_task(yard):
    tree = git(yard.main, "mktree", given="")
    alone = git(yard.main, "commit-tree", tree, "-m", "alone")
    git(yard.main, "branch", "agent/bob", alone)
    yard.work("eve", {"b.txt": "of eve\n"})

    report = yard.merge("", "agent/bob", "agent/eve")

    assert yard.ends(report) == {"agent/bob": "conflict", "agent/eve": "merged"}
    assert "no common history" in report.verdicts[0].notes[0]
    assert not report.verdicts[0].task


# -- tests as a gate


def test_a_branch_that_fails_the_tests_does_not_land_and_its_output_is_kept(yard):
    yard.work("bob", {"a.txt": "of bob\n"})
    before = yard.tip()

    report = yard.merge("bob", test=python('print(open("a.txt").read()); exit(3)'))

    verdict = report.verdicts[0]
    # The tests also fail without the branch, so no branch is to blame.
    assert verdict.end == "tests"
    assert verdict.run.how == "exit status 3"
    assert yard.tip() == before
    assert not verdict.task
    assert "also fail on main" in verdict.notes[-1]


def test_the_tests_see_the_merged_files(yard):
    yard.work("bob", {"a.txt": "of bob\n"})
    put(yard.main, "b.txt", "of ann\n")
    git(yard.main, "commit", "-qam", "ann")
    test = python(
        't = open("a.txt").read() + open("b.txt").read(); exit(t != "of bob\\nof ann\\n")'
    )

    assert yard.merge("bob", test=test).fine


def test_a_branch_that_breaks_the_tests_becomes_a_task_with_the_output(yard):
    yard.work("bob", {"a.txt": "broken\n"})
    test = python('t = open("a.txt").read(); print("saw", t); exit("broken" in t)')

    verdict = yard.merge("bob", test=test).verdicts[0]

    assert verdict.end == "tests"
    assert "saw broken" in verdict.run.tail
    assert os.path.exists(verdict.run.log)
    assert yard.project.tasks.show(None, verdict.task).stored.task.agent == "bob"


def test_a_test_that_times_out_is_killed_with_its_children(yard, monkeypatch):
    monkeypatch.setattr("dibs.services.merging.tests.TEST_TIMEOUT", 1.0)
    yard.work("bob", {"a.txt": "of bob\n"})
    mark = yard.folder / "late"
    test = f"sh -c '(sleep 3; touch {mark}) & sleep 60'"

    verdict = yard.merge("bob", test=test).verdicts[0]

    assert verdict.end == "tests"
    assert verdict.run.how == "timed out after 1s"
    assert not mark.exists()
    trees = yard.main / ".git" / "dibs" / "merge-trees"
    assert os.listdir(trees) == []
    assert git(yard.main, "worktree", "list", "--porcelain").count("worktree ") == 2


def test_ten_branches_land_except_the_one_that_breaks_the_tests(yard):
    names = [f"w{n}" for n in range(10)]
    for name in names:
        yard.work(name, {f"{name}.txt": "broken\n" if name == "w5" else "fine\n"})
    runs = yard.folder / "runs"
    test = python(
        f'open("{runs}", "a").write("x"); import glob;'
        ' exit(any("broken" in open(f).read() for f in glob.glob("*.txt")))'
    )

    report = yard.merge("", all=True, test=test)

    ends = yard.ends(report)
    assert len(ends) == 10
    assert {name: ends[f"agent/{name}"] for name in names} == {
        name: "tests" if name == "w5" else "merged" for name in names
    }
    assert not (yard.main / "w5.txt").exists()
    assert git(yard.main, "status", "--porcelain", "-uno") == ""
    # All branches, at most four steps of the search, and the rest again.
    assert len(runs.read_text()) <= 6


def test_a_merge_is_repeated_if_the_branch_moves_during_the_tests(yard):
    yard.work("bob", {"a.txt": "of bob\n"})
    once = yard.folder / "once"
    test = (
        f"sh -c 'test -e {once} || (touch {once}; cd {yard.main}; echo ann > b.txt;"
        " git commit -qam ann)'"
    )
    told = []

    report = yard.merge("bob", test=test, told=told)

    assert report.fine
    assert "main moved during the merge; trying again" in told
    assert (yard.read("a.txt"), yard.read("b.txt")) == ("of bob\n", "ann\n")


def test_a_merge_gives_up_if_the_branch_keeps_moving(yard):
    yard.work("bob", {"a.txt": "of bob\n"})
    test = f"sh -c 'cd {yard.main}; date +%N >> b.txt; git commit -qam ann'"

    report = yard.merge("bob", test=test)

    assert yard.ends(report) == {"agent/bob": "moved"}


def test_a_path_claimed_during_the_tests_is_not_changed(yard):
    yard.work("bob", {"a.txt": "of bob\n"})
    yard.release("bob", "a.txt")
    yard.claim("bob", "other")
    yard.work("bob", {"c.txt": "c\n"})
    before = yard.tip()
    test = f"{sys.executable} -m dibs claim a.txt --agent eve --repo {yard.main}"

    report = yard.merge("bob", test=test)

    verdict = report.verdicts[0]
    assert verdict.end == "held"
    assert verdict.outside[0].holder == "eve"
    assert yard.tip() == before


def test_a_test_tree_has_the_ignored_files_that_worktrees_get(yard):
    yard.configure('[worktree]\ncopy = [".env"]\nlink = ["packages", "none"]\n')
    put(yard.main, ".git/info/exclude", ".env\npackages/\n")
    put(yard.main, ".env", "of ann\n")
    put(yard.main, "packages/one", "1\n")
    yard.work("bob", {"c.txt": "c\n"})
    told = []

    test = python('open("packages/one"); open(".env", "a").write("of a test")')
    assert yard.merge("bob", test=test, told=told).fine

    assert yard.read(".env") == "of ann\n"
    assert yard.read("packages/one") == "1\n"
    assert "skipped none: it is not in the main tree" in told


def clash(yard):
    """Make bob's branch conflict with main, and return the task that is created."""
    yard.work("bob", {"a.txt": "of bob\n"})
    put(yard.main, "a.txt", "of ann\n")
    git(yard.main, "commit", "-qam", "ann")
    return yard.merge("bob").verdicts[0].task


def resolve(yard):
    tree = yard.worktree("bob")
    git(tree, "merge", "main", check=False)
    put(tree, "a.txt", "of both\n")
    git(tree, "commit", "-qam", "resolved")


def test_a_conflict_task_is_canceled_once_the_branch_is_merged(yard):
    task = clash(yard)
    yard.worktree("eve")
    yard.work("eve", {"c.txt": "c\n"})
    assert yard.merge("eve").fine
    assert [shown.stored.id for shown in yard.project.tasks.all(None)] == [task]

    resolve(yard)
    assert yard.merge("bob").fine

    assert yard.project.tasks.all(None) == []
    assert (
        yard.project.tasks.show(None, task).stored.task.reason == "the branch was merged into main"
    )


def test_a_conflict_task_that_someone_started_stays(yard):
    task = clash(yard)
    yard.project.tasks.start(Caller("bob"), task, claim=False)

    resolve(yard)
    assert yard.merge("bob").fine

    assert yard.project.tasks.show(None, task).stored.task.status == "in_progress"


def test_a_dry_run_cancels_no_task(yard):
    task = clash(yard)
    resolve(yard)

    assert yard.merge("bob", dry_run=True).fine

    assert [shown.stored.id for shown in yard.project.tasks.all(None)] == [task]
