"""A server with hooks refuses pushes of other agents' files, whatever the client skips."""

from __future__ import annotations

import json
import sys

import pytest

from dibs.project.project import open_project


@pytest.fixture
def hub(plain, tmp_path, monkeypatch):
    """A bare repository with the same commits as the clone."""
    folder = tmp_path / "hub.git"
    plain.git("init", "-q", "--bare", str(folder))
    plain.git("remote", "add", "origin", str(folder))
    plain.git("push", "-q", "-u", "origin", "main")
    return type(plain)(folder)


@pytest.fixture(params=["git", "redis"])
def gated(request, plain, hub, dibs, monkeypatch):
    """The same with the server hook, on two engines; alice holds ``a.txt``, and the clients have no hooks."""
    words = []
    if request.param == "redis":
        url = request.getfixturevalue("redis_url")
        words = ["--engine", url, "--project", "shop"]
        monkeypatch.setenv("DIBS_ENGINE", url)
        monkeypatch.setenv("DIBS_PROJECT", "shop")
    else:
        monkeypatch.setenv("DIBS_ENGINE", "git:origin")
    dibs("git", "install", "--server", str(hub.root), *words)
    dibs("claim", "a.txt", agent="alice")
    return plain


def push_refused(clone, *words, agent=""):
    clone.run("commit", "-qam", "x", agent=agent)
    done = clone.run("push", "--no-verify", *words, "origin", "main", agent=agent)
    assert done.returncode != 0, done.stderr
    assert "remote: dibs: push refused:" in done.stderr
    return done.stderr


def test_a_plain_push_of_another_agents_file_is_refused(gated, hub):
    before = hub.refs()
    gated.edit("a.txt", "b.txt")

    said = push_refused(gated, agent="bob")

    assert "a.txt: alice holds it (expires in " in said
    assert "dibs ask a.txt" in said
    assert hub.refs().splitlines()[-1] == before.splitlines()[-1]


def test_unclaimed_files_and_the_engines_own_pushes_are_accepted(gated, hub, dibs):
    gated.commit("b.txt")
    gated.git("push", "-q", "origin", "main")
    dibs("claim", "c.txt", agent="carol")
    dibs("release", "--all", agent="alice")
    gated.commit("a.txt")
    gated.git("push", "-q", "origin", "main")


def test_a_push_that_names_the_owner_is_accepted(gated):
    gated.edit("a.txt")
    push_refused(gated, agent="alice")
    push_refused(gated, "-o", "dibs-agent=bob")
    done = gated.run("push", "-o", "dibs-agent=--bad id", "origin", "main")
    assert "remote: dibs: refused: '--bad id' is not a valid agent id" in done.stderr
    gated.git("push", "-q", "-o", "dibs-agent=alice", "origin", "main")


def note_commit(commit, agent):
    """Record that ``dibs commit`` made a commit."""
    project = open_project()
    project.store.apply(lambda rows: rows.txn.put(f"commit/{commit}", json.dumps({"agent": agent})))
    project.close()


def test_the_owners_dibs_commit_is_accepted_from_any_pusher(gated):
    commit = gated.commit("a.txt")
    note_commit(commit, "alice")

    gated.git("push", "-q", "origin", "main", agent="bob")


def test_a_trailer_alone_proves_nothing(gated):
    gated.edit("a.txt")
    gated.git("commit", "-q", "-m", "x\n\nDibs-Agent: alice")

    push_refused(gated, agent="bob")


def test_a_pushed_merge_that_drops_the_owners_side_is_refused(gated):
    gated.git("checkout", "-q", "-b", "topic")
    gated.commit("a.txt")
    gated.git("push", "-q", "-o", "dibs-agent=alice", "origin", "topic")
    gated.git("checkout", "-q", "main")
    gated.commit("a.txt")
    gated.git("push", "-q", "-o", "dibs-agent=alice", "origin", "main")
    gated.git("merge", "-q", "-X", "theirs", "-m", "x", "topic")

    push_refused(gated, "-o", "dibs-agent=bob")


def test_a_new_branch_is_checked_and_a_deleted_one_is_not(gated):
    gated.git("push", "-q", "origin", "main:spare")
    gated.git("checkout", "-q", "-b", "topic")
    gated.commit("a.txt")

    done = gated.run("push", "origin", "topic:other")
    assert "a.txt: alice holds it" in done.stderr
    gated.git("push", "-q", "origin", ":spare")


@pytest.mark.parametrize("ref", ["refs/tags/t", "refs/remotes/x/y", "refs/salvage/x/1"])
def test_a_commit_on_another_ref_is_checked_when_a_branch_moves_to_it(gated, ref):
    gated.commit("a.txt")
    gated.git("push", "-q", "origin", f"main:{ref}")

    push_refused(gated, agent="bob")


def test_a_commit_cannot_enter_through_the_state_branch(plain, hub, dibs, monkeypatch):
    monkeypatch.setenv("DIBS_ENGINE", "git:origin")
    dibs("git", "install", "--server", str(hub.root))
    dibs("claim", "a.txt", agent="alice")
    plain.git("fetch", "-q", "origin", "dibs")
    state = plain.git("rev-parse", "FETCH_HEAD")
    evil = plain.commit("a.txt")
    tree = f"{state}^{{tree}}"
    both = plain.git("commit-tree", "-p", state, "-p", evil, "-m", "x", tree)
    plain.git("push", "-q", "origin", f"{both}:refs/heads/dibs")

    push_refused(plain, agent="bob")


@pytest.mark.parametrize("words", [("--force", "main:dibs"), (":dibs",)])
def test_a_push_cannot_delete_a_servers_state(plain, hub, dibs, monkeypatch, words):
    monkeypatch.setenv("DIBS_ENGINE", "git:origin")
    dibs("git", "install", "--server", str(hub.root))
    dibs("claim", "a.txt", agent="alice")
    before = hub.refs()
    force = [word for word in words if word.startswith("--")]

    done = plain.run("push", *force, "origin", words[-1])

    assert "refs/heads/dibs stores the claims and accepts only fast-forwards" in done.stderr
    assert hub.refs() == before


def test_a_server_with_an_unreachable_store_refuses(plain, hub, dibs):
    dead = ["--engine", "redis://127.0.0.1:1/0", "--project", "x"]
    dibs("git", "install", "--server", str(hub.root), *dead, status=69)  # no engine is reachable
    dibs("git", "install", "--server", str(hub.root))
    hub.git("config", "dibs.engine", dead[1])
    hub.git("config", "dibs.project", "x")
    plain.commit("b.txt")

    done = plain.run("push", "origin", "main")
    assert "refused: cannot check claims:" in done.stderr
    assert "run on the server: git config dibs.onError allow" in done.stderr
    hub.git("config", "dibs.onError", "allow")
    plain.git("push", "-q", "origin", "main")


@pytest.mark.parametrize("gone", [True, False])
def test_a_pushers_environment_cannot_disable_the_check(plain, hub, dibs, gone):
    dibs("git", "install", "--server", str(hub.root))
    if gone:
        hook = hub.root / "hooks/pre-receive"
        hook.write_text(hook.read_text().replace(f"python={sys.executable}", "python=/gone/python"))
        plain.commit("b.txt")
    else:
        commit = "commit refs/heads/main\ncommitter S <s@example.com> 1 +0000\ndata 1\nx\n"
        begin = commit + "from refs/heads/main^0\n"
        plain.git("fast-import", "--quiet", given=begin + commit * 5_000)

    done = plain.run("push", "origin", "main", DIBS_GATE_ON_ERROR="allow")

    assert done.returncode != 0
    assert "dibs: refused: cannot check claims:" in done.stderr
    assert ("/gone/python is missing" if gone else "adds more than 5000 commits") in done.stderr
    assert "DIBS_GATE_ON_ERROR" not in done.stderr


def test_single_branches_of_a_push_can_be_refused(plain, hub, dibs, monkeypatch):
    monkeypatch.setenv("DIBS_ENGINE", "git:origin")
    dibs("git", "install", "--server", str(hub.root), "--each-ref")
    dibs("claim", "a.txt", agent="alice")
    plain.git("checkout", "-q", "-b", "free")
    plain.commit("b.txt")
    plain.git("checkout", "-q", "-b", "held", "main")
    plain.commit("a.txt")

    done = plain.run("push", "origin", "free", "held")

    assert done.returncode != 0
    assert "refs/heads/free" in hub.refs()
    assert "refs/heads/held" not in hub.refs()


def test_a_clones_git_directory_is_not_a_server(plain, dibs):
    config = (plain.root / ".git/config").read_bytes()

    dibs("git", "install", "--server", ".git", status=6)

    assert (plain.root / ".git/config").read_bytes() == config


def test_a_server_has_one_hook(plain, hub, dibs):
    dibs("git", "install", "--server", str(hub.root), "--each-ref")
    dibs("git", "install", "--server", str(hub.root))

    assert (hub.root / "hooks/pre-receive").exists()
    assert not (hub.root / "hooks/update").exists()


def test_uninstall_restores_a_server(plain, hub, dibs):
    config = (hub.root / "config").read_bytes()
    dibs("git", "install", "--server", str(hub.root), "--branch", "state")
    dibs("git", "install", "--server", str(hub.root))
    assert hub.git("config", "dibs.branch") == "state"
    assert "active: git refuses pushes" in dibs("git", "status", "--server", str(hub.root))

    dibs("git", "uninstall", "--server", str(hub.root))

    assert (hub.root / "config").read_bytes() == config
    assert not (hub.root / "hooks/pre-receive").exists()


def test_pre_push_refuses_before_the_server_does(plain, hub, dibs):
    dibs("git", "install")
    plain.edit("b.txt")
    plain.git("commit", "-q", "-m", "free then", agent="bob")
    dibs("claim", "b.txt", agent="alice")

    said = plain.run("push", "origin", "main", agent="bob").stderr
    assert "dibs: push refused:" in said
    assert "b.txt: alice holds it" in said
    plain.git("push", "-q", "--dry-run", "origin", "main", agent="alice")
    plain.git("push", "-q", "origin", "main~1:refs/heads/old", agent="bob")
    note_commit(plain.git("rev-parse", "HEAD"), "alice")
    plain.git("push", "-q", "origin", "main", agent="bob")


def test_the_intent_of_a_dibs_commit_is_recognized_when_the_branch_moves(plain, dibs):
    dibs("git", "install")
    dibs("claim", "a.txt", agent="alice")
    plain.edit("a.txt")
    tree = plain.git("write-tree")
    commit = plain.git("commit-tree", tree, "-p", "HEAD", "-m", "x")
    plain.refused("update-ref", "refs/heads/main", commit, agent="bob")
    project = open_project()
    row = json.dumps({"agent": "alice", "new": commit})
    project.store.apply(lambda rows: rows.txn.put("intent/clone/1", row))
    project.close()

    plain.git("update-ref", "refs/heads/main", commit, agent="bob")


def landed(clone, dibs, agent, path):
    """Commit a change with ``dibs commit`` and push it; return the commit."""
    dibs("claim", "--new", path, agent=agent)
    clone.write(path)
    dibs("commit", "-m", "work", "--release", agent=agent)
    clone.git("push", "-q", "--no-verify", "origin", "HEAD")
    return clone.git("rev-parse", "HEAD")


@pytest.mark.parametrize("push", ["-f origin HEAD~1:main", "origin +HEAD~1:main", "origin :main"])
@pytest.mark.parametrize("option", [(), ("-o", "dibs-agent=bob")], ids=["nobody", "bob"])
def test_a_push_that_removes_landed_commits_is_refused(gated, hub, dibs, push, option):
    hub.git("config", "receive.denyDeleteCurrent", "ignore")
    commit = landed(gated, dibs, "carol", "c.txt")

    done = gated.run("push", "--no-verify", *option, *push.split(), agent="bob")

    assert done.returncode != 0
    assert f"remote:   {commit[:10]} by carol" in done.stderr
    assert hub.git("rev-parse", "main") == commit


def test_an_agent_can_replace_and_delete_its_own_branch_on_the_server(gated, dibs):
    gated.git("switch", "-q", "-c", "agent/carol")
    landed(gated, dibs, "carol", "c.txt")

    gated.git("push", "-q", "--no-verify", "-f", "origin", "HEAD~1:agent/carol")
    gated.git("push", "-q", "--no-verify", "origin", "HEAD")
    done = gated.run(
        "push", "--no-verify", "-o", "dibs-agent=bob", "-f", "origin", "HEAD~1:agent/carol"
    )
    assert "by carol" in done.stderr
    gated.git("push", "-q", "--no-verify", "origin", ":agent/carol")
