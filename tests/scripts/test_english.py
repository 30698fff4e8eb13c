"""The wording check finds odd English in every kind of text, and leaves plain English alone."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def english(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("english", ROOT / "scripts/english.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    return module


def found(english, tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    return list(english.findings(path))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("page.md", "# Title\nThe file is no task.\n"),
        ("code.py", '"""Mend the line."""\n'),
        ("code.py", "x = 1  # somebody else holds it\n"),
        ("code.py", 'print("give a sign of life")\n'),
        ("code.py", 'print(f"{1} is told to {2}")\n'),
        ("test_x.py", "def test_who_is_gone_holds_nothing():\n    pass\n"),
    ],
)
def test_odd_wording_is_found_in_every_kind_of_text(english, tmp_path, name, text):
    (line,) = found(english, tmp_path, name, text)
    assert line.startswith(f"{name}:")
    assert "write" in line


def test_the_finding_names_the_line_inside_a_long_string(english, tmp_path):
    (line,) = found(english, tmp_path, "code.py", '"""Do it.\n\nIt was found out.\n"""\n')
    assert line.startswith("code.py:3:")


@pytest.mark.parametrize(
    "text",
    [
        "alice holds src/auth/** (expires in 5m unless renewed)",
        "the claim is no longer valid",
        "there is no such task",
        "because no agent is named and there is no terminal",
        "Dibs detects other writes and reports them to the owner.",
    ],
)
def test_plain_english_is_not_reported(english, tmp_path, text):
    assert found(english, tmp_path, "page.md", text) == []


@pytest.mark.parametrize("status", [0, 1])
def test_the_exit_status_says_whether_anything_was_found(english, tmp_path, status, capsys):
    (tmp_path / "page.md").write_text("It mends the file." if status else "It fixes the file.")
    assert english.main(["page.md"]) == status
    assert ("page.md:1" in capsys.readouterr().out) == bool(status)
