"""The output and exit status of ``dibs commit``."""

from __future__ import annotations

import shlex
import subprocess

import pytest

from dibs.core.claims.rules import view_command


@pytest.fixture
def tree(repo):
    for words in (("config", "user.name", "Ann"), ("config", "user.email", "ann@example.org")):
        subprocess.run(["git", *words], check=True)
    return repo


def test_a_commit_shows_its_files_and_what_it_left_out(tree, dibs):
    dibs("claim", "a.py", "never.py", agent="alice")
    dibs("claim", "b.py", agent="bob")
    for name in ("a.py", "b.py", "new.py"):
        (tree / name).write_text("1\n")
    answer = dibs("commit", "-m", "fix", agent="alice")
    assert answer.status == 0
    assert "committed" in answer.out
    assert "1 file to ma" in answer.out
    assert "new      a.py" in answer.out
    assert "claimed, but unchanged: never.py" in answer.out
    assert "untracked new.py" in answer.out
    assert "b.py: bob holds b.py" in answer.out


def test_a_refusal_names_path_owner_and_next_step(tree, dibs):
    dibs("claim", "b.py", agent="bob")
    (tree / "b.py").write_text("1\n")
    answer = dibs("commit", "-m", "fix", "b.py", agent="alice")
    assert answer.status == 3
    assert "b.py: bob holds b.py (expires in " in answer.out
    shape = dibs("commit", "-m", "fix", "b.py", "--json", agent="alice").json
    assert (shape["outcome"], shape["code"]) == ("refused", "SCOPE")
    assert [(b["path"], b["why"], b["holder"]) for b in shape["blocked"]] == [
        ("b.py", "held", "bob")
    ]


def test_json_has_the_commit_and_its_files(tree, dibs):
    dibs("claim", "src/", agent="alice")
    (tree / "src").mkdir()
    (tree / "src/a.py").write_text("1\n")
    shape = dibs("commit", "--dry-run", "--json", agent="alice").json
    assert (shape["outcome"], shape["commit"]) == ("trial", None)
    shape = dibs("commit", "-m", "x", "--release", "--json", agent="alice").json
    assert shape["files"] == [{"path": "src/a.py", "what": "new"}]
    assert [claim["pattern"] for claim in shape["released"]] == ["src/"]
    head = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    assert shape["commit"] == head.stdout.strip()


def test_the_message_can_come_from_a_file(tree, dibs):
    dibs("claim", "a.py", agent="alice")
    (tree / "a.py").write_text("1\n")
    (tree / "message").write_text("-starts with a hyphen\n")
    assert dibs("commit", "-F", "message", agent="alice").status == 0
    subject = subprocess.run(
        ["git", "log", "-1", "--format=%s"], capture_output=True, text=True, check=True
    )
    assert subject.stdout == "-starts with a hyphen\n"


def test_a_named_file_that_git_ignores_is_an_error(tree, dibs):
    dibs("claim", "a.py", "x.log", agent="alice")
    (tree / ".gitignore").write_text("*.log\n")
    for name in ("a.py", "x.log"):
        (tree / name).write_text("1\n")
    answer = dibs("commit", "-m", "x", "a.py", "x.log", "--json", agent="alice")
    assert (answer.status, answer.json["error"]["code"]) == (65, "PATH_IGNORED")


@pytest.mark.parametrize("place", ["../other", "inside/other"])
def test_a_file_in_another_working_tree_is_refused(tree, dibs, place):
    dibs("claim", "a.py", agent="alice")
    subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    subprocess.run(["git", "worktree", "add", "-q", place], check=True)
    (tree / "a.py").write_text("ours\n")
    theirs = (tree / place).resolve() / "a.py"
    theirs.write_text("theirs\n")

    answer = dibs("commit", "-m", "x", str(theirs), agent="alice")

    assert answer.status == 65
    assert "another working tree" in answer.err
    assert "--repo" in answer.err


@pytest.mark.parametrize("option", ["-m", "--message"])
@pytest.mark.parametrize("text", ["-x", "--amend", "-", "--json"])
def test_a_message_may_start_with_a_hyphen_as_in_git(tree, dibs, option, text):
    dibs("claim", "a.py", agent="alice")
    (tree / "a.py").write_text("1\n")
    assert dibs("commit", option, text, "--release", "--", "a.py", agent="alice").status == 0
    subject = subprocess.run(
        ["git", "log", "-1", "--format=%s"], capture_output=True, text=True, check=True
    )
    assert subject.stdout == f"{text}\n"
    assert "alice" not in dibs("who", "a.py").out


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ((), 64),
        (("-m", "x", "-F", "y"), 64),
        (("-m", "x"), 6),
        (("-m", ""), 65),
        (("-m", "\udcff"), 65),
        (("-F", "latin"), 65),
        (("-F", "gone"), 69),
    ],
)
def test_a_usage_error_is_one_line(tree, dibs, words, status):
    (tree / "latin").write_bytes(b"\xff\n")
    answer = dibs("commit", *words, agent="alice")
    assert answer.status == status
    assert answer.err.count("\n") == 1


def test_a_lost_claim_is_exit_status_4(tree, dibs):
    dibs("claim", "a.py", agent="alice")
    (tree / "a.py").write_text("1\n")
    dibs("revoke", "a.py", "--reason", "mine")
    assert dibs("commit", "-m", "x", agent="alice").status == 4
    assert (tree / "a.py").read_text() == "1\n"


def left_by(tree, agent, path):
    """Record an agent's uncommitted content of a file, with a copy."""
    from dibs.core.claims.plain_commits import pattern_of
    from dibs.project.project import open_project
    from dibs.services.salvage.files import keep
    from dibs.services.state.sessions import UnfinishedFile, put_left

    project = open_project(str(tree), {})
    place = project.place.repository
    ref = keep(place.root, place, agent or "human", [path], at=1.0, about="x")
    left = UnfinishedFile(path, agent, 1.0, ref, place.root)
    fold = project.store.fold_case
    project.store.apply(lambda rows: put_left(rows, pattern_of(path, fold_case=fold), left))
    project.close()
    return ref


def test_a_refusal_shows_both_versions_and_its_command_works_when_pasted(tree, dibs):
    (tree / "it's.py").write_text("one\n")
    subprocess.run(["git", "add", "."], check=True)
    subprocess.run(["git", "commit", "-q", "-m", "a"], check=True)
    (tree / "it's.py").write_text("one\nby alice\n")
    ref = left_by(tree, "alice", "it's.py")
    claimed = dibs("claim", "it's.py", agent="bob").out
    assert "it's.py contains alice's uncommitted changes" in claimed
    assert "to commit both: dibs commit --inherited -m MESSAGE" in claimed
    (tree / "it's.py").write_text("one\nby alice\nby bob\n")

    answer = dibs("commit", "-m", "it's done", "--release", "it's.py", agent="bob")

    assert answer.status == 3
    assert "refused: nothing was committed" in answer.out
    assert "it's.py: 1 line of alice is in no commit" in answer.out
    assert f"- compare: git show {ref}" in answer.out
    assert answer.out.index("alice's:") < answer.out.index("by alice")
    assert answer.out.index("yours:") < answer.out.index("by bob")
    (pasted,) = [line for line in answer.out.splitlines() if "commit both: " in line]
    words = shlex.split(pasted.partition("commit both: ")[2])
    assert words[:2] == ["dibs", "commit"]
    shape = dibs(*words[1:], "--dry-run", "--json").json
    assert shape["included"] == [{"path": "it's.py", "agent": "alice", "lines": 1, "salvage": ref}]
    done = dibs(*words[1:])
    assert done.status == 0
    assert "includes 1 line of alice in it's.py" in done.out
    assert "released it's.py" in done.out
    shown = subprocess.run(["git", "log", "-1", "--format=%B"], capture_output=True, check=True)
    assert shown.stdout.startswith(b"it's done\n")
    assert b"Dibs-Inherited: alice" in shown.stdout


def test_a_refusal_as_json_has_both_versions_and_the_command(tree, dibs):
    (tree / "a.py").write_text("by alice\n")
    left_by(tree, "alice", "a.py")
    dibs("claim", "a.py", agent="bob")
    (tree / "a.py").write_text("by alice\nby bob\n")
    answer = dibs("commit", "-m", "x", "--json", agent="bob")
    assert (answer.status, answer.json["code"]) == (3, "INHERITED")
    (stop,) = answer.json["blocked"]
    assert (stop["why"], stop["holder"], stop["lines"]) == ("inherited", "alice", 1)
    assert (stop["landed"], stop["yours"]) == (["by alice"], ["by bob"])
    assert stop["hint"].endswith("; to commit both: dibs commit --inherited -m x --agent bob")


@pytest.mark.parametrize("name", ["a.py", "s/[id].py", "_a b.py", "!a.py", "s/it's.py"])
def test_the_command_that_shows_another_agents_changes_works_in_every_folder(tree, name):
    (tree / "s").mkdir()
    (tree / name).write_text("by alice\n")
    ref = left_by(tree, "alice", name)
    for folder in (tree, tree / "s"):
        shown = subprocess.run(
            ["sh", "-c", view_command(ref, name)], cwd=folder, capture_output=True, check=True
        )
        assert b"+by alice" in shown.stdout


def test_a_commit_names_a_persons_changes_that_it_includes(tree, dibs):
    dibs("claim", "a.py", agent="bob")
    (tree / "a.py").write_text("by a person\n")
    left_by(tree, "", "a.py")
    answer = dibs("commit", "-m", "x", agent="bob")
    assert "includes 1 line of a person in a.py" in answer.out


def test_a_commit_that_would_undo_an_unread_commit_shows_both_versions(tree, dibs):
    from dibs.local.last_read import note_read
    from dibs.local.repository import find

    (tree / "a.py").write_text("one\n")
    subprocess.run(["git", "add", "a.py"], check=True)
    subprocess.run(["git", "commit", "-q", "-m", "a"], check=True)
    note_read(find(str(tree), {}), "alice", ["a.py"])
    dibs("claim", "a.py", agent="bob")
    (tree / "a.py").write_text("one\nby bob\n")
    landed = dibs("commit", "-m", "bob", "--release", "--json", agent="bob").json["commit"]
    dibs("claim", "a.py", agent="alice")
    (tree / "a.py").write_text("one\nby alice\n")
    answer = dibs("commit", "-m", "alice", agent="alice")
    assert answer.status == 3
    assert f"a.py: it would undo {landed[:10]} by bob, which you have not read" in answer.out
    assert "by bob</data-" in answer.out
    assert "    yours:\n      by alice\n" in answer.out
    assert "git diff HEAD -- :/a.py" in answer.out
    note_read(find(str(tree), {}), "alice", ["a.py"], parent_of(landed))
    shape = dibs("commit", "-m", "alice", "--json", agent="alice").json
    assert (shape["outcome"], shape["code"]) == ("refused", "UNDOES")
    assert [(b["commit"], b["landed"], b["yours"]) for b in shape["blocked"]] == [
        (landed, ["by bob"], ["by alice"])
    ]
    assert dibs("commit", "-m", "alice", agent="alice").status == 0


def parent_of(commit):
    done = subprocess.run(
        ["git", "rev-parse", f"{commit}^"], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()
