"""Tokens: what the file has, who may read it, and how long a token is valid."""

from __future__ import annotations

import json
import os
import stat

import pytest
from tests.server.callers import client, token

from dibs.core.text.secrets import mask
from dibs.errors import BadInput, Misconfigured, NotFound
from dibs.server.security import tokens
from dibs.server.security.identity import TokenScope
from dibs.server.security.tokens import BROWSER, TokenStore


@pytest.fixture
def store(tmp_path, clock):
    return TokenStore(str(tmp_path / "server"), clock)


def test_the_file_has_the_hash_of_a_token_and_only_its_user_can_read_it(store, tmp_path):
    before = os.umask(0)
    try:
        made, row = store.new(TokenScope.AGENT, agent="alice", project="p")
    finally:
        os.umask(before)

    file = tmp_path / "server" / "tokens.json"
    assert made[-30:] not in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert json.loads(file.read_text())["tokens"][0]["agent"] == "alice"
    assert store.verify(made) == row


def test_a_token_is_masked_in_every_text_that_dibs_stores(store):
    made, _ = store.new(TokenScope.READ)

    assert made[8:] not in mask(f"curl with {made}") + mask(made) + mask(f"x={made}&y")


@pytest.mark.parametrize("change", [
    lambda made: "", lambda made: made[:-1], lambda made: made + "0", lambda made: made.upper(),
    lambda made: made[:-1] + ("0" if made[-1] != "0" else "1"), lambda made: "dibs_" + "0" * 52,
    lambda made: "ü" * 57, lambda made: made[:17] + "0" * 40,
])  # fmt: skip
def test_only_the_exact_token_is_valid(store, change):
    made, _ = store.new(TokenScope.READ)

    assert store.verify(change(made)) is None


def test_a_token_of_one_kind_is_not_valid_as_the_other(store):
    made, _ = store.new(TokenScope.HUMAN, kind=BROWSER)

    assert store.verify(made) is None
    assert store.verify(made, BROWSER) is not None


def test_a_token_expires_at_its_time_and_leaves_the_file_with_the_next_change(store, clock):
    made, _ = store.new(TokenScope.READ, lifetime=60)
    clock.now += 59.9
    assert store.verify(made) is not None

    clock.now += 0.1
    assert store.verify(made) is None
    assert store.all() == []
    store.new(TokenScope.READ)
    assert len(store._read()) == 1


def test_a_running_server_refuses_a_token_at_once_that_a_command_revoked(store, tmp_path):
    made, row = store.new(TokenScope.READ)
    assert store.verify(made) is not None

    TokenStore(str(tmp_path / "server")).revoke(row.id[:6])

    assert store.verify(made) is None


def test_an_unknown_or_ambiguous_id_revokes_nothing(store):
    store.new(TokenScope.READ)
    store.new(TokenScope.READ)

    for id_ in ("", "zz"):
        with pytest.raises(NotFound):
            store.revoke(id_)
    assert len(store.all()) == 2


@pytest.mark.parametrize(("name", "mode"), [("", 0o750), ("", 0o701), ("tokens.json", 0o640)])
def test_a_file_or_folder_that_others_can_use_is_refused(store, tmp_path, name, mode):
    made, _ = store.new(TokenScope.READ)
    (tmp_path / "server" / name).chmod(mode)

    with pytest.raises(Misconfigured) as caught:
        TokenStore(str(tmp_path / "server")).verify(made)
    assert caught.value.code == "TOKEN_FILE"
    assert "chmod" in caught.value.hint


def test_a_link_instead_of_the_file_is_refused(store, tmp_path):
    store.new(TokenScope.READ)
    file = tmp_path / "server" / "tokens.json"
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(Misconfigured):
        store.all()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"tokens": [1]}', '{"tokens": [{"id": "x"}]}'])
def test_a_damaged_file_is_an_error_and_not_a_server_without_tokens(store, tmp_path, content):
    store.new(TokenScope.READ)
    (tmp_path / "server" / "tokens.json").write_text(content)

    with pytest.raises(Misconfigured):
        store.all()


def test_the_time_of_the_last_use_is_written_with_every_minute_and_at_the_end(store, clock):
    made, _ = store.new(TokenScope.READ)
    clock.now += 5
    store.verify(made)
    store.stop()

    assert store.all()[0].used == clock.now


def test_there_is_a_limit_for_the_number_of_tokens(store, monkeypatch):
    monkeypatch.setattr(tokens, "MOST_TOKENS", 1)
    store.new(TokenScope.READ)

    with pytest.raises(BadInput):
        store.new(TokenScope.READ)


def test_an_agent_is_who_its_token_says_and_serves_its_project(resident, served):
    made = token(resident, agent="alice", served=served)
    with client(resident, made) as http:
        granted = http.post("/api/v1/claims", json={"patterns": ["a.py"]})
        foreign = http.post(
            "/api/v1/claims", json={"patterns": ["b.py"]}, headers={"Dibs-Agent": "bob"}
        )
        elsewhere = http.get("/api/v1/status", params={"project": "other"})

    assert granted.status_code == 201, granted.text
    assert http.get("/api/v1/status").json()["claims"][0]["agent"] == "alice"
    assert (foreign.status_code, foreign.json()["error"]["code"]) == (403, "NOT_YOU")
    assert (elsewhere.status_code, elsewhere.json()["error"]["code"]) == (403, "NOT_YOU")
