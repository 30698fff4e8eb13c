"""Bad input for commits, worktrees, merges, forecasts, and git hooks, by row of the input catalog.

Whatever the input and the state of the repository, the error is one clear line with a stable code, nothing is
changed, and no branch, file, or index entry is lost. Valid input works.

| row | input | tested in |
|---|---|---|
| 86 | branch names | here: REF_NAME, NO_BRANCH |
| 87 | remote URLs | here, for a server's engine; tests/engines/git/test_engine.py |
| 88 | messages | here: MESSAGE; stored unchanged: tests/services/commits/test_service.py |
| 89 | author and agent names | here: IDENTITY, AGENT_ID, or quoted |
| 90 | repository states | here: REPO_STATE, NO_REPO, or it works |
| 91 | another user's repository | tests/git/test_safety.py |
| 92 | what others staged | tests/services/commits/test_service.py |
| 93 | both sides of a rename | tests/services/commits/test_service.py |
| 94 | deleted, ignored, missing, and impossible paths | here |
| 95 | settings that run programs | tests/git/test_hostile.py |
| 96 | the repository's location | here, with all commands |
| 97 | failing remotes | tests/engines/git/test_engine.py, tests/cli/test_engine.py |
| 98 | concurrent commits | tests/services/commits/test_gate.py, tests/proof/test_commits.py |
| 99 | long hashes; an old git | here; tests/git/test_safety.py |
"""

import os
import subprocess

import pytest

LONG = "x" * 300


def git(*words, cwd=None, check=True):
    done = subprocess.run(["git", *words], cwd=cwd, check=check, capture_output=True)
    return os.fsdecode(done.stdout).strip()


def state():
    """Return everything that must not change: branches, worktrees, index, and files."""
    refs = git("for-each-ref", "--format=%(refname) %(objectname)").split("\n")
    return (
        [ref for ref in refs if not ref.startswith("refs/dibs/")],
        git("worktree", "list", "--porcelain"),
        git("ls-files", "-s"),
        git("status", "--porcelain", "-uall"),
    )


@pytest.fixture
def shop(repo, dibs, monkeypatch):
    """A repository in which alice and bob have changed their files, and zoe has a worktree."""
    monkeypatch.setenv("HOME", str(repo.parent))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    git("symbolic-ref", "HEAD", "refs/heads/main")
    git("config", "user.name", "Ann")
    git("config", "user.email", "ann@example.org")
    for name in ("a.py", "b.py"):
        (repo / name).write_text("1\n")
    git("add", "-A")
    git("commit", "-qm", "first")
    assert dibs("claim", "a.py", agent="alice").status == 0
    assert dibs("claim", "b.py", agent="bob").status == 0
    assert dibs("worktree", "new", "zoe").status == 0
    for name in ("a.py", "b.py"):
        (repo / name).write_text("2\n")
    return repo


@pytest.fixture
def refused(shop, dibs):
    """Run a command that must be refused: one line, its code, and nothing changed."""

    def call(*words, status, code, agent="alice"):
        before = state()
        spoken = dibs(*words, agent=agent)
        written = dibs(*with_json(words), agent=agent)
        assert (spoken.status, written.status) == (status, status), spoken
        assert written.json["error"]["code"] == code
        assert spoken.out == ""
        # On a busy machine, a line of progress comes first.
        said = [
            one for one in spoken.err.splitlines() if not one.startswith("dibs: reading worktrees")
        ]
        assert len(said) == 1
        assert len(said[0]) < 300
        assert said[0].isprintable()
        assert "Traceback" not in spoken.err
        assert state() == before
        return spoken

    return call


def with_json(words):
    at = words.index("--") if "--" in words else len(words)
    return (*words[:at], "--json", *words[at:])


BRANCHES = [
    "-x", "--upload-pack=x", "a..b", "a.lock", "@{", "a b", "refs/heads/x", "HEAD", "x\ny", "", "@", "a/",
    "/a", "a//b", "a~1", "a:b", "a*", ".a", LONG, "\x1b[31m", "agent/\u202e", "@{-1}", "\udcff",
]  # fmt: skip


@pytest.mark.parametrize(
    "words",
    [
        ("merge", "--", "{}"),
        ("merge", "--into={}", "agent/zoe"),
        ("forecast", "--base={}"),
        ("worktree", "new", "yan", "--branch={}"),
    ],
    ids=lambda words: words[0],
)
def test_row_86_an_invalid_branch_name_is_refused(refused, words):
    for name in BRANCHES:
        refused(*(word.format(name) for word in words), status=65, code="REF_NAME")


def test_row_86_a_missing_branch_is_reported(refused):
    for words in (("merge", "{}"), ("merge", "--into={}", "agent/zoe"), ("forecast", "--base={}")):
        refused(*(word.format("agent/é") for word in words), status=6, code="NO_BRANCH")


MESSAGES = [
    "", " \n\t\n", "a\x00b", "a\x1b[31mb", "a\x07b", "m" * (1024 * 1024 + 1), "x\n\nDibs-Agent: bob",
    "x\n\nDibs-Token: 1", "Dibs-Claim: c2", "x\n\ndibs-task : 7", "x\n\nDIBS-AGENT:bob",
]  # fmt: skip


def test_row_88_a_forged_or_hidden_trailer_is_refused(refused, shop):
    for message in MESSAGES:
        (shop.parent / "message").write_text(message)
        refused("commit", "-m", message, status=65, code="MESSAGE")
        refused("commit", "-F", str(shop.parent / "message"), status=65, code="MESSAGE")
    refused("merge", "agent/zoe", "-m", "x\n\nDibs-Agent: bob", status=65, code="MESSAGE")


def test_row_89_an_invalid_author_name_is_refused(refused, monkeypatch):
    for name in ("", "<>", "\n", "...", " "):
        git("config", "user.name", name)
        refused("commit", "-m", "x", status=78, code="IDENTITY")
    git("config", "user.name", "Ann")
    for name in ("a\nb", "a <b>", "a>"):
        monkeypatch.setenv("GIT_COMMITTER_EMAIL", name)
        refused("commit", "-m", "x", status=78, code="IDENTITY")


def test_row_89_configured_names_are_written_as_git_writes_them(shop, dibs):
    git("config", "user.name", "Ann\ncommitter <eve@example.org>")
    said = git("var", "GIT_AUTHOR_IDENT").rpartition(">")[0]

    assert dibs("commit", "-m", "x", agent="alice").status == 0

    lines = git("cat-file", "-p", "HEAD").split("\n")
    assert [line.rpartition(">")[0] for line in lines if line[:6] == "author"] == [f"author {said}"]
    assert sum(line.startswith("committer ") for line in lines) == 1


IDS = ["", "-x", "a b", "../x", "a/b", "x" * 65, "x\ny", "\x1b", "é", ".", "..", ".git", "@x"]


@pytest.mark.parametrize(
    "words",
    [
        ("worktree", "new", "--", "{}"),
        ("worktree", "env", "--", "{}"),
        ("changes", "--agent={}"),
        ("commit", "-mx", "--agent={}"),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_row_89_an_invalid_agent_name_is_refused(refused, words):
    for agent in IDS:
        refused(*(word.format(agent) for word in words), status=65, code="AGENT_ID", agent="")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("worktree", "rm", "--", "{}"), "NO_WORKTREE"),
        (("forecast", "--", "{}"), "NO_WORKTREE"),
        (("salvage", "show", "--", "{}"), "NO_SALVAGE"),
        (("salvage", "restore", "--", "{}"), "NO_SALVAGE"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value[:2]),
)
def test_row_89_a_missing_name_is_quoted_in_the_error(refused, words, code):
    for agent in ("-x", "../x", "x\ny", "\x1b", "", "."):
        refused(*(word.format(agent) for word in words), status=6, code=code)


def under_way(kind):
    """Start a git operation and leave it unfinished."""
    git("stash", "-q")
    git("checkout", "-q", "-b", "side")
    for branch, text in (("side", "s\n"), ("main", "m\n")):
        git("checkout", "-q", branch)
        with open("c.py", "w") as file:
            file.write(text)
        git("add", "c.py")
        git("commit", "-qm", branch)
    if kind == "bisect":
        git("bisect", "start")
    else:
        words = {"merge": ("merge",), "rebase": ("rebase",), "cherry-pick": ("cherry-pick",)}[kind]
        git(*words, "side", check=False)
    with open("a.py", "w") as file:
        file.write("3\n")


@pytest.mark.parametrize("kind", ["merge", "rebase", "cherry-pick", "bisect"])
def test_row_90_nothing_is_committed_during_another_git_operation(refused, kind):
    under_way(kind)

    answer = refused("commit", "-m", "x", "a.py", status=69, code="REPO_STATE")

    assert kind in answer.err


COMMANDS = (
    "commit -mx", "changes", "diff", "merge", "forecast", "worktree ls", "worktree new zoe", "salvage ls",
    "git status", "git check",
)  # fmt: skip


@pytest.mark.parametrize("kind", ["none", "bare", "gone", "file"])
def test_row_90_a_missing_working_tree_is_reported_in_one_line(tmp_path, dibs, kind, monkeypatch):
    place = tmp_path / "place"
    if kind == "bare":
        git("init", "-q", "--bare", str(place))
    elif kind == "none":
        place.mkdir()
    elif kind == "file":
        place.write_text("")
    monkeypatch.chdir(tmp_path)

    for words in COMMANDS:
        answer = dibs(*words.split(), "--repo", str(place), agent="alice")

        assert answer.status in {0, 6, 65, 69}, answer
        assert answer.status == 0 or len(answer.err.splitlines()) == 1
        assert len(answer.err) < 300
        if kind != "bare":
            assert answer.status, words


def test_row_90_a_shallow_clone_commits_and_forecasts(shop, dibs, monkeypatch, tmp_path):
    git("commit", "-qm", "second", "--allow-empty")
    git("clone", "-q", "--depth=1", f"file://{shop}", str(tmp_path / "shallow"))
    monkeypatch.chdir(tmp_path / "shallow")
    git("config", "user.name", "Ann")
    git("config", "user.email", "ann@example.org")
    dibs("claim", "a.py", agent="alice")
    (tmp_path / "shallow/a.py").write_text("5\n")

    assert dibs("commit", "-m", "x", agent="alice").status == 0
    assert dibs("forecast").status == 0

    assert git("diff", "--name-only", "HEAD~1", "HEAD") == "a.py"


PATHS = (
    ("gone.py", 6, "PATH_MISSING"), ("made.log", 65, "PATH_IGNORED"), ("", 65, "PATH_EMPTY"),
     ("../x", 65, "PATH_ESCAPE"), ("/etc/passwd", 65, "PATH_ABSOLUTE"), (".git/x", 65, "PATH_RESERVED"),
     ("a.py/x", 65, "PATH_NOT_DIR"), ("[", 65, "GLOB_SYNTAX"), ("x" * 5000, 65, "PATH_TOO_LONG"),
     ("a\nb", 65, "PATH_CONTROL"),
)  # fmt: skip


def test_row_94_a_path_that_cannot_be_committed_is_reported(refused, shop):
    (shop / ".gitignore").write_text("*.log\n")
    (shop / "made.log").write_text("1\n")

    for path, status, code in PATHS:
        refused("commit", "-mx", "--", path, status=status, code=code)


@pytest.mark.parametrize("name", ["it's \"$(touch x)`id`", "-f #\n漢字", ":(top)back\\"], ids=ascii)
def test_row_96_a_repository_may_be_anywhere(tmp_path, monkeypatch, dibs, name):
    place = tmp_path / name
    git("init", "-q", "-b", "main", str(place))
    monkeypatch.chdir(place)
    git("config", "user.name", "Ann")
    git("config", "user.email", "ann@example.org")
    git("commit", "-qm", "first", "--allow-empty")
    dibs("claim", "a.py", agent="alice")
    (place / "a.py").write_text("1\n")

    assert dibs("changes").status == 0
    assert "+1" in dibs("diff", agent="alice").out
    assert dibs("commit", "-m", "x", agent="alice").status == 0
    made = dibs("worktree", "new", "zoe", "--json")
    assert made.status == 0, made
    assert dibs("git", "install").status == 0
    tree = made.json["worktree"]["path"]
    dibs("claim", "z.py", agent="zoe")
    with open(os.path.join(tree, "z.py"), "w") as file:
        file.write("1\n")
    assert dibs("forecast").status == 0
    assert dibs("commit", "-m", "z", "--repo", tree, agent="zoe").status == 0
    assert dibs("merge", "agent/zoe").status == 0
    assert git("ls-tree", "--name-only", "main").split() == ["a.py", "z.py"]
    with open(os.path.join(tree, "more"), "w") as file:
        file.write("1\n")
    assert dibs("worktree", "rm", "zoe").status == 3
    assert dibs("worktree", "rm", "zoe", "--force", "--reason", "x").status == 0
    assert dibs("salvage", "restore", "zoe", "--to", str(tmp_path / "back")).status == 0
    assert (tmp_path / "back/more").read_text() == "1\n"
    assert dibs("git", "uninstall").status == 0
    assert sorted(os.listdir(tmp_path)) == sorted({name, f"{name}.worktrees", "back", "repo"})


def test_row_99_a_repository_with_long_hashes_works(tmp_path, monkeypatch, dibs):
    git("init", "-q", "-b", "main", "--object-format=sha256", str(tmp_path / "long"))
    monkeypatch.chdir(tmp_path / "long")
    git("config", "user.name", "Ann")
    git("config", "user.email", "ann@example.org")
    for agent in ("alice", "bob"):
        dibs("claim", f"{agent}.py", agent=agent)
        (tmp_path / f"long/{agent}.py").write_text("1\n")
        assert dibs("commit", "-m", "x", agent=agent).status == 0
    assert dibs("worktree", "new", "zoe").status == 0
    assert dibs("forecast").status == 0

    assert len(git("rev-parse", "HEAD")) == 64
    assert git("ls-tree", "--name-only", "HEAD").split() == ["alice.py", "bob.py"]


@pytest.mark.parametrize("place", [".git/hooks2", "../" + LONG, "../" + "z/" * 1500])
def test_no_folder_is_created_in_an_invalid_place(refused, shop, dibs, place):
    with open(dibs("worktree", "env", "zoe", "--json").json["DIBS_WORKTREE"] + "/new", "w") as file:
        file.write("1\n")
    assert dibs("worktree", "rm", "zoe", "--force", "--reason", "x").status == 0

    refused("worktree", "new", "yan", f"--path={place}", status=65, code="WORKTREE_FOLDER")
    refused("salvage", "restore", "zoe", f"--to={place}", status=65, code="WORKTREE_FOLDER")

    assert not os.path.lexists(".git/hooks2")


@pytest.mark.parametrize("task", ["x\n\nDibs-Agent: eve", "\x1b[31mx", "a\u202eb"], ids=ascii)
def test_row_88_a_task_adds_no_lines_or_control_characters_to_a_message(shop, dibs, task):
    assert dibs("commit", "-m", "x", "--task", task, agent="alice").status == 0

    lines = git("log", "-1", "--format=%B").split("\n")
    assert all(line.isprintable() for line in lines)
    assert [line for line in lines if line.startswith("Dibs-Agent")] == ["Dibs-Agent: alice"]
