"""``dibs engine``, and output when an engine is unreachable."""

from __future__ import annotations

import os
import subprocess

import pytest
from tests.servers import RedisServer


@pytest.fixture
def project(repo, monkeypatch):
    """A project name on a server."""
    monkeypatch.setenv("DIBS_PROJECT", "demo")


@pytest.fixture
def origin(repo, git_remote):
    """A bare repository as origin."""
    subprocess.run(["git", "remote", "add", "origin", git_remote.path], check=True)
    return git_remote


@pytest.fixture
def url_of(request, project):
    """Return the URL of an empty store of a kind."""

    def url_of(kind):
        if kind == "git":
            request.getfixturevalue("origin")
            return "git:origin"
        return kind if kind == "sqlite" else request.getfixturevalue(f"{kind}_url")

    return url_of


def use(monkeypatch, url):
    monkeypatch.setenv("DIBS_ENGINE", url)


def test_check_shows_the_default_stores_guarantees_and_speed(dibs):
    dibs("agent", "join", agent="bob")

    answer = dibs("engine", "check")

    assert answer.status == 0
    assert "durability" in answer.out
    assert "ms (median)" in answer.out
    assert answer.out.splitlines()[-1] == "safe: sqlite is ready to use"


def test_check_creates_no_store(dibs, repo):
    answer = dibs("engine", "check", "--json")

    assert answer.json["safe"] is True
    assert answer.json["measured"]["transaction_ms"] is None
    assert not (repo / ".git" / "dibs").exists()


@pytest.mark.parametrize("kind", ["sqlite", "memory", "redis", "git"])
def test_check_prints_json_for_every_engine(dibs, url_of, kind):
    url = "memory:" if kind == "memory" else url_of(kind)
    dibs("agent", "join", agent="bob")

    answer = dibs("engine", "check", url, "--json")

    assert answer.status == 0
    assert answer.json["engine"] == url
    assert answer.json["safe"] is True
    assert {"level", "what", "text"} == set(answer.json["findings"][0])
    assert answer.json["measured"]["transaction_ms"] > 0
    assert answer.json["measured"]["view_ms"] > 0


def test_check_leaves_nothing_behind(dibs, project, redis_url, redis_server):
    dibs("engine", "check", redis_url)

    with redis_server.client(redis_url) as client:
        assert client.hlen("dibs:{demo}:values") == 0
        assert client.xlen("dibs:{demo}:ledger") == 0


def test_check_uses_the_engine_of_the_settings(dibs, project, redis_url, monkeypatch):
    use(monkeypatch, redis_url)

    assert dibs("engine", "check", "--json").json["engine"] == redis_url


def test_check_does_not_rely_on_stale_state(dibs, origin, monkeypatch):
    use(monkeypatch, "git:origin")
    assert dibs("claim", "a", agent="alice").status == 0
    assert dibs("engine", "check", "git:origin").status == 0
    os.rename(origin.path, origin.path + ".away")

    assert dibs("engine", "check", "git:origin").status == 69


def test_check_explains_why_an_unsafe_engine_is_refused(dibs, project, tmp_path):
    with RedisServer(tmp_path / "redis", "maxmemory-policy allkeys-lru") as server:
        answer = dibs("engine", "check", server.url)

    assert answer.status == 78
    assert "maxmemory-policy is allkeys-lru" in answer.err


def test_check_reports_a_postgresql_server_that_can_lose_confirmed_changes(dibs, url_of):
    answer = dibs("engine", "check", url_of("postgres"), "--json")

    assert answer.status == 78
    assert answer.json["safe"] is False
    (found,) = [f for f in answer.json["findings"] if f["what"] == "durability"]
    assert "set fsync" in found["text"]
    assert answer.json["measured"]["transaction_ms"] > 0


def test_no_password_is_ever_printed(dibs, project, tmp_path):
    with RedisServer(tmp_path / "redis", password="right-7712") as server:
        wrong = server.url.replace("right-7712", "wrong-9934")
        dibs("claim", "a", agent="alice")
        dibs("release", "--all", agent="alice")
        answers = [
            dibs("engine", "check", wrong),
            dibs("engine", "check", wrong, "--json"),
            dibs("engine", "check", server.url),
            dibs("engine", "check", server.url, "--json"),
            dibs("status"),
        ]

    said = "".join(answer.out + answer.err for answer in answers)
    assert "right-7712" not in said
    assert "wrong-9934" not in said
    assert [a.status for a in answers] == [78, 78, 0, 0, 0]
    assert "://***@127.0.0.1" in said


@pytest.mark.parametrize(
    "url",
    [
        "", " ", "--", "nonsense", "nonsense:x", "x" * 5000, "\x1b[31mred", "a\nb",
        "sqlite://relative", "sqlite:x", "unix://relative", "redis:", "redis://h:x", "redis://h:99999",
        "postgres://:secret@h?x=y", "postgresql://u:secret@h/d?x",
        "redis://:a/b?secret@h", "redis://:secret#x@h:y", "redis://u:secret@h/0/1", "redis://h?x=secret@y",
        "git:--upload-pack=touch", "git:ext::sh", "git:nowhere", "git://-x/y",
    ],
)  # fmt: skip
def test_an_invalid_url_is_reported_in_one_clear_line(dibs, project, url):
    dibs("claim", "a", agent="alice")
    dibs("release", "--all", agent="alice")

    answer = dibs("engine", "check", "--", url)

    assert answer.status in {64, 65, 69, 78}
    assert answer.out == ""
    assert len(answer.err.splitlines()) == 1
    assert len(answer.err) < 700
    assert "\x1b" not in answer.err
    assert "secret" not in answer.err
    assert dibs("status").status == 0


@pytest.mark.parametrize(
    "words",
    [("status",), ("who", "a"), ("check", "a"), ("agent", "ls"), ("agent", "show", "alice"),
     ("log", "--summary"), ("task", "ls")],
    ids="-".join,
)  # fmt: skip
def test_output_of_an_unreachable_engine_says_how_old_it_is(dibs, origin, monkeypatch, words):
    use(monkeypatch, "git:origin")
    dibs("claim", "a", agent="alice")
    fresh = dibs(*words, "--json", agent="bob" if words[0] == "check" else "")
    os.rename(origin.path, origin.path + ".away")

    text = dibs(*words, agent="bob" if words[0] == "check" else "")
    shaped = dibs(*words, "--json", agent="bob" if words[0] == "check" else "")

    assert "as_of" not in fresh.json
    assert fresh.err == ""
    assert text.status == fresh.status
    assert text.err.startswith("dibs: as of ")
    assert text.err.endswith(": the remote is unreachable\n")
    assert shaped.json["as_of"] > 1_700_000_000
    assert shaped.err == ""


def test_a_log_of_an_unreachable_engine_says_so_on_stderr(dibs, origin, monkeypatch):
    use(monkeypatch, "git:origin")
    dibs("claim", "a", agent="alice")
    os.rename(origin.path, origin.path + ".away")

    answer = dibs("log", "--json")

    assert isinstance(answer.json, list)
    assert answer.err.startswith("dibs: as of ")


def test_nothing_is_claimed_from_an_unreachable_engine(dibs, origin, monkeypatch):
    use(monkeypatch, "git:origin")
    dibs("claim", "a", agent="alice")
    os.rename(origin.path, origin.path + ".away")

    assert dibs("claim", "b", agent="bob").status == 69
