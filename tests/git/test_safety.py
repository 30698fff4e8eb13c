"""How git is started, which settings name programs, what is allowed, and which locks are stale."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import dibs
from dibs.errors import Misconfigured, NotAllowed, Unavailable
from dibs.git.calls import GitCalls, last_words, require_version
from dibs.git.config import neutral, read
from dibs.git.locks import AGE, find_stale, put_aside
from dibs.git.run import GitResult
from dibs.git.untrusted import guarded_calls, refuse_drivers, refuse_filters
from dibs.local.repository import find
from dibs.project.project import open_project
from dibs.services.commits.doctor import GitCare

SOURCE = Path(dibs.__file__).parent


@pytest.fixture
def repo(tmp_path):
    root = tmp_path / "repo"
    subprocess.run(["git", "init", "-q", "-b", "main", str(root)], check=True)
    (root / "a.txt").write_text("a\n")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "one")
    return root


def git(root, *words):
    done = subprocess.run(["git", *words], cwd=root, check=True, capture_output=True, text=True)
    return done.stdout.strip()


# -- the source


def modules():
    for path in sorted(SOURCE.rglob("*.py")):
        yield path.relative_to(SOURCE).as_posix(), ast.parse(path.read_text("utf-8"))


def calls_in(tree):
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def test_one_module_starts_git():
    starters = set()
    for name, tree in modules():
        for call in calls_in(tree):
            words = [n.value for n in ast.walk(call) if isinstance(n, ast.Constant)]
            starts = ast.unparse(call.func).rpartition(".")[2] in {
                "Popen", "run", "call", "check_call", "check_output", "execvp", "posix_spawn",
                "posix_spawnp", "spawnvp", "create_subprocess_exec",
            }  # fmt: skip
            of_subprocess = ast.unparse(call.func).startswith(("subprocess.", "os.", "asyncio."))
            if starts and of_subprocess and "git" in words:
                starters.add(name)

    assert starters == {"git/run.py"}


def test_no_shell_is_started():
    found = []
    for name, tree in modules():
        for call in calls_in(tree):
            shell = [k for k in call.keywords if k.arg == "shell"]
            if shell or ast.unparse(call.func) in {"os.system", "os.popen", "subprocess.getoutput"}:
                found.append((name, call.lineno))

    assert found == []


#: Commands that take revisions as arguments.
_TAKES_NAMES = {
    "checkout", "diff-tree", "log", "ls-tree", "merge-base", "merge-tree", "read-tree", "reset",
    "rev-list", "rev-parse", "show", "cherry", "name-rev", "describe",
}  # fmt: skip
#: Argument lists with --end-of-options, or with only object IDs from git and options.
_LISTS = {"*which", "*what", "*there", "*shape"}
#: An object ID from git, in a call whose options must follow it.
_IDS = {"services/salvage/save.py": "commit"}


#: Tuples of options, each with a fixed beginning.
_OPTIONS = ("*_PLAIN", "*others")


def test_untrusted_names_come_after_end_of_options():
    loose = []
    for name, tree in modules():
        for call in calls_in(tree):
            method = ast.unparse(call.func).rpartition(".")[2]
            words = list(call.args)
            while words and ast.unparse(words[0]) in {"'-c'", "*_CALM", "*_SAFE", "*QUICK"}:
                words = words[2 if ast.unparse(words[0]) == "'-c'" else 1 :]
            if method not in {"run", "must", "begin", "start"} or not words:
                continue
            command = words[0].value if isinstance(words[0], ast.Constant) else ""
            words = [w for w in words if ast.unparse(w) not in {_IDS.get(name), *_OPTIONS}]
            if command in _TAKES_NAMES and not _is_closed(words[1:]):
                loose.append(f"{name}:{call.lineno} {ast.unparse(call)[:90]}")

    assert loose == []


def _is_closed(words):
    """Return whether no text that could be an option comes before --end-of-options."""
    for word in words:
        first = word.values[0] if isinstance(word, ast.JoinedStr) else word
        text = first.value if isinstance(first, ast.Constant) else ""
        if text in {"--end-of-options", "--", "--stdin"} or ast.unparse(word) in _LISTS:
            return True
        if not text:
            return False
    return True


# -- the calls


def test_a_call_that_times_out_is_killed_with_its_children(repo, tmp_path):
    mark = tmp_path / "mark"
    git(repo, "config", "alias.slow", f"!sleep 30; touch {mark}")

    with pytest.raises(Unavailable, match="timed out") as caught:
        GitCalls(str(repo), timeout=0.3).must("slow")

    assert caught.value.code == "GIT_FAILED"
    assert not mark.exists()


def test_git_never_prompts(repo):
    environ = GitCalls(str(repo)).must("-c", "alias.env=!env", "env").decode()

    for line in ("GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "GIT_EDITOR=:", "LC_ALL=C"):
        assert f"{line}\n" in environ
    assert "GIT_ALLOW_PROTOCOL=none\n" in environ


def test_plumbing_fetches_nothing(repo, tmp_path):
    far = tmp_path / "far.git"
    git(repo, "clone", "-q", "--bare", ".", str(far))

    said = GitCalls(str(repo)).run("fetch", str(far))

    assert said.code
    assert "not allowed" in said.err


def test_a_pathspec_is_a_path(repo):
    (repo / ":(top)x").write_text("x\n")
    git(repo, "--literal-pathspecs", "add", ":(top)x")

    assert GitCalls(str(repo)).must("ls-files", "--", ":(top)x", "*") == b":(top)x\n"


@pytest.mark.parametrize("version", ["2.37.9", "1.8.3.1"])
def test_an_old_git_is_refused_with_its_version(repo, monkeypatch, version):
    calls = GitCalls(str(repo))
    monkeypatch.setattr(
        GitCalls, "run", lambda *_: GitResult(0, f"git version {version}\n".encode(), "")
    )

    with pytest.raises(Misconfigured, match=version) as caught:
        require_version(calls)

    assert caught.value.code == "GIT_VERSION"


@pytest.mark.parametrize("version", ["2.38.0", "2.39.5 (Apple Git-154)", "3.0.1", "x"])
def test_a_new_or_unknown_git_version_is_accepted(repo, monkeypatch, version):
    calls = GitCalls(str(repo))
    monkeypatch.setattr(
        GitCalls, "run", lambda *_: GitResult(0, f"git version {version}\n".encode(), "")
    )

    require_version(calls)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_another_users_repository_is_refused_with_gits_advice(repo):
    os.chown(repo, 12345, 12345)
    os.chown(repo / ".git", 12345, 12345)

    with pytest.raises(Misconfigured) as caught:
        GitCalls(str(repo)).must("rev-parse", "HEAD")

    assert caught.value.code == "REPO_OWNER"
    assert f"git config --global --add safe.directory {repo}" in caught.value.hint


# -- settings that name programs


def test_settings_that_run_nothing_are_not_listed(repo):
    for key, value in {
        "core.fsmonitor": "true", "pager.log": "false", "alias.st": "status", "core.bare": "false",
        "submodule.x.update": "merge", "filter.x.required": "true", "lfs.url": "https://x/y",
        "merge.x.name": "a driver", "credential.username": "me", "remote.o.url": "https://x/y",
    }.items():  # fmt: skip
        git(repo, "config", key, value)

    assert read(GitCalls(str(repo))).executing == ()


def test_the_users_own_configuration_is_trusted(repo, monkeypatch):
    git(repo, "config", "--global", "filter.lfs.clean", "git-lfs clean")
    git(repo, "config", "--global", "core.hooksPath", "~/hooks")

    assert read(GitCalls(str(repo))).executing == ()


def test_a_local_setting_with_the_users_own_value_is_trusted(repo):
    git(repo, "config", "--global", "filter.x.clean", "mine")
    git(repo, "config", "filter.x.clean", "mine")
    git(repo, "config", "filter.x.smudge", "other")

    assert [one.key for one in read(GitCalls(str(repo))).executing] == ["filter.x.smudge"]


def test_git_lfs_is_trusted_only_as_it_installs_itself(repo):
    for name, value in {
        "clean": "git-lfs clean -- %f", "smudge": "git-lfs smudge -- %f", "process": "git-lfs filter-process",
    }.items():  # fmt: skip
        git(repo, "config", f"filter.lfs.{name}", value)
    assert read(GitCalls(str(repo))).executing == ()

    git(repo, "config", "filter.lfs.clean", "./git-lfs clean -- %f")

    assert [one.key for one in read(GitCalls(str(repo))).executing] == ["filter.lfs.clean"]


def test_a_setting_is_reported_with_its_file(repo):
    (repo / ".git" / "more").write_text('[filter "a=b \\"c"]\n\tclean = evil\n')
    git(repo, "config", "include.path", "more")

    (found,) = read(GitCalls(str(repo))).executing

    assert found == ('filter.a=b "c.clean', "evil", "local", ".git/more")


def test_a_disabled_setting_stays_disabled_whatever_its_name(repo):
    with (repo / ".git" / "config").open("a") as file:
        file.write('[filter "a=b \\"c\\\\"]\n\tclean = evil\n')
    found = read(GitCalls(str(repo))).executing

    quiet = GitCalls(str(repo), settings=neutral(found))

    assert quiet.must("config", "--get", found[0].key) == b"\n"


def test_hooks_defined_by_settings_never_run_in_plumbing(repo):
    git(repo, "config", "--global", "hook.mine.command", "touch x")
    git(repo, "config", "--global", "hook.mine.event", "reference-transaction")

    assert read(GitCalls(str(repo))).hooks == ("mine",)
    calls = guarded_calls(str(repo))
    assert calls.must("config", "--get", "hook.mine.enabled") == b"false\n"


def test_a_working_tree_elsewhere_is_refused(repo, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    git(repo, "config", "core.worktree", str(tmp_path / "elsewhere"))

    with pytest.raises(Misconfigured, match=r"core\.worktree") as caught:
        guarded_calls(str(repo))

    assert caught.value.code == "REPO_STATE"


def test_filters_are_looked_up_in_the_tree_to_check_out(repo):
    git(repo, "config", "filter.x.smudge", "evil")
    git(repo, "checkout", "-q", "-b", "other")
    (repo / ".gitattributes").write_text("a.* filter=x\n")
    git(repo, "add", ".")
    git(repo, "commit", "-q", "-m", "two")
    tip = git(repo, "rev-parse", "HEAD")
    git(repo, "checkout", "-q", "main")
    calls = guarded_calls(str(repo))

    refuse_filters(calls, ["a.txt"])
    refuse_filters(calls, None, tree=git(repo, "rev-parse", "main"))
    with pytest.raises(NotAllowed, match=r"filter\.x\.smudge in .* 'evil' on 'a\.txt'"):
        refuse_filters(calls, None, tree=tip)


def test_lfs_extensions_count_as_the_lfs_filter(repo):
    git(repo, "config", "lfs.extension.x.clean", "evil")
    (repo / ".gitattributes").write_text("*.txt filter=lfs\n")

    with pytest.raises(NotAllowed, match=r"lfs\.extension\.x\.clean"):
        refuse_filters(guarded_calls(str(repo)), ["a.txt"])


def test_a_merge_driver_matters_only_for_files_that_use_it(repo):
    git(repo, "config", "merge.x.driver", "evil %A")
    (repo / ".gitattributes").write_text("*.dat merge=x\n")
    calls = guarded_calls(str(repo))

    refuse_drivers(calls, ["a.txt"])
    with pytest.raises(NotAllowed, match=r"merge\.x\.driver"):
        refuse_drivers(calls, ["a.txt", "b.dat"])


# -- locks


@pytest.fixture
def stale(repo):
    """Locks of every kind, all of them old."""
    names = (
        "index.lock", "HEAD.lock", "config.lock", "packed-refs.lock", "shallow.lock",
        "refs/heads/main.lock", "refs/remotes/o/x.lock",
    )  # fmt: skip
    paths = [repo / ".git" / name for name in names]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("left")
        os.utime(path, (time.time() - AGE - 5,) * 2)
    return paths


def test_old_locks_that_no_process_holds_are_moved_away(repo, stale):
    found = find_stale(str(repo / ".git"))

    assert {lock.path for lock in found} == set(map(str, stale))
    for lock in found:
        assert Path(put_aside(lock, str(repo / ".git"))).read_text() == "left"
    git(repo, "commit", "-q", "--allow-empty", "-m", "goes on")
    git(repo, "fsck", "--strict")  # none of them is taken for a ref
    assert find_stale(str(repo / ".git")) == []


def test_a_recent_lock_stays(repo):
    path = repo / ".git" / "index.lock"
    path.write_text("")

    assert find_stale(str(repo / ".git")) == []
    (lock,) = find_stale(str(repo / ".git"), now=time.time() + AGE + 1)
    assert put_aside(lock, str(repo / ".git")) == ""
    assert path.exists()


def test_no_lock_is_stale_while_git_runs_in_the_repository(repo, stale):
    process = subprocess.Popen(
        ["git", "cat-file", "--batch"], cwd=repo, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        process.stdin.write(b"HEAD\n")
        process.stdin.flush()
        process.stdout.readline()  # an answer: the process is past its exec and is named git
        assert find_stale(str(repo / ".git")) == []
    finally:
        process.communicate()

    assert len(find_stale(str(repo / ".git"))) == len(stale)


def test_no_lock_is_stale_while_a_process_has_it_open(repo, stale):
    wait = f"import sys; f = open({str(stale[0])!r}); print(1, flush=True); sys.stdin.read()"
    process = subprocess.Popen(
        [sys.executable, "-c", wait], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        process.stdout.readline()
        assert find_stale(str(repo / ".git")) == []
    finally:
        process.communicate()


def test_no_lock_is_stale_if_processes_are_not_visible(repo, stale, monkeypatch):
    monkeypatch.setattr("dibs.git.locks._PROCESSES", "/no/such/place")

    assert find_stale(str(repo / ".git")) == []


# -- what doctor reports


def test_doctor_reports_planted_locks_and_hooks(repo, stale):
    os.makedirs(repo / ".git" / "dibs")
    care = GitCare(find(str(repo), {}), open_project(str(repo), {}).gate)
    git_lines = [finding.what for finding in care.inspect()]
    assert git_lines == ["git lock"] * len(stale)

    (repo / ".git" / "config.lock").unlink()
    hook = repo / ".git" / "hooks" / "post-merge"
    hook.write_text("#!/bin/sh\n")
    hook.chmod(0o755)

    told = [(finding.what, finding.level) for finding in care.inspect()]
    assert told.count(("git lock", "warn")) == len(stale) - 1
    assert told[-1] == ("git hooks", "warn")

    assert len(care.repair()) == len(stale)
    assert care.inspect() == []


def test_two_concurrent_first_inspections_both_succeed(repo, monkeypatch):
    os.makedirs(repo / ".git" / "dibs")
    care = GitCare(find(str(repo), {}), open_project(str(repo), {}).gate)
    replace = os.replace

    def overtaken(*names):
        doctor = [sys.executable, "-m", "dibs", "doctor", "--json"]
        subprocess.run(doctor, cwd=repo, check=True, capture_output=True)
        replace(*names)

    monkeypatch.setattr(os, "replace", overtaken)
    assert care.inspect() == []

    monkeypatch.undo()
    notes = [name for name in os.listdir(repo / ".git" / "dibs") if "hooks-seen" in name]
    assert notes == ["hooks-seen.json"]


def test_a_hint_of_git_is_not_its_error():
    printed = "error: Could not read 0123\nhint: Support for <GIT_DIR>/info/grafts is deprecated\n"

    assert last_words(printed) == "Could not read 0123"
