"""Commands that read change no file, no index, and no ref, and create nothing in a fresh repository.

Every command is in one table: the lines that only read, or ``WRITES`` if each use of it changes something.
Hand-made task files are accepted into the store, which is in ``.git/dibs``; so is the machine's own record of
what it has seen. Nothing else may change.
"""

import os
import shutil
import subprocess
from importlib import import_module
from pathlib import Path

import pytest

from dibs.cli import main
from dibs.cli.support import COMMANDS
from dibs.cli.support.parsing import build
from dibs.cli.support.verbs import subcommands

#: A command of which every use changes something.
WRITES = ()

TABLE = {
    "init": ("init --dry-run",),
    "doctor": ("doctor", "doctor --json"),
    "whoami": ("whoami",),
    "completion": ("completion bash",),
    "claim": WRITES,
    "release": WRITES,
    "renew": WRITES,
    "run": WRITES,
    "ask": WRITES,
    "answer": WRITES,
    "escalate": WRITES,
    "transfer": WRITES,
    "revoke": WRITES,
    "status": ("status", "status --json"),
    "top": ("top --json",),
    "who": ("who src/a.py",),
    "check": ("check src/a.py",),
    "log": ("log", "log --json"),
    "report": ("report --json",),
    "explain": ("explain src/*.py src/a.py",),
    "agent ls": ("agent ls",),
    "agent show": ("agent show alice",),
    "agent join": WRITES,
    "agent beat": WRITES,
    "agent report": WRITES,
    "agent leave": WRITES,
    "agent stop": WRITES,
    "alerts ls": ("alerts ls", "alerts ls --all --json"),
    "alerts show": ("alerts show a1",),
    "alerts ack": WRITES,
    "alerts check": WRITES,
    "brief": ("brief", "brief --peek", "brief --full"),
    "say": WRITES,
    "inbox": ("inbox",),
    "group new": WRITES,
    "group add": WRITES,
    "group rm": WRITES,
    "group drop": WRITES,
    "group ls": ("group ls",),
    "group show": ("group show crew",),
    "decide new": WRITES,
    "decide ls": ("decide ls",),
    "decide show": ("decide show d1",),
    "decide confirm": WRITES,
    "decide reject": WRITES,
    "decide comment": WRITES,
    "decide withdraw": WRITES,
    "decide revoke": WRITES,
    "decide refuse": WRITES,
    "task new": ("task new Other --dry-run",),
    "task ls": ("task ls", "task ls --all --json", "task ls --blocked"),
    "task show": ("task show known", "task show fresh", "task show pending-a"),
    "task graph": ("task graph",),
    "task take": WRITES,
    "task start": WRITES,
    "task done": WRITES,
    "task fail": WRITES,
    "task release": WRITES,
    "task retry": WRITES,
    "task reopen": WRITES,
    "task cancel": WRITES,
    "task block": WRITES,
    "task reassign": WRITES,
    "task validate": ("task validate", "task validate work/inbox/fresh.yaml"),
    "work": WRITES,
    "delegate": WRITES,
    "orchestrate": WRITES,
    "crew up": WRITES,
    "crew ls": ("crew", "crew ls --all --json"),
    "crew show": ("crew show developer-1",),
    "crew spawn": WRITES,
    "crew stop": WRITES,
    "crew restart": WRITES,
    "crew scale": WRITES,
    "crew pause": WRITES,
    "crew resume": WRITES,
    "crew logs": ("crew logs developer-1",),
    "commit": ("commit --dry-run -m x",),
    "changes": ("changes", "changes --json"),
    "diff": ("diff",),
    "merge": ("merge side --dry-run",),
    "forecast": ("forecast",),
    "worktree new": WRITES,
    "worktree ls": ("worktree ls",),
    "worktree env": ("worktree env",),
    "worktree setup": WRITES,
    "worktree rm": WRITES,
    "worktree gc": ("worktree gc --dry-run",),
    "salvage ls": ("salvage ls",),
    "salvage show": ("salvage show 1",),
    "salvage restore": WRITES,
    "git install": WRITES,
    "git uninstall": WRITES,
    "git status": ("git status",),
    "git check": ("git check",),
    "config": ("config", "config ttl"),
    "engine check": ("engine check",),
    "engine use": WRITES,
    "serve": WRITES,
    "open": WRITES,
    "token ls": ("token ls",),
    "token new": WRITES,
    "token revoke": WRITES,
    "token login": WRITES,
    "mcp": WRITES,
    "hook": WRITES,
}
READS = [line for lines in TABLE.values() for line in lines]


def test_every_command_is_classified_as_reading_or_writing():
    found = []
    for name in COMMANDS:
        parser = build(name, import_module(f"dibs.cli.commands.{name}"))
        verbs = [f"{name} {verb}" for verb, _, _ in subcommands(parser)]
        found += verbs or [name]

    assert sorted(TABLE) == sorted(found)


# -- what may not change


def git(folder, *words):
    environ = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
    done = subprocess.run(
        ["git", "-C", folder, *words], env=environ, check=True, capture_output=True
    )
    return done.stdout


def entries(folder, without=()):
    """Return everything in a folder: kinds, times of files, contents, and targets of links."""
    found = {}
    for here, folders, names in os.walk(folder):
        place = os.path.relpath(here, folder)
        folders[:] = [
            name for name in folders if os.path.normpath(f"{place}/{name}") not in without
        ]
        for name in folders + names:
            path = Path(here, name)
            key = os.path.normpath(f"{place}/{name}")
            if key in without:
                continue
            status = path.lstat()
            if path.is_symlink():
                found[key] = (status.st_mode, os.readlink(path))
            elif path.is_file():
                found[key] = (status.st_mode, status.st_mtime_ns, path.read_bytes())
            else:
                found[key] = (status.st_mode,)
    return found


#: In the git directory, what reading may change: the store and what this machine has seen (``dibs``),
#: unreachable objects, and the index file, in which git refreshes the times of unchanged files; its entries
#: are compared.
_OWN = {"dibs", "dibs.mark", "objects", "index", "refs/dibs", "logs/refs/dibs"}


def state_of(tree, *, fresh):
    """Return all that a command that reads may not change."""
    common = git(tree, "rev-parse", "--path-format=absolute", "--git-common-dir").decode().strip()
    refs = git(tree, "for-each-ref").splitlines()
    indexes = {str(path.relative_to(common)) for path in Path(common).glob("worktrees/*/index")}
    without = set() if fresh else _OWN | indexes
    return {
        "status": git(tree, "status", "--porcelain=v2", "--branch", "--ignored"),
        "index": git(tree, "ls-files", "--stage", "-v"),
        "refs": [line for line in refs if b"refs/dibs/" not in line],
        "head": git(tree, "rev-parse", "--symbolic-full-name", "HEAD"),
        "tree": entries(tree, {".git"}),
        "git": entries(common, without),
    }


def differences(before, after):
    """Return what differs, by name."""
    found = [key for key in before if before[key] != after[key]]
    for key in ("tree", "git"):
        names = before[key].keys() | after[key].keys()
        found += [f"{key}:{n}" for n in names if before[key].get(n) != after[key].get(n)]
    return found


# -- the situations


def commit(tree, message="more"):
    git(tree, "add", "-A")
    git(tree, "commit", "-qm", message)


def empty(root):
    """A repository as `git init` leaves it, with one commit and no trace of Dibs."""
    git(root.parent, "init", "-q", "-b", "main", str(root))
    git(root, "config", "user.name", "Ann")
    git(root, "config", "user.email", "ann@example.com")
    (root / "src").mkdir()
    (root / "src" / "a.py").write_text("a = 1\n")
    (root / ".gitignore").write_text("ignored\n")
    (root / "ignored").write_text("x\n")
    commit(root)
    return root


def dibs(root, *words, agent="alice"):
    here = os.getcwd()
    os.chdir(root)
    try:
        return main([*words, "--agent", agent])
    finally:
        os.chdir(here)


def board(root):
    """A board with tasks that agents, people, and scripts touched after the last command."""
    empty(root)
    work = root / "work"
    (root / "list.yaml").write_text("- title: Listed\n")
    dibs(root, "claim", "src/a.py")
    dibs(root, "group", "new", "crew", "alice", "bob")
    dibs(root, "say", "alice", "hello", agent="bob")
    dibs(root, "decide", "new", "Use tabs")
    (work / "inbox").mkdir(parents=True)
    for name in ("known", "edited", "moved", "missing", "copied", "started"):
        (work / "inbox" / f"{name}.yaml").write_text(f"title: {name}\nagent: alice\n")
    dibs(root, "task", "start", "started")
    dibs(root, "orchestrate")
    commit(root)
    git(root, "branch", "side")
    own = work / "assigned" / "alice"
    edited = (own / "edited.yaml").read_text()
    (own / "edited.yaml").write_text(f"{edited}color: red\n")
    moved = (own / "moved.yaml").read_text().replace("status: assigned", "status: cancelled")
    (own / "moved.yaml").unlink()
    (work / "done" / "moved.yaml").write_text(moved)
    (own / "missing.yaml").unlink()
    shutil.copy(own / "copied.yaml", work / "inbox" / "copied.yaml")
    (work / "inbox" / "fresh.yaml").write_text("title: Fresh\n")
    (work / "inbox" / "half.yaml").write_text("title: Hal")
    (work / "inbox" / "invalid.yaml").write_text("title: [\n")
    (work / "inbox" / "misplaced.yaml").write_text("title: M\nstatus: done\nagent: bob\n")
    (root / "src" / "a.py").write_text("a = 2\n")
    return root


def new_clone(root):
    """A clone of a repository with a committed board, in which Dibs has not run."""
    source = root.with_name("source")
    source.mkdir()
    board(source)
    commit(source)
    git(root.parent, "clone", "-q", str(source), str(root))
    return root


def locks(root):
    """The layout of scripts on a branch with a remote, which has a lock that is not fetched yet."""
    empty(root)
    (root / "tasks" / "pending").mkdir(parents=True)
    for name in ("pending-a", "pending-b", "pending-c"):
        (root / "tasks" / "pending" / f"{name}.yml").write_text(f"title: {name}\n")
    (root / "current_tasks").mkdir()
    lock = "agent: agent-02\nclaimed: 2025-06-14T08:31:12Z\ntask: pending-b\n"
    (root / "current_tasks" / "pending-b.lock").write_text(lock)
    commit(root)
    remote, other = root.with_name("remote.git"), root.with_name("other")
    git(root.parent, "clone", "-q", "--bare", str(root), str(remote))
    git(root, "remote", "add", "origin", str(remote))
    git(root, "fetch", "-q")
    git(root, "branch", "-q", "--set-upstream-to", "origin/main")
    git(root.parent, "clone", "-q", str(remote), str(other))
    git(other, "config", "user.name", "Ann")
    git(other, "config", "user.email", "ann@example.com")
    (other / "current_tasks" / "pending-c.lock").write_text(lock.replace("pending-b", "pending-c"))
    commit(other)
    git(other, "push", "-q")
    return root


def unreachable(root):
    """The layout of scripts with a remote that does not answer, and HEAD detached."""
    locks(root)
    shutil.rmtree(root.with_name("remote.git"))
    git(root, "checkout", "-q", "--detach")
    return root


def worktree(root):
    """An agent's worktree of a repository with a board."""
    main_tree = root.with_name("main")
    main_tree.mkdir()
    board(main_tree)
    dibs(main_tree, "worktree", "new", "--path", str(root))
    return root


def merging(root):
    """A merge that stopped at a conflict."""
    empty(root)
    dibs(root, "task", "new", "Known")
    commit(root)
    git(root, "switch", "-qc", "side")
    (root / "src" / "a.py").write_text("a = 3\n")
    commit(root)
    git(root, "switch", "-q", "main")
    (root / "src" / "a.py").write_text("a = 4\n")
    commit(root)
    (root / "work" / "inbox" / "fresh.yaml").write_text("title: Fresh\n")
    subprocess.run(["git", "-C", root, "merge", "-q", "side"], check=False, capture_output=True)
    assert (root / ".git" / "MERGE_HEAD").exists()
    return root


def sub_folder(root):
    return board(root) / "src"


def committing(root):
    """A board that commits every change."""
    board(root)
    (root / "dibs.toml").write_text("[board]\ncommit = true\n")
    return root


#: Each situation, and who reads there.
SITUATIONS = [
    (empty, ""), (board, "alice"), (new_clone, "alice"), (locks, "alice"), (unreachable, ""),
    (worktree, "alice"), (merging, ""), (sub_folder, ""), (committing, "alice"),
]  # fmt: skip


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home folder of its own, and no agents."""
    place = tmp_path / "home"
    place.mkdir()
    monkeypatch.setenv("HOME", str(place))
    monkeypatch.setenv("XDG_STATE_HOME", str(place / "state"))
    return place


@pytest.mark.parametrize(
    ("situation", "agent"), SITUATIONS, ids=[situation.__name__ for situation, _ in SITUATIONS]
)
def test_reading_changes_no_file_no_index_and_no_ref(
    tmp_path, monkeypatch, capsys, home, situation, agent
):
    root = tmp_path / "repo"
    if situation not in {new_clone, worktree}:
        root.mkdir()
    here = situation(root)
    monkeypatch.chdir(here)
    if agent:
        monkeypatch.setenv("DIBS_AGENT", agent)
    fresh = situation is empty  # where reading creates nothing, not even in the git directory
    tree = git(here, "rev-parse", "--show-toplevel").decode().strip()
    trees = {tree, git(here, "worktree", "list", "--porcelain").decode().split("\n")[0][9:]}
    changed = {}
    before = {each: state_of(each, fresh=fresh) for each in trees}
    for line in READS if agent else reversed(READS):
        status = main(line.split())
        said = capsys.readouterr().err
        assert status not in {64, 70}, (line, said)
        assert "operating system error" not in said, (line, said)
        after = {each: state_of(each, fresh=fresh) for each in trees}
        changed[line] = [
            found for each in trees for found in differences(before[each], after[each])
        ]
        before = after

    assert {line: found for line, found in changed.items() if found} == {}
    if (Path(trees.pop()) / "work" / "inbox" / "fresh.yaml").exists():
        main(["task", "show", "fresh", "--json"])
        assert '"state": "new"' in capsys.readouterr().out  # it is a task nevertheless
