"""``dibs changes`` and ``dibs diff`` show uncommitted changes by owner."""

from __future__ import annotations

import os
import pty
import subprocess

import pytest

from dibs.core.claims.plain_commits import pattern_of
from dibs.local.repository import find
from dibs.project.project import open_project
from dibs.services.guard.uncommitted.before_call import TreeSnapshots
from dibs.services.state.sessions import UnfinishedFile, put_left


def git(*words):
    said = subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words],
        check=True,
        capture_output=True,
    )
    return said.stdout


@pytest.fixture
def tree(repo, dibs):
    """A tree in which alice has changed three files, bob one, and two changed files are unclaimed."""
    (repo / "src").mkdir()
    for name in ("src/a.py", "src/b.py", "both.md", "loose.md"):
        (repo / name).write_text("old\n")
    git("add", "-A")
    git("commit", "-qm", "first")
    dibs("claim", "src/", agent="alice")
    dibs("claim", "both.md", agent="bob")
    dibs("claim", "other.md", "third.md", agent="carol")
    (repo / "src/a.py").write_text("new\n")
    (repo / "src/b.py").unlink()
    (repo / "src/c.py").write_text("never\n")
    (repo / "both.md").write_text("staged\n")
    git("add", "both.md")
    (repo / "both.md").write_text("edited on\n")
    (repo / "loose.md").write_text("new\n")
    (repo / "notes.txt").write_text("mine?\n")
    return repo


def files(listed):
    return [(f["path"], f["what"], f["staged"], f["unstaged"]) for f in listed]


def test_the_author_of_a_change_is_named_only_if_a_hook_or_the_store_knows_it(tree, dibs):
    (found,) = dibs("changes", "--json").json["trees"]
    assert all(f["changed_by"] == [] for part in found["agents"] for f in part["files"])
    assert "CHANGED BY" not in dibs("changes").out

    place = find(str(tree), {})
    TreeSnapshots(place).note_own("alice", ["src/a.py", "src/c.py"], 1.0)
    (tree / "src/c.py").write_text("by someone else\n")
    project = open_project(str(tree), {})
    for path, agent in (("both.md", "carol"), ("loose.md", "")):
        left = UnfinishedFile(path, agent, 1.0, "", place.root)
        project.store.apply(
            lambda rows, left=left: put_left(rows, pattern_of(left.path, fold_case=False), left)
        )
    project.close()

    (found,) = dibs("changes", "--json").json["trees"]
    listed = [f for part in found["agents"] for f in part["files"]] + found["nobody"]
    assert {f["path"]: f["changed_by"] for f in listed if f["changed_by"]} == {
        "src/a.py": ["alice"],
        "both.md": ["carol"],
        "loose.md": ["human"],
    }
    out = dibs("changes").out
    assert "changed here, claimed by bob: 1 file\n" in out
    assert "CHANGED BY" in out
    assert "unknown" in out


def test_each_changed_file_is_shown_by_owner_or_as_unclaimed(tree, dibs):
    (found,) = dibs("changes", "--json").json["trees"]

    assert {part["agent"]: files(part["files"]) for part in found["agents"]} == {
        "alice": [
            ("src/a.py", "modified", False, True),
            ("src/b.py", "deleted", False, True),
            ("src/c.py", "new", False, True),
        ],
        "bob": [("both.md", "modified", True, True)],
    }
    assert files(found["nobody"]) == [
        ("notes.txt", "new", False, True),
        ("loose.md", "modified", False, True),
    ], "untracked files come first"
    assert found["idle"] == [{"agent": "carol", "claims": 2}]


def test_changes_can_be_limited_to_one_agent_or_the_caller(tree, dibs, monkeypatch):
    (named,) = dibs("changes", "--agent", "bob", "--json").json["trees"]
    monkeypatch.setenv("DIBS_AGENT", "bob")
    (mine,) = dibs("changes", "--mine", "--json").json["trees"]

    assert [part["agent"] for part in named["agents"]] == ["bob"]
    assert (named["nobody"], named["idle"]) == ([], [])
    assert [f["path"] for part in mine["agents"] for f in part["files"]] == ["both.md"]
    assert dibs("changes", "--mine", "--agent", "bob").status == 64


def test_a_file_with_a_shared_claim_is_unclaimed_and_names_its_sharers(tree, dibs):
    dibs("claim", "--shared", "loose.md", agent="dan")
    dibs("claim", "--shared", "*.md", agent="erin")  # denied: bob holds both.md
    dibs("claim", "--shared", "loose.md", agent="erin")

    (found,) = dibs("changes", "--json").json["trees"]

    (loose,) = [f for f in found["nobody"] if f["path"] == "loose.md"]
    assert loose["shared_by"] == ["dan", "erin"]


def test_all_worktrees_are_listed_and_a_missing_one_is_reported(tree, dibs, tmp_path):
    git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    git("worktree", "add", "-q", "--detach", str(tmp_path / "gone"))
    (tmp_path / "side/src/new.py").write_text("x")
    os.rename(tmp_path / "gone", tmp_path / "away")

    found = {t["root"]: t for t in dibs("changes", "--all-trees", "--json").json["trees"]}

    assert set(found) == {str(tree), str(tmp_path / "side"), str(tmp_path / "gone")}
    (alice,) = found[str(tmp_path / "side")]["agents"]
    assert (alice["agent"], files(alice["files"])) == (
        "alice",
        [("src/new.py", "new", False, True)],
    )
    assert found[str(tmp_path / "side")]["branch"] == "side"
    assert "missing" in found[str(tmp_path / "gone")]["wrong"]


def test_a_clean_tree_has_a_friendly_line(repo, dibs):
    assert dibs("changes").out == "no uncommitted changes\n"


def test_an_agents_diff_has_only_its_files_and_new_ones_in_full(tree, dibs):
    text = dibs("diff", "alice").out

    assert [x for x in text.splitlines() if x.startswith("diff ")] == [
        f"diff --git a/src/{name}.py b/src/{name}.py" for name in "abc"
    ]
    assert "+never" in text
    assert "deleted file mode 100644" in text
    git("stash", "-qu", "--", "src")
    subprocess.run(["git", "apply", "-"], input=text.encode(), check=True)
    assert (tree / "src/c.py").read_text() == "never\n", "a program can apply it"


def test_the_diff_compares_with_the_last_commit_not_the_index(tree, dibs):
    text = dibs("diff", "--agent", "bob").out

    assert "-old\n+edited on\n" in text
    assert "staged" not in text


def test_paths_limit_a_diff_and_stat_counts_lines(tree, dibs):
    assert dibs("diff", "alice", "src/[ab].py").out.count("diff --git") == 2
    assert dibs("diff", "src/c.py", "loose.md", agent="alice").out.count("diff --git") == 1
    assert dibs("diff", "alice", "--stat", "src/c.py").out.splitlines()[0] == " src/c.py | 1 +"


def test_a_word_that_is_an_agent_and_a_file_is_refused(tree, dibs):
    (tree / "bob").write_text("")

    answer = dibs("diff", "bob")

    assert answer.status == 64
    assert "--agent bob" in answer.err


@pytest.mark.parametrize("name", ["a b", "-f", ":(top)x", "*", "new\nline", '"q"', "ü", "x" * 200])
def test_any_file_name_works(repo, dibs, monkeypatch, name):
    (repo / "odd").mkdir()
    (repo / "odd" / name).write_text("text\n")
    dibs("claim", "odd/", agent="alice")

    (found,) = dibs("changes", "--json").json["trees"]

    assert [f["path"] for f in found["agents"][0]["files"]] == [f"odd/{name}"]
    assert "+text" in dibs("diff", "alice").out
    monkeypatch.setenv("COLUMNS", "300")
    assert dibs("changes").out.count("\n") == 3, "no name breaks a line"


def test_file_content_cannot_control_the_terminal(tree, start):
    (tree / "src/a.py").write_bytes(b"\x1b]0;owned\x07\ttab\n")
    reader, writer = pty.openpty()
    start("diff", "alice", "src/a.py", stdout=writer).wait(timeout=60)
    os.close(writer)

    shown = os.read(reader, 65536)
    os.close(reader)

    assert b"\\x1b]0;owned\\x07\ttab" in shown
    assert b"\x1b]0" not in shown
