"""Fixtures: a real git repository, and commands that run in this process."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from jsonschema import Draft202012Validator

import dibs as dibs_package
from dibs.cli import main
from dibs.shapes.contract import ANSWERS, VALUES
from dibs.shapes.schema import schema

if TYPE_CHECKING:
    from collections.abc import Sequence

#: How a test starts the command as its own process.
PROGRAM = (sys.executable, "-c", "from dibs.cli import program; program()")


class Answer(NamedTuple):
    """A command's status and output."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Checked(Answer):
    """A command's status and output, and its arguments."""

    words: tuple[str, ...]

    @property
    def json(self) -> Any:
        """The answer, checked against the contract."""
        answer = json.loads(self.out)
        if (
            "--follow" not in self.words
            and "-f" not in self.words
            and "--summary" not in self.words
        ):
            check_answer(self.words, answer)
        return answer


def check_answer(words: Sequence[str], answer: Any) -> None:
    """Check an answer against its command's contract."""
    if isinstance(answer, dict) and "error" in answer and isinstance(answer["error"], dict):
        line = ANSWERS["error"]
    else:
        line = ANSWERS.get(" ".join(words[:2])) or ANSWERS.get(words[0] if words else "")
        if line and words[0] in {"merge", "run"} and "outcome" in answer:
            line = ANSWERS["claim"]  # the wait timed out
    if line:
        found = [f"{e.json_path}: {e.message}" for e in validator(line).iter_errors(answer)]
        assert found == [], (words, answer)


@cache
def validator(line: str) -> Draft202012Validator:
    defs = {name: schema(text) for name, text in VALUES.items()}
    strict = {**schema(line), "$defs": defs}
    for part in (strict, *defs.values()):
        if "properties" in part:
            part["additionalProperties"] = False
    if "properties" in strict:
        strict["properties"] |= {"as_of": {"type": "number"}}
    return Draft202012Validator(strict)


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch):
    for name in list(os.environ):
        if name.startswith(("DIBS_", "GIT_")) or name in {"NO_COLOR", "COLUMNS"}:
            monkeypatch.delenv(name)
    # Let processes in other folders use the same code.
    monkeypatch.setenv("PYTHONPATH", str(Path(dibs_package.__file__).parents[1]))


@pytest.fixture
def repo(tmp_path, monkeypatch):
    """An empty git repository, which is the current folder."""
    root = tmp_path / "repo"
    root.mkdir()
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    monkeypatch.chdir(root)
    return root


def git(*arguments, cwd=None):
    names = ["-c", "user.name=t", "-c", "user.email=t@t"]
    done = subprocess.run(
        ["git", *names, *arguments], check=True, capture_output=True, text=True, cwd=cwd
    )
    return done.stdout.strip()


@pytest.fixture
def tree(repo):
    """A repository with a commit."""
    git("checkout", "-q", "-b", "main")
    (repo / "a").write_text("a\n")
    git("add", "-A")
    git("commit", "-q", "-m", "first")
    return repo


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home folder and a PATH without any agents."""
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
        answer = Checked(status, *capsys.readouterr())
        answer.words = words
        return answer

    return call


def _with(words, named):
    mark = list(words).index("--") if "--" in words else len(words)
    return [*words[:mark], *named, *words[mark:]]


@pytest.fixture
def start(repo):
    """Start a command as its own process; kill it at the end if it still runs."""
    running = []

    def begin(*words: str, program: Sequence[str] = PROGRAM, **options: Any) -> subprocess.Popen:
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
        process = subprocess.Popen([*program, *words], **options)
        running.append(process)
        return process

    yield begin
    for process in running:
        process.terminate()  # `dibs run` forwards it
        with suppress(subprocess.TimeoutExpired):
            process.wait(5)
        process.kill()
        process.wait()
        for stream in filter(None, (process.stdin, process.stdout, process.stderr)):
            stream.close()
