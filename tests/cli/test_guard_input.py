"""Bad input for what guards agents: init, hook, doctor, serve, mcp.

Whatever is typed: the answer is one clear line with a stable code, no trace of Python, and nothing happened.
"""

import io
import json
import os
import sys

import pytest

from dibs.cli import main

LONG = "x" * 20_000
#: Values that no one types on purpose.
HOSTILE = (
    "", "  ", "\n", "-", "--", LONG, "\u00e9" * 300, "\x1b[31m", "\u202e", "\udcff", "../x", "/etc/passwd",
    "*", "[", ",", ",,", "CLAUDE", "claude codex", "claude;codex", "auto,claude", "none,none", "nan", "inf",
    "-5", "1e400", "65536", "99999999999999999999", "\u0663", "\U0001f4a5", "CON", "%s", "{}", "'; --",
    "__proto__", "0x1F",
)  # fmt: skip


@pytest.fixture
def ground(repo, tmp_path, monkeypatch):
    """A repository without agents."""
    monkeypatch.setattr("sys.stdin", io.StringIO())
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(home))
    return repo


def files(root):
    return sorted(os.path.join(at, name) for at, _, names in os.walk(root) for name in names)


@pytest.mark.parametrize("place", ["hook BAD", "hook claude BAD", "hook BAD preToolUse"])
def test_a_hook_with_any_name_blocks_with_one_line_or_answers(ground, capsys, place):
    for bad in HOSTILE:
        for given in (b"", b"{}", b"[1]", b"\xff", b'{"hook_event_name": "PreToolUse"}'):
            sys.stdin = io.TextIOWrapper(io.BytesIO(given))
            status = main([word.replace("BAD", bad) for word in place.split()])
            out, err = capsys.readouterr()
            assert status in {0, 2, 64}, (bad, given, err)
            assert not [c for c in out + err if not c.isprintable() and c != "\n"], bad
            assert len(err.splitlines()) <= 1, (bad, given, err)
            if out:
                json.loads(out)


CASES = [
    (("init", "--agents", ""), 64, "names no agent (use auto, none, or a list: claude,codex)"),
    (("init", "--agents", " , "), 64, "names no agent"),
    (("init", "--agents", "claude,none"), 64, "--agents none cannot be combined"),
    (("init", "--agents", "auto,claude"), 64, "--agents auto cannot be combined"),
    (("init", "--agents", "cluade"), 64, "did you mean 'claude'?"),
    (("init", "--agents", "vim"), 64, "agents are claude, codex,"),
    (("init", "--agents"), 64, "--agents needs a value"),
    (("init", "--agents", "claude", "--agents", "codex"), 64, "--agents given more than once"),
    (("init", "claude"), 64, "unexpected argument 'claude'"),
    (("hook",), 64, "AGENT"),
    (("hook", "claude", "PreToolUse", "more"), 64, "unexpected argument 'more'"),
    (("serve", "strat"), 64, "did you mean 'start'?"),
    (("token", "revoke", LONG), 6, "no token"),
    (("mcp", LONG), 64, "…"),
    (("doctor", "--porve"), 64, "did you mean '--prove'?"),
]


@pytest.mark.parametrize(("words", "status", "said"), CASES, ids=lambda case: str(case)[:40])
def test_wrong_usage_gets_one_line_with_a_hint(ground, capsys, words, status, said):
    assert main(list(words)) == status
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert len(err.splitlines()) == 1
    assert not (ground / ".git" / "dibs").exists()
