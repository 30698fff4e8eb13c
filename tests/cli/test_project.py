"""init and config: the project's location and settings."""

from __future__ import annotations

import pytest

from dibs.project.project import open_project


def test_a_project_is_initialized_once(dibs, repo):
    first, second = (
        dibs("init", "--agents", "none", "--json"),
        dibs("init", "--agents", "none", "--json"),
    )

    assert first.json == {
        "root": str(repo),
        "state": str(repo / ".git" / "dibs"),
        "engine": "sqlite",
        "created": True,
        "dry_run": False,
        "agents": [],
        "found": {},
        "changes": [],
        "git_gates": False,
        "notes": [],
        "trust": [],
    }
    assert second.json == {**first.json, "created": False}


def test_no_project_is_created_in_a_missing_folder(dibs, tmp_path):
    answer = dibs("init", "--agents", "none", "--repo", str(tmp_path / "no" / "such"))

    assert answer.status == 6
    assert not (tmp_path / "no").exists()


def test_no_project_is_created_inside_a_git_directory(dibs, repo, monkeypatch):
    monkeypatch.chdir(repo / ".git")

    answer = dibs("init", "--agents", "none")

    assert answer.status == 6
    assert not (repo / ".git" / "dibs").exists()


def test_settings_say_where_they_come_from(dibs, repo, monkeypatch):
    (repo / "dibs.toml").write_text('[claims]\nttl = "2m"\n')
    monkeypatch.setenv("DIBS_MAX_HOLD", "9m")

    rows = dibs("config").out.splitlines()
    settings = dibs("config", "--json").json["settings"]

    assert [row.split() for row in rows if row.startswith(("claims.ttl", "claims.max_hold "))] == [
        ["claims.ttl", "2m", "dibs.toml:2"],
        ["claims.max_hold", "9m", "DIBS_MAX_HOLD"],
    ]
    assert settings["ttl"] == {
        "value": 120.0,
        "origin": "dibs.toml:2",
        "variable": "DIBS_TTL",
        "key": "claims.ttl",
        "about": "How long a claim lasts after its owner's last heartbeat. Existing claims keep theirs.",
        "allowed": "a duration from 5s to 1d",
    }
    assert settings["case"]["origin"] == "default"


def test_what_one_setting_shows_can_be_pasted_into_the_file(dibs, repo):
    before = dibs("config", "--json").json["settings"]
    parts: dict[str, str] = {}
    for setting in before.values():
        shown = dibs("config", setting["key"]).out.partition("to change it, ")[2]
        where, _, rest = shown.partition("\n")
        section = f"[{where.partition('[')[2].partition(']')[0]}]\n" if "[" in where else ""
        parts[section] = parts.get(section, section) + rest
    text = "".join(part for _, part in sorted(parts.items()))
    (repo / "dibs.toml").write_text(text)

    after = dibs("config", "--json").json["settings"]

    assert {name: one["value"] for name, one in after.items()} == {
        name: one["value"] for name, one in before.items()
    }


def test_a_long_list_is_short_in_the_table_and_whole_by_itself(dibs):
    assert "guard.hot **/package-lock.json and 12 more" in " ".join(dibs("config").out.split())
    assert "**/CHANGELOG.md" in dibs("config", "guard.hot").out


def test_settings_show_the_location_of_the_project(dibs, repo):
    answer = dibs("config", "--json").json

    assert (answer["root"], answer["state"]) == (str(repo), str(repo / ".git" / "dibs"))


def test_settings_are_shown_even_if_the_store_cannot_be_opened(dibs, repo):
    (repo / ".git" / "dibs").mkdir()
    (repo / ".git" / "dibs" / "dibs.db").write_text("no database")

    assert dibs("status").status in {69, 78}
    assert dibs("config").status == 0


@pytest.mark.parametrize("key", ["ttl", "claims.ttl", "DIBS_TTL"])
def test_one_setting_is_shown_by_any_of_its_names(dibs, key):
    answer = dibs("config", key)

    assert answer.out.startswith("claims.ttl\nHow long a claim lasts")
    assert "\nvalue     5m\nfrom      default\nallowed   a duration from 5s to 1d\n" in answer.out
    assert 'under [claims], set:\n  ttl = "5m"\n' in answer.out
    assert list(dibs("config", key, "--json").json["settings"]) == ["ttl"]


@pytest.mark.parametrize(
    "url",
    [
        "redis://user:hunter2secret@host/0",
        "postgresql:/user:hunter2secret@host/db",
        "postgresql://user@host/db?sslpassword=hunter2secret",
    ],
)
def test_a_password_in_the_engine_url_is_not_shown(dibs, monkeypatch, url):
    monkeypatch.setenv("DIBS_ENGINE", url)

    for answer in (dibs("config"), dibs("config", "--json"), dibs("init", "--agents", "none")):
        assert "hunter2secret" not in answer.out + answer.err


@pytest.mark.parametrize(
    "words", [("set", "claims.ttl", "20m"), ("claims.ttl=20m",), ("DIBS_TTL", "20m")]
)
def test_setting_a_value_shows_the_lines_for_dibs_toml_and_they_work(dibs, repo, words):
    answer = dibs("config", *words)

    assert answer.status == 64
    said, *lines = answer.err.splitlines()
    assert said == (
        "dibs: config: this command only shows settings; in dibs.toml, under [claims], set:"
    )
    (repo / "dibs.toml").write_text("\n".join(["[claims]", *lines]))
    assert dibs("config", "claims.ttl", "--json").json["settings"]["ttl"]["value"] == 1200


def test_a_project_that_was_opened_before_its_state_existed_sees_the_new_state(dibs, repo):
    early = open_project(str(repo))

    assert early.overview().claims == []
    dibs("claim", "a", agent="alice")
    (held,) = early.overview().claims
    assert held.claim.agent == "alice"
    assert early.engine.wait(0, 0) > 0
    early.close()


def test_an_unknown_key_is_a_warning_of_each_command_and_of_doctor(dibs, repo):
    dibs("init", "--agents", "none")
    (repo / "dibs.toml").write_text("[claims]\nttll = 5\n")
    line = "dibs.toml:2: ignored the unknown key ttll in [claims] (did you mean 'ttl'?)"

    claimed, shown = dibs("claim", "--new", "a", "--json"), dibs("config", "--json")
    report = dibs("doctor", "--json")

    assert (claimed.status, shown.status) == (0, 0)
    assert (claimed.json["outcome"], claimed.err) == ("granted", f"dibs: {line}\n")
    assert (shown.json["settings"]["ttl"]["value"], shown.err) == (300, f"dibs: {line}\n")
    assert line in report.out
    assert report.err == ""
