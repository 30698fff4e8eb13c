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
waiter_ttl = 20
max_hold = "6h"
idle_takeover = "1h"
wait = "1m"
broad = "allow"

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
        *(
            "memory:",
            600.0,
            60.0,
            20.0,
            21600.0,
            3600.0,
            60.0,
            "allow",
            "",
            "sensitive",
            500,
            "all",
            "full",
            2.5,
        )
    )
    assert loaded.origins["engine"] == "dibs.toml:1"
    assert loaded.origins["ttl"] == "dibs.toml:4"
    assert loaded.origins["ledger_limit"] == "dibs.toml:16"
    assert loaded.origins["preset"] == "default"


def test_flags_override_variables_and_variables_override_the_file(place):
    write(place, '[claims]\nttl = "10m"\nwait = 1\nbroad = "allow"\n')

    loaded = read(place, {"DIBS_TTL": "20m", "DIBS_WAIT": "2"}, ttl="30m", wait=None)

    assert (loaded.config.ttl, loaded.origins["ttl"]) == (1800.0, "--ttl")
    assert (loaded.config.wait, loaded.origins["wait"]) == (2.0, "DIBS_WAIT")
    assert (loaded.config.broad, loaded.origins["broad"]) == ("allow", "dibs.toml:4")


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
    write(place, "[claims]\nwait = 5\n")

    loaded = read(place, wait=0)

    assert (loaded.config.wait, loaded.origins["wait"]) == (0.0, "--wait")


def test_each_field_has_a_variable(place):
    environ = {
        "DIBS_ENGINE": "memory:",
        "DIBS_TTL": "1h",
        "DIBS_HEARTBEAT": "20",
        "DIBS_WAITER_TTL": "10",
        "DIBS_MAX_HOLD": "1d",
        "DIBS_IDLE_TAKEOVER": "2h",
        "DIBS_WAIT": "5",
        "DIBS_BROAD": "allow",
        "DIBS_PRESET": "fast",
        "DIBS_CASE": "sensitive",
        "DIBS_LEDGER_LIMIT": "200",
        "DIBS_LEDGER_FILES": "edits",
        "DIBS_SYNCHRONOUS": "full",
        "DIBS_TIMEOUT": "1",
        "DIBS_PROJECT": "shop",
        "DIBS_REDIS_REPLICAS": "2",
        "DIBS_GIT_BRANCH": "agents/state",
        "DIBS_GIT_POLL": "2s",
        "DIBS_GIT_LOCK_AGE": "1h",
        "DIBS_BOARD_EVERY": "5m",
        "DIBS_SALVAGE_KEEP": "30d",
        "DIBS_MAIL_RATE": "5",
        "DIBS_MAIL_KEEP": "1d",
        "DIBS_LADDER_ASK": "0",
        "DIBS_LADDER_ESCALATE": "1h",
        "DIBS_DECIDE_CONFIRM": "dependency, tool_access",
        "DIBS_DECIDE_ALLOW": "style",
        "DIBS_DECIDE_DENY": "dependency",
        "DIBS_DECIDE_DEADLINE": "5m",
        "DIBS_BRIEF_TOKENS": "500",
        "DIBS_GUARD_AUTO_CLAIM": "off",
        "DIBS_GUARD_FREE": "build/, *.log",
        "DIBS_GUARD_HUMAN": "deploy/",
        "DIBS_GUARD_HOT": "**/go.sum",
        "DIBS_GUARD_HOT_TTL": "10s",
        "DIBS_GUARD_HOT_WAIT": "1s",
        "DIBS_GUARD_READS": "true",
        "DIBS_GUARD_PEOPLE": "refuse",
        "DIBS_GUARD_ON_ERROR": "allow",
        "DIBS_GUARD_DEADLINE": "1s",
        "DIBS_GUARD_DAEMON": "true",
        "DIBS_BOARD_FOLDER": "plan/work",
        "DIBS_BOARD_COMMIT": "true",
        "DIBS_BOARD_PUSH": "true",
        "DIBS_BOARD_ATTEMPTS": "5",
        "DIBS_BOARD_TIMEOUT": "1h",
        "DIBS_BOARD_STUCK": "error",
        "DIBS_BOARD_ARCHIVE_AFTER": "7d",
        "DIBS_BOARD_CLAIM": "True",
        "DIBS_BOARD_LOGS": "false",
        "DIBS_COMMIT_GUARDED": "anyone",
        "DIBS_GATE_UNCLAIMED": "deny",
        "DIBS_GATE_ON_ERROR": "allow",
        "DIBS_WORKTREE_FOLDER": "../trees",
        "DIBS_WORKTREE_SETUP": "npm ci",
        "DIBS_WORKTREE_COPY": ".env, conf/local.toml",
        "DIBS_WORKTREE_LINK": "node_modules/",
        "DIBS_WORKTREE_CLAIMS": "worktree",
        "DIBS_WORKTREE_PORT": "5000",
        "DIBS_WORKTREE_PORTS": "5",
        "DIBS_MERGE_INTO": "trunk",
        "DIBS_MERGE_TEST": "make test",
        "DIBS_MERGE_TEST_TIMEOUT": "10m",
        "DIBS_MERGE_SCOPE": "warn",
        "DIBS_FORECAST_EVERY": "1m",
        "DIBS_HANDLERS_ON": '[{"event": "commit", "command": ["make"], "timeout": "1m"}]',
        "DIBS_HANDLERS_TESTS": "false",
        "DIBS_HANDLERS_SUMMARY": "human",
        "DIBS_ALERTS_OFF": "stuck_agent",
        "DIBS_ALERTS_STUCK": "20m",
        "DIBS_ALERTS_MODEL_CALL": "40m",
        "DIBS_ALERTS_CONTEXT_WARNING": "70",
        "DIBS_ALERTS_CONTEXT_CRITICAL": "80",
        "DIBS_ALERTS_IDLE": "2m",
        "DIBS_ALERTS_DECISION": "20m",
        "DIBS_ALERTS_CONVOY_WAITERS": "7",
        "DIBS_ALERTS_CONVOY_WAIT": "9m",
        "DIBS_ALERTS_CLAIM": "3h",
        "DIBS_ALERTS_EDITS": "4m",
        "DIBS_ALERTS_QUIET": "8m",
        "DIBS_NOTIFY_DESKTOP": "true",
        "DIBS_NOTIFY_WEBHOOK": "https://hooks.example/dibs",
        "DIBS_NOTIFY_SEVERITY": "critical",
        "DIBS_SERVER_AUTO": "true",
    }

    loaded = read(place, environ)

    assert set(loaded.origins.values()) == set(environ)
    assert loaded.config == Config(
        *(
            "memory:",
            3600.0,
            20.0,
            10.0,
            86400.0,
            7200.0,
            5.0,
            "allow",
            "fast",
            "sensitive",
            200,
            "edits",
            "full",
            1.0,
        ),
        *("shop", 2, "agents/state", 2.0, 3600.0),
        *("plan/work", True, True, 5, 3600.0, "error", 604800.0, True, False, 300.0),
        *("anyone", "deny", "allow", "../trees", "npm ci"),
        *((".env", "conf/local.toml"), ("node_modules",)),
        *("worktree", 5000, 5, "trunk", "make test", 600.0, "warn", 60.0, 2592000.0),
        *(
            5,
            86400.0,
            0.0,
            3600.0,
            ("dependency", "tool_access"),
            ("style",),
            ("dependency",),
            300.0,
            *(("stuck_agent",), 1200.0, 2400.0, 70, 80, 120.0, 1200.0, 7, 540.0, 10800.0, 240.0),
            *(480.0, True, "https://hooks.example/dibs", "critical"),
            500,
        ),
        *("off", ("build/", "*.log"), ("deploy/",), ("**/go.sum",)),
        *(10.0, 1.0, True, "refuse", "allow", 1.0, True, True),
        handlers_on=('{"event":"commit","command":["make"],"timeout":60.0,"retries":2}',),
        handlers_tests=False,
        handlers_summary="human",
    )


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
        ("[claims]\nwait = '2h'\n", ("dibs.toml:2: invalid wait", "from 0s to 1h")),
        ("[claims]\nmax_hold = 1\n", ("dibs.toml:2: invalid max_hold", "from 1m to 30d")),
        ("[claims]\nbroad = 'alow'\n", ('must be "deny" or "allow"', "mean 'allow'?")),
        ("[claims]\nbroad = true\n", ("dibs.toml:2: invalid broad",)),
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
