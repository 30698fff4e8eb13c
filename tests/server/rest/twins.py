"""Two projects in the same state: one gets requests, the other commands, and the answers must be the same."""

from __future__ import annotations

import difflib
import io
import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from jsonschema import Draft202012Validator
from starlette.testclient import TestClient
from tests.server.rest.conftest import ADMIN, agent, as_identity

from dibs.cli import main
from dibs.local.identity import acting_agent
from dibs.server.rest.app import PREFIX, ROUTES, rest_app
from dibs.shapes.contract import ANSWERS, VALUES
from dibs.shapes.schema import schema

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

#: Values that differ between two runs: times, ages, and what is made from them.
_MOMENTS = {
    "at", "since", "created_at", "assigned_at", "started_at", "completed_at", "expires_at",
    "expires_in", "silent_for", "made", "committed_at", "read", "acked", "due", "last_seen",
    "started", "transaction_ms", "view_ms", "decided_at", "deadline", "now", "digest", "token",
}  # fmt: skip
_WORDS = (
    (re.compile(r"\b[0-9a-f]{40}\b"), "HASH"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:?\d\d(:?\d\d)?(\.\d+)?Z?"), "TIME"),
    (re.compile(r"\d{8}T\d{6}Z"), "TIME"),
    (re.compile(r"\bdata-[0-9a-f]{8}\b"), "data-NONCE"),
    (re.compile(r"\b[cmd]\d+\b"), "ID"),
    (re.compile(r"\b\d\d:\d\d:\d\d\b"), "TIME"),
    (re.compile(r"\bhuman[-\w]*"), "human"),
    (re.compile(r"\b(expires|reply) (in|within) [\dms]+"), r"\1 \2 SPAN"),
)


class Step(NamedTuple):
    """One request and the command that does the same; ``CALL`` is ``METHOD /path``."""

    who: str
    words: tuple[str, ...]
    call: str
    body: Any = None
    status: int = 200
    exit_status: int = 0
    #: Under which name to remember the id in the answers; ``{name}`` is then replaced in later steps.
    keep: str = ""


class Twins(NamedTuple):
    """The two projects."""

    app: Any
    asked: Path
    typed: Path
    #: Remembered ids: of the answer to the request, and of that to the command.
    ids: dict[str, tuple[str, str]]
    resident: Any

    def client(self, who: str) -> TestClient:
        return self.client_of(agent(who) if who else ADMIN)

    def client_of(self, identity: Any) -> TestClient:
        return TestClient(as_identity(self.app, identity), base_url="http://127.0.0.1")

    def ask(self, step: Step) -> Any:
        """Send the request, and return its answer after checking status and shape."""
        method, path = step.call.split(" ", 1)
        path = PREFIX + self.named(path, 0)
        more = {} if step.body is None else {"json": self.named(step.body, 0)}
        answer = self.client(step.who).request(method, path, **more)
        assert answer.status_code == step.status, (step, answer.text)
        if "error" not in answer.json():
            check_shape(route_of(method, path), answer.json())
        return answer.json()

    def type(self, step: Step) -> Any:
        """Run the command, and return its answer."""
        words = [self.named(word, 1) for word in step.words]
        status, out = typed_in(self.typed, [*words, "--json"], step.who)
        assert status == step.exit_status, (step, out)
        return json.loads(out)

    def both(self, who: str, *words: str) -> None:
        """Run a command in both projects, to bring them into a state."""
        for folder in (self.asked, self.typed):
            status, out = typed_in(folder, words, who)
            assert status == 0, out

    def write(self, name: str, content: bytes) -> None:
        """Write a file in both projects."""
        for folder in (self.asked, self.typed):
            path = os.path.join(os.fsencode(folder), os.fsencode(name))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(content)

    def same(self, step: Step) -> Any:
        """Do both, and compare; return the answer to the request."""
        told = self.ask(step)
        said = self.type(step)
        if step.keep:
            self.ids[step.keep] = (id_in(told), id_in(said))
        ours, theirs = (
            json.dumps(plain(*one), indent=1, sort_keys=True).splitlines()
            for one in ((told, self.asked), (said, self.typed))
        )
        assert ours == theirs, "\n".join([str(step), *difflib.unified_diff(ours, theirs, n=1)])
        return told

    def named(self, value: Any, which: int) -> Any:
        """Replace the names of ids."""
        if isinstance(value, str):
            return re.sub(r"\{(\w+)\}", lambda m: self.ids[m[1]][which], value)
        if isinstance(value, dict):
            return {key: self.named(item, which) for key, item in value.items()}
        return [self.named(one, which) for one in value] if isinstance(value, list) else value


def id_in(answer: Any) -> str:
    """Return the id in an answer."""
    return answer.get("id") or answer["decision"]["id"]


def typed_in(folder: Path, words: Sequence[str], who: str = "") -> tuple[int, str]:
    """Run a command in this process, as an agent or as the human; return its status and its output."""
    out = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", out)
        if who:
            patch.setenv("DIBS_AGENT", who)
        status = main([*words, "--repo", str(folder)])
    return status, out.buffer.getvalue().decode()


#: What only a page needs: the text of a task, and the caller's moves.
_FOR_PAGES = ("moves", "closed", "description")


def plain(value: Any, root: Path) -> Any:
    """Return an answer without what differs between two projects."""
    if isinstance(value, dict):
        if isinstance(value.get("error"), dict):
            return {"error": {key: value["error"][key] for key in ("code", "field")}}
        return {
            key: None if key in _MOMENTS and item else plain(item, root)
            for key, item in value.items()
            if key not in {"next_cursor", "as_of", *_FOR_PAGES}
        }
    if isinstance(value, list):
        found = [plain(item, root) for item in value]
        if found and isinstance(found[0], dict) and "created_at" in found[0]:
            found.sort(key=lambda task: task["id"])  # a second may begin in between
        return found
    if isinstance(value, str):
        value = value.replace(str(root), "ROOT").replace(acting_agent(None, {}).id, "human")
        for pattern, word in _WORDS:
            value = pattern.sub(word, value)
    return value


def route_of(method: str, path: str) -> Any:
    """Return the route of a request."""
    bare = path.removeprefix(PREFIX).partition("?")[0]
    for route in sorted(ROUTES, key=lambda one: "{" in one.path):
        shape = re.sub(r"\{\w+:path\}", ".+", route.path)
        if route.method == method and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", shape), bare):
            return route
    raise AssertionError(path)


def check_shape(route: Any, answer: Any) -> None:
    """Check that an answer has exactly the fields of its contract."""
    line = ANSWERS.get(route.tells, route.tells)
    defs = {name: schema(text) for name, text in VALUES.items()}
    strict = {**schema(line), "$defs": defs}
    for part in (strict, *defs.values()):
        if "properties" in part:
            part["additionalProperties"] = False
    if "properties" in strict:
        strict["properties"] |= {"as_of": {"type": "number"}}
        if "cursor" in route.takes.__struct_fields__:
            strict["properties"] |= {"next_cursor": {"type": ["string", "null"]}}
            strict["required"] = [*strict["required"], "next_cursor"]
    found = [
        f"{e.json_path}: {e.message}" for e in Draft202012Validator(strict).iter_errors(answer)
    ]
    assert found == [], (route.name, answer)


def twins_at(base: Path, *, only: bool = False) -> Twins:
    """Return two new projects, or one, and the application that serves the first one."""
    from dibs.server.resident import Resident

    asked = _project(base / "asked" / "shop")
    typed = asked if only else _project(base / "typed" / "shop")
    resident = Resident(str(base / "server"))
    resident.projects.add(str(asked))
    return Twins(rest_app(resident), asked, typed, {}, resident)


def _project(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "a.py").write_text("a\n")
    (folder / ".gitignore").write_text("trees/\n")
    subprocess.run(["git", "init", "-q", "-b", "main", folder], check=True)
    status, out = typed_in(folder, ["init", "--yes", "--agents", "none", "--no-git-gates"])
    assert status == 0, out
    for words in (["add", "-A"], ["commit", "-q", "-m", "begin"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder
