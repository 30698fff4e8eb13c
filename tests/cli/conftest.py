"""A real git repository to stand in, and the command line called in this process."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

import dibs as dibs_package
from dibs.cli import main

if TYPE_CHECKING:
    from collections.abc import Sequence

#: How a test starts the command as a process of its own.
PROGRAM = (sys.executable, "-c", "from dibs.cli import program; program()")


class Answer(NamedTuple):
    """What a command answered."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch):
    for name in list(os.environ):
        if name.startswith(("DIBS_", "GIT_")) or name in {"NO_COLOR", "COLUMNS"}:
            monkeypatch.delenv(name)
    # A process that is started elsewhere finds the same code.
    monkeypatch.setenv("PYTHONPATH", str(Path(dibs_package.__file__).parents[1]))


@pytest.fixture
def repo(tmp_path, monkeypatch):
    """An empty git repository, which is the current folder."""
    root = tmp_path / "repo"
    root.mkdir()
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def home(tmp_path, monkeypatch):
    """No agent is installed here, whoever runs the tests."""
    place = tmp_path / "home"
    place.mkdir()
    monkeypatch.setenv("HOME", str(place))
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("git", "sh"):
        (tools / name).symlink_to(shutil.which(name))
    monkeypatch.setenv("PATH", str(tools))
    return place


@pytest.fixture
def dibs(repo, capsys):
    """Call a command in this process, as an agent or as the human."""

    def call(*words: str, agent: str = "") -> Answer:
        capsys.readouterr()
        named = ["--agent", agent] if agent else []
        status = main([words[0], *_with(words[1:], named)])
        return Answer(status, *capsys.readouterr())

    return call


def _with(words, named):
    mark = list(words).index("--") if "--" in words else len(words)
    return [*words[:mark], *named, *words[mark:]]


@pytest.fixture
def start(repo):
    """Start a command as a process of its own; whatever still runs at the end is killed."""
    running = []

    def begin(*words: str, program: Sequence[str] = PROGRAM, **options: Any) -> subprocess.Popen:
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
        process = subprocess.Popen([*program, *words], **options)
        running.append(process)
        return process

    yield begin
    for process in running:
        process.terminate()  # `dibs run` passes it on
        with suppress(subprocess.TimeoutExpired):
            process.wait(5)
        process.kill()
        process.wait()
        for stream in filter(None, (process.stdin, process.stdout, process.stderr)):
            stream.close()
