from __future__ import annotations

import json
import os
import stat
import subprocess
import sys

import pytest

import dibs
from dibs.config import load as config
from dibs.config.load import Config, load
from dibs.config.table import FIELDS
from dibs.errors import BadInput, Misconfigured

EVERYTHING = """\
engine = "memory:"

[claims]
ttl = "10m"
heartbeat = "1m"
max_hold = "6h"
idle_takeover = "1h"

[paths]
case = "sensitive"

[ledger]
limit = 500
files = "all"

[store]
synchronous = "full"
timeout = 2.5
"""


@pytest.fixture
def place(tmp_path):
    (tmp_path / "state").mkdir()
    return tmp_path


def write(place, text, *, age=10):
    """Write the file with an older timestamp, so that it can be cached."""
    file = place / "dibs.toml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    file.chmod(0o644)
    then = file.stat().st_mtime_ns - age * 10**9
    os.utime(file, ns=(then, then))
    return file


def read(place, environ=None, **flags):
    return load(str(place), str(place / "state"), environ or {}, flags)


def refusal(place, environ=None):
    with pytest.raises(Misconfigured) as caught:
        read(place, environ)
    assert caught.value.code == "CONFIG"
    return f"{caught.value.message} {caught.value.hint}"


def test_without_any_source_the_defaults_apply(place):
    loaded = read(place)

    assert loaded.config == Config()
    assert set(loaded.origins.values()) == {"default"}
    assert loaded.origins.keys() == set(Config._fields)


def test_the_table_has_each_field_once_and_in_order():
    assert [field.name for field in FIELDS] == list(Config._fields)


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.name)
def test_each_default_is_a_value_that_is_allowed(field):
    assert field.parse(field.default) == field.default


def test_the_file_sets_each_field(place):
    write(place, EVERYTHING)

    loaded = read(place)

    assert loaded.config == Config(
        engine="memory:",
        ttl=600.0,
        heartbeat=60.0,
        max_hold=21600.0,
        idle_takeover=3600.0,
        case="sensitive",
        ledger_limit=500,
        ledger_files="all",
        synchronous="full",
        timeout=2.5,
    )
    assert loaded.origins["engine"] == "dibs.toml:1"
    assert loaded.origins["ttl"] == "dibs.toml:4"
    assert loaded.origins["ledger_limit"] == "dibs.toml:13"
    assert loaded.origins["preset"] == "default"


def test_flags_override_variables_and_variables_override_the_file(place):
    write(place, '[claims]\nttl = "10m"\nheartbeat = 1\nmax_hold = "1h"\n')

    loaded = read(place, {"DIBS_TTL": "20m", "DIBS_HEARTBEAT": "2"}, ttl="30m", heartbeat=None)

    assert (loaded.config.ttl, loaded.origins["ttl"]) == (1800.0, "--ttl")
    assert (loaded.config.heartbeat, loaded.origins["heartbeat"]) == (2.0, "DIBS_HEARTBEAT")
    assert (loaded.config.max_hold, loaded.origins["max_hold"]) == (3600.0, "dibs.toml:4")


def test_lists_of_paths_and_patterns_read_the_scheme_file(place):
    write(
        place,
        """\
[guard]
free = ["file:build/", "FILE:*.log"]
[worktree]
copy = ["file:.env", "file:./data/"]
""",
    )

    config = read(place).config

    assert config.guard_free == ("build/", "*.log")
    assert config.worktree_copy == (".env", "data")


def test_a_setting_that_may_be_in_milliseconds_is_refused_with_both_readings(place):
    write(place, "[claims]\nttl = 30000\n")

    assert "ttl 30000 could mean 30000s (8h20m) or 30000ms (30s); write the unit" in refusal(place)
    write(place, "")
    assert read(place, {"DIBS_TTL": "30000ms"}).config.ttl == 30


def test_an_empty_flag_overrides_the_file(place):
    write(place, "[claims]\nheartbeat = 5\n")

    loaded = read(place, heartbeat=0)

    assert (loaded.config.heartbeat, loaded.origins["heartbeat"]) == (0.0, "--heartbeat")


#: For each setting, a text in its variable, and the value.
VARIABLES: dict[str, tuple[str, object]] = {
    "engine": ("memory:", "memory:"),
    "ttl": ("1h", 3600.0),
    "heartbeat": ("20", 20.0),
    "max_hold": ("1d", 86400.0),
    "idle_takeover": ("2h", 7200.0),
    "preset": ("fast", "fast"),
    "case": ("sensitive", "sensitive"),
    "ledger_limit": ("200", 200),
    "ledger_files": ("edits", "edits"),
    "synchronous": ("full", "full"),
    "timeout": ("1", 1.0),
    "project": ("shop", "shop"),
    "git_branch": ("agents/state", "agents/state"),
    "git_lock_age": ("1h", 3600.0),
    "board_folder": ("plan/work", "plan/work"),
    "board_commit": ("true", True),
    "board_push": ("true", True),
    "board_attempts": ("5", 5),
    "board_timeout": ("1h", 3600.0),
    "board_stuck": ("error", "error"),
    "board_archive_after": ("7d", 604800.0),
    "commit_guarded": ("anyone", "anyone"),
    "gate_unclaimed": ("deny", "deny"),
    "gate_on_error": ("allow", "allow"),
    "worktree_folder": ("../trees", "../trees"),
    "worktree_setup": ("npm ci", "npm ci"),
    "worktree_copy": (".env, conf/local.toml", (".env", "conf/local.toml")),
    "worktree_link": ("node_modules/", ("node_modules",)),
    "worktree_port": ("5000", 5000),
    "worktree_ports": ("5", 5),
    "merge_into": ("trunk", "trunk"),
    "merge_test": ("make test", "make test"),
    "merge_scope": ("warn", "warn"),
    "salvage_keep": ("30d", 2592000.0),
    "alerts_off": ("stuck_agent", ("stuck_agent",)),
    "notify_desktop": ("true", True),
    "notify_webhook": ("https://hooks.example/dibs", "https://hooks.example/dibs"),
    "brief_tokens": ("500", 500),
    "guard_auto_claim": ("off", "off"),
    "guard_free": ("build/, *.log", ("build/", "*.log")),
    "guard_human": ("deploy/", ("deploy/",)),
    "guard_hot": ("**/go.sum", ("**/go.sum",)),
    "guard_reads": ("true", True),
    "guard_on_error": ("allow", "allow"),
    "guard_deadline": ("1s", 1.0),
    "server_auto": ("true", True),
    "handlers_on": (
        '[{"event": "commit", "command": ["make"], "timeout": "1m"}]',
        ('{"event":"commit","command":["make"],"timeout":60.0,"retries":2}',),
    ),
    "handlers_tests": ("false", False),
    "handlers_summary": ("human", "human"),
}


def test_each_field_has_a_variable(place):
    loaded = read(place, {f"DIBS_{name.upper()}": text for name, (text, _) in VARIABLES.items()})

    assert loaded.config == Config(**{name: value for name, (_, value) in VARIABLES.items()})
    assert loaded.origins == {name: f"DIBS_{name.upper()}" for name in Config._fields}


@pytest.mark.parametrize("name", ["a b", "ü", "a/b", "x" * 65, "a\n", "{a}"])
def test_an_invalid_project_name_is_rejected(place, name):
    assert "invalid project" in refusal(place, {"DIBS_PROJECT": name})


@pytest.mark.parametrize(
    "branch",
    ["-x", "a..b", "a.lock", "@{u}", "a b", "refs/heads/x", "HEAD", "/a", "a/", "a//b", "~"],
)
def test_a_branch_name_that_git_rejects_is_invalid(place, branch):
    assert "invalid branch" in refusal(place, {"DIBS_GIT_BRANCH": branch})


def test_other_and_empty_variables_are_ignored(place):
    loaded = read(place, {"DIBS_TTLL": "x", "DIBS_AGENT": "a", "DIBS_TTL": ""})

    assert loaded.config == Config()


def test_a_preset_sets_what_is_not_set_by_name(place):
    write(place, '[claims]\npreset = "fast"\n')

    loaded = read(place)

    assert loaded.config.ttl == 30.0
    assert loaded.origins["ttl"] == "preset fast (dibs.toml:2)"


def test_the_preset_nexus_is_a_ttl_of_30s_with_a_heartbeat_every_10s(place):
    config = read(place, {"DIBS_PRESET": "nexus"}).config

    assert (config.ttl, config.heartbeat) == (30.0, 10.0)


def test_a_value_set_by_name_overrides_a_preset(place):
    write(place, "[claims]\nttl = 60\n")

    assert read(place, {"DIBS_PRESET": "fast"}).config.ttl == 60.0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\n\nclaims = 5\n", ("dibs.toml:3: claims is a section; write [claims]",)),
        ("[[claims]]\nttl = 5\n", ("dibs.toml:1: claims is a section",)),
        ("[claims]\nttl = 4\n", ("dibs.toml:2: invalid ttl", "from 5s to 1d")),
        ("[claims]\nttl = true\n", ("dibs.toml:2: invalid ttl", "must be a duration")),
        ("[claims]\nttl = nan\n", ("dibs.toml:2: invalid ttl",)),
        ("[claims]\nttl = 1979-05-27\n", ("dibs.toml:2: invalid ttl",)),
        ("[claims]\nttl = [5]\n", ("dibs.toml:2: invalid ttl",)),
        ("[claims]\nmax_hold = 1\n", ("dibs.toml:2: invalid max_hold", "from 1m to 30d")),
        ("[gate]\non_error = 'alow'\n", ('must be "deny" or "allow"', "mean 'allow'?")),
        ("[gate]\non_error = true\n", ("dibs.toml:2: invalid on_error",)),
        ("[paths]\ncase = 1\n", ('"insensitive" or "sensitive", not \'1\'',)),
        ("[ledger]\nlimit = 99\n", ("a whole number from 100 to 10000000, not '99'",)),
        ("[ledger]\nlimit = 500.5\n", ("a whole number",)),
        ("[ledger]\nlimit = true\n", ("a whole number",)),
        ("engine = 5\n", ("dibs.toml:1: invalid engine",)),
        ("[engine]\n", ("dibs.toml:1:", "engine")),
        (
            "[on]\nevent = 'commit'\n",
            ("dibs.toml:1: invalid on", "write it in dibs.toml as [[on]]"),
        ),
        ("[claims]\nttl = \n", ("dibs.toml:2: invalid TOML: Invalid value",)),
        ("a = 1\na = 2\n", ("dibs.toml:2: invalid TOML",)),
        ('[claims]\nttl = "5', ("dibs.toml:2: invalid TOML",)),
        (
            f"# deep\na = {'[' * 20_000}{']' * 20_000}",
            ("dibs.toml:2: invalid TOML: a value is nested too deeply",),
        ),
        (b"[claims]\n# \xff\nttl = 5", ("dibs.toml:2: not UTF-8 text",)),
    ],
)
def test_an_invalid_file_is_reported_with_its_line_and_the_allowed_values(place, text, expected):
    write(place, text)

    told = refusal(place)

    for part in expected:
        assert part in told


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\n[claims]\ntll = 5\n", ["3: ignored the unknown key tll in [claims]", "mean 'ttl'?"]),
        ("[clams]\nttl = 5\n", ["1: ignored the unknown section [clams]", "mean [claims]?"]),
        ("\n[zzz]\n", ["2: ignored the unknown section [zzz]", "valid sections: alerts, board"]),
        ("ttl = 5\n", ["1: ignored the unknown key ttl at the top", "it belongs in [claims]"]),
        ("[store]\nengine = ''\n", ["2: ignored the unknown key engine", "belongs at the top"]),
        ("[ledger]\nqqq = 1\n", ["2: ignored the unknown key qqq", "valid keys: files, limit"]),
        ("claims.tll = 5\n", ["1: ignored the unknown key tll in [claims]"]),
        ("claims = { tll = 5 }\n", ["1: ignored the unknown key tll in [claims]"]),
        ('[claims]\n"t\\u001bl" = 5\n', ["unknown key t\\x1bl in [claims]"]),
        ("[[on]]\nevent = 'commit'\ncommand = ['a']\nretry = 1\n",
         ["4: ignored the unknown key retry in [[on]]", "did you mean 'retries'?"]),
    ],
)  # fmt: skip
def test_an_unknown_key_is_a_warning_with_its_line_and_the_nearest_valid_key(place, text, expected):
    write(place, f"{text}[git]\nbranch = 'x'\n")

    first, cached = read(place), read(place)

    assert (first.config.git_branch, first.config.ttl) == ("x", 300.0)
    assert len(first.unknown) == 1
    for part in expected:
        assert part in first.unknown[0]
    assert cached == first


def test_an_invalid_variable_is_named(place):
    assert "DIBS_TTL: invalid ttl" in refusal(place, {"DIBS_TTL": "abc"})


@pytest.mark.parametrize("name", ["DIBS_ENGINE", "DIBS_NOTIFY_WEBHOOK"])
def test_a_url_that_is_not_a_single_line_is_refused_without_its_secrets(place, name):
    told = refusal(place, {name: "https://user:s3cret\n@host/s3cret"})

    assert f"{name}: invalid" in told
    assert "s3cret" not in told


def test_an_invalid_flag_is_bad_input(place):
    with pytest.raises(BadInput) as caught:
        read(place, ttl="4s")

    assert caught.value.code == "TTL_RANGE"
    assert caught.value.field == "ttl"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("claims.ttl = 60\n", 1),
        ("\nclaims = { ttl = 60 }\n", 2),
        ('[ "claims" ]\n\n"ttl" = 60\n', 3),
        ("\ufeff[claims]\nttl = 60\n", 2),
        ("[claims]\r\n# note\r\nttl = 60\r\n", 3),
        ('engine = """\\\n[claims]\\\nttl = 5"""\n[claims]\nttl = 60\n', 5),
    ],
)
def test_the_line_is_found_in_any_notation(place, text, line):
    write(place, text)

    loaded = read(place)

    assert (loaded.config.ttl, loaded.origins["ttl"]) == (60.0, f"dibs.toml:{line}")


def test_a_file_that_everyone_can_write_is_refused(place):
    write(place, EVERYTHING).chmod(0o666)

    assert "writable by everyone (mode 0666)" in refusal(place)


def test_a_group_writable_file_is_accepted(place):
    write(place, EVERYTHING).chmod(0o664)

    assert read(place).config.ttl == 600.0


def test_a_pipe_in_place_of_the_file_is_refused_without_waiting(place):
    os.mkfifo(place / "dibs.toml", 0o600)

    assert "is not a regular file" in refusal(place)


def test_a_huge_file_is_refused(place):
    write(place, "#" * 300_000)

    assert "larger than" in refusal(place)


LOADS = """
import sys
from dibs.config.load import load
loaded = load(sys.argv[1], sys.argv[1] + "/state", {}, {})
print(loaded.config.ttl, loaded.origins["ttl"], "tomllib" in sys.modules)
"""


def load_elsewhere(place):
    ran = subprocess.run(
        [sys.executable, "-c", LOADS, str(place)], capture_output=True, text=True, check=True
    )
    return ran.stdout.split()


def test_a_file_that_has_not_changed_is_not_parsed_again(place):
    write(place, "[claims]\nttl = 60\n")

    first, second = load_elsewhere(place), load_elsewhere(place)

    assert first == ["60.0", "dibs.toml:2", "True"]
    assert second == ["60.0", "dibs.toml:2", "False"]


def test_without_a_file_nothing_is_parsed(place):
    assert load_elsewhere(place) == ["300.0", "default", "False"]


def test_a_changed_file_is_read_again(place):
    write(place, "[claims]\nttl = 60\n")
    read(place)

    write(place, "[claims]\nttl = 70\n", age=20)

    assert read(place).config.ttl == 70.0


def test_a_file_written_just_now_is_not_cached(place):
    write(place, "[claims]\nttl = 60\n", age=0)

    read(place)

    assert not (place / "state/config-cache.json").exists()


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"null", b"[]", b'{"stamp": 5}', b"\xff", b'{"stamp": [], "values": 3}']
)
def test_a_damaged_cache_is_ignored_and_rewritten(place, damage):
    write(place, "[claims]\nttl = 60\n")
    cache = place / "state/config-cache.json"
    cache.write_bytes(damage)

    assert read(place).config.ttl == 60.0
    assert json.loads(cache.read_bytes())["values"] == {"ttl": [60, 2]}


@pytest.mark.parametrize("settings", [{"ttl": [60]}, {"ttl": 5}, [1], {"ttl": [60, "x"]}])
def test_a_cache_with_another_format_is_ignored(place, settings):
    write(place, "[claims]\nttl = 60\n")
    read(place)
    cache = place / "state/config-cache.json"
    kept = json.loads(cache.read_bytes())
    cache.write_text(json.dumps({**kept, "values": settings}))

    assert read(place).config.ttl == 60.0


def test_another_version_of_dibs_reads_the_file_itself(place, monkeypatch):
    write(place, "[claims]\nttl = 60\n")
    read(place)
    cache = place / "state/config-cache.json"
    kept = json.loads(cache.read_bytes())

    assert kept["stamp"][0] == dibs.__version__

    kept["stamp"][0] = "0.0.0"
    kept["values"] = {"ttl": [99, 2]}
    cache.write_text(json.dumps(kept))

    assert read(place).config.ttl == 60.0


def test_the_cache_is_private_and_leaves_no_temporary_file(place):
    write(place, EVERYTHING)

    read(place)

    assert [file.name for file in (place / "state").iterdir()] == ["config-cache.json"]
    assert stat.S_IMODE((place / "state/config-cache.json").stat().st_mode) == 0o600


def test_without_a_state_folder_nothing_is_created(place):
    write(place, EVERYTHING)

    load(str(place), str(place / "none"), {}, {})

    assert not (place / "none").exists()


def test_an_invalid_file_is_not_cached(place):
    write(place, "[claims]\nttl = 4\n")

    refusal(place)

    assert not any((place / "state").iterdir())


def test_a_cached_setting_equals_the_one_that_was_read():
    for field in FIELDS:
        kept = json.loads(json.dumps(field.default))
        assert config._as_was(field.name, kept) == field.default
        assert type(config._as_was(field.name, kept)) is type(field.default)
