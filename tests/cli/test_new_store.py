"""``dibs init --new-store`` keeps the old store, and ``dibs engine use`` continues its token numbers."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import closing

import pytest

from dibs.engines.shared.format import FORMAT
from dibs.project.engines import open_engine
from dibs.project.location import locate


@pytest.fixture
def url_of(request, repo, monkeypatch):
    """Return the URL of an empty store of a kind."""
    monkeypatch.setenv("DIBS_PROJECT", "demo")

    def url_of(kind):
        if kind == "git":
            remote = request.getfixturevalue("git_remote")
            subprocess.run(["git", "remote", "add", "origin", remote.path], check=True)
            return "git:origin"
        if kind == "file":
            return f"sqlite://{repo.parent}/elsewhere/dibs.db"
        return "" if kind == "sqlite" else request.getfixturevalue(f"{kind}_url")

    return url_of


@pytest.fixture
def change_format(request, repo):
    """Return a function that makes a store look like one of another format."""

    def change(kind, url):
        if kind in {"sqlite", "file"}:
            import apsw

            path = url.removeprefix("sqlite://") or str(repo / ".git" / "dibs" / "dibs.db")
            with closing(apsw.Connection(path)) as db:
                db.execute("PRAGMA user_version = 1")
        elif kind == "redis":
            with request.getfixturevalue("redis_server").client(url) as client:
                client.hdel("dibs:{demo}:meta", "format")
        elif kind == "postgres":
            server = request.getfixturevalue("postgres_server")
            server.sql("UPDATE dibs.version SET number = 1", url)
        else:
            _land_meta(request.getfixturevalue("git_remote").path)

    return change


def _land_meta(bare):
    """Add a commit to the branch that names another format."""

    def git(*words, data=None):
        who = ("-c", "user.name=x", "-c", "user.email=x@y")
        argv = ["git", "-C", bare, *who, *words]
        return subprocess.run(argv, input=data, check=True, capture_output=True).stdout.strip()

    index = os.path.join(bare, "index.new")
    blob = git("hash-object", "-w", "--stdin", data=b'{"format": 1}')
    os.environ["GIT_INDEX_FILE"] = index
    try:
        git("read-tree", "dibs")
        git("update-index", "--cacheinfo", f"100644,{blob.decode()},dibs/meta.json")
        tree = git("write-tree").decode()
    finally:
        del os.environ["GIT_INDEX_FILE"]
    commit = git("commit-tree", tree, "-p", "dibs", "-m", "x").decode()
    git("update-ref", "refs/heads/dibs", commit)


def token_of(dibs, path, agent="alice"):
    return dibs("claim", path, "--new", "--json", agent=agent).json["token"]


def remember(dibs):
    """Leave a message in the store."""
    dibs("agent", "join", agent="bob")
    assert dibs("say", "bob", "remember this", agent="alice").status == 0


KINDS = ["sqlite", "file", "redis", "postgres", "git"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_store_is_empty_and_its_tokens_are_higher(dibs, url_of, monkeypatch, kind):
    url = url_of(kind)
    monkeypatch.setenv("DIBS_ENGINE", url)
    dibs("init", "--agents", "none")
    old = token_of(dibs, "src/a.py")
    remember(dibs)
    dibs("release", "--all", agent="alice")

    answer = dibs("init", "--new-store", "--json")

    assert answer.status == 0, answer
    assert answer.json["set_aside"]
    assert "remember this" not in dibs("inbox", "--all", agent="bob").out
    assert token_of(dibs, "src/a.py", "bob") > old
    assert dibs("engine", "check").status in {0, 78}


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_store_is_refused_while_an_agent_holds_a_claim(dibs, url_of, monkeypatch, kind):
    monkeypatch.setenv("DIBS_ENGINE", url_of(kind))
    dibs("init", "--agents", "none")
    token = token_of(dibs, "src/a.py")

    answer = dibs("init", "--new-store")

    assert answer.status == 77
    assert "alice (holds 1 claim" in answer.err
    held = dibs("who", "src/a.py", "--json").json["paths"][0]["holders"]
    assert [one["token"] for one in held] == [token]


@pytest.mark.parametrize("kind", KINDS)
def test_a_store_of_another_format_is_refused_in_one_line_with_the_command_that_helps(
    dibs, url_of, change_format, monkeypatch, kind
):
    url = url_of(kind)
    monkeypatch.setenv("DIBS_ENGINE", url)
    dibs("init", "--agents", "none")
    old = token_of(dibs, "src/a.py")
    change_format(kind, url)

    for words in (("status",), ("claim", "b", "--new"), ("engine", "check")):
        refused = dibs(*words, agent="" if words[0] == "engine" else "bob")
        assert refused.status == 78, refused
        assert refused.err.count("\n") == 1
        assert f"has format 1, but this version of Dibs uses format {FORMAT}" in refused.err
        assert "dibs init --new-store" in refused.err
    answer = dibs("init", "--new-store")

    assert answer.status == 0, answer
    assert "the old one is kept as" in answer.out
    assert token_of(dibs, "src/a.py", "bob") > old


def test_the_old_state_folder_is_complete_and_saved_copies_stay_restorable(dibs, repo):
    subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", "one"], check=True)
    dibs("claim", "a.py", "--new", agent="alice")
    (repo / "a.py").write_text("by alice\n")
    dibs("release", "--all", agent="alice")
    before = dibs("salvage", "ls").out
    (repo / "a.py").unlink()

    name = dibs("init", "--new-store", "--json").json["set_aside"]

    assert "alice/" in before
    assert dibs("salvage", "ls").out == before
    assert os.path.exists(f"{name}/dibs.db")
    assert os.path.exists(f"{name}/engine.json")


@pytest.mark.parametrize("kind", ["redis", "postgres"])
def test_the_old_store_can_be_read_under_its_new_name(dibs, url_of, monkeypatch, kind):
    monkeypatch.setenv("DIBS_ENGINE", url_of(kind))
    dibs("init", "--agents", "none")
    remember(dibs)

    name = dibs("init", "--new-store", "--json").json["set_aside"]

    assert name.startswith("project demo-")
    place = locate("", {**os.environ, "DIBS_PROJECT": name.removeprefix("project ")})
    with closing(open_engine(place, recreate=False)) as engine:
        rows = engine.view(lambda txn: [value for _, value in txn.scan(("mail/", ""))])
    assert "remember this" in json.loads(rows[0])["text"]


def test_the_remote_keeps_the_old_branch(dibs, url_of, git_remote, monkeypatch):
    monkeypatch.setenv("DIBS_ENGINE", url_of("git"))
    dibs("init", "--agents", "none")
    remember(dibs)
    tip = git_remote.refs()["refs/heads/dibs"]

    name = dibs("init", "--new-store", "--json").json["set_aside"]

    assert git_remote.refs()[f"refs/heads/{name.removeprefix('branch ')}"] == tip


def test_only_a_human_sets_a_store_aside(dibs, repo):
    dibs("claim", "a.py", "--new", agent="alice")
    dibs("release", "--all", agent="alice")

    assert dibs("init", "--new-store", agent="bob").status == 77
    assert not [one for one in os.listdir(repo / ".git") if one.startswith("dibs-2")]


def test_a_clone_without_a_store_gets_one(dibs):
    answer = dibs("init", "--new-store")

    assert answer.status == 0
    assert "there was none before" in answer.out


@pytest.mark.parametrize("kind", ["redis", "postgres", "git"])
def test_token_numbers_continue_when_a_clone_uses_another_engine(dibs, url_of, monkeypatch, kind):
    url = url_of(kind)
    for number in range(5):
        old = token_of(dibs, f"a{number}")
    dibs("release", "--all", agent="alice")
    monkeypatch.setenv("DIBS_ENGINE", url)

    assert dibs("engine", "use").status == 0

    assert token_of(dibs, "a.py") > old
    monkeypatch.delenv("DIBS_ENGINE")
    assert dibs("claim", "b.py", "--new", agent="bob").status == 78


def test_a_clone_does_not_leave_uncommitted_work_behind(dibs, repo, tmp_path, monkeypatch):
    subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", "one"], check=True)
    dibs("claim", "a.py", "--new", agent="alice")
    (repo / "a.py").write_text("by alice\n")
    dibs("release", "--all", agent="alice")
    monkeypatch.setenv("DIBS_ENGINE", f"sqlite://{tmp_path}/other.db")

    refused = dibs("engine", "use")

    assert refused.status == 77
    assert "agents left uncommitted files: a.py" in refused.err
    assert dibs("engine", "use", "--force").status == 0
