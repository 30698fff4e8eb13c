"""Which modules a command loads, because that decides how fast it starts."""

from __future__ import annotations

import subprocess
import sys

import pytest

#: Modules that are too slow to import for a command that runs at every edit.
HEAVY = {
    "asyncio", "rich", "msgspec", "dataclasses", "subprocess", "pathlib", "tomllib", "logging",
    "inspect", "socket", "threading", "random", "secrets", "hashlib", "uuid", "tempfile", "shutil",
    "datetime", "importlib.metadata", "locale", "bz2", "lzma",
}  # fmt: skip


def loaded(*words: str) -> set[str]:
    """Return the modules that a command has loaded."""
    code = (
        "import sys; before = set(sys.modules); from dibs.cli import main; main(sys.argv[1:]);"
        "print(*(set(sys.modules) - before), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=True
    )
    return set(done.stderr.split())


@pytest.mark.parametrize("words", [("claim", "a"), ("claim", "a", "--json"), ("release", "--all")])
def test_a_claim_loads_nothing_heavy(repo, words):
    (repo / "a").touch()
    loaded(*words)  # the first call creates the store

    modules = loaded(*words)

    assert "dibs.engines.sqlite.engine" in modules
    assert modules & HEAVY == set()


def test_a_claim_loads_no_other_command(repo):
    (repo / "a").touch()
    modules = {name for name in loaded("claim", "a", "--json") if name.startswith("dibs.cli.")}

    assert modules == {
        "dibs.cli.commands",
        "dibs.cli.commands.claim",
        "dibs.cli.support",
        "dibs.cli.support.parsing",
        "dibs.cli.support.session",
    }


@pytest.mark.parametrize("words", [("help",), ("--version",), ()])
def test_help_loads_neither_parser_nor_engine_nor_json(repo, words):
    modules = loaded(*words)

    assert modules & {"argparse", "apsw", "json", "typing", *HEAVY} == set()
    assert {name for name in modules if name.startswith("dibs")} <= {
        "dibs",
        "dibs.cli",
        "dibs.cli.support",
        "dibs.cli.support.help",
        "dibs.errors",
    }


def test_status_does_not_load_rich(repo):
    assert "rich" not in loaded("status")


def test_taking_a_task_loads_no_yaml_parser_and_no_other_subcommand(repo):
    loaded("task", "new", "Audit the docs")
    loaded("task", "new", "Polish the pages")

    modules = loaded("task", "take", "--json", "--agent", "bob")

    assert "dibs.services.tasks.take" in modules
    assert not {name for name in modules if name.startswith("ruamel")}
    assert modules & (HEAVY - {"hashlib"}) == set()
    verbs = {name for name in modules if name.startswith("dibs.cli.commands.task.")}
    assert verbs == {"dibs.cli.commands.task.take"}
    assert "dibs.services.tasks.hand_edits" not in modules
