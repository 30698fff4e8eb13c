"""Handlers of events that an installed Python package provides."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from tests.server.conftest import until
from tests.server.test_pipeline import BOB, Crew

from dibs.core.claims.ledger import Entry, Kind
from dibs.services.pipeline.entry_points import PythonHandler, installed
from dibs.services.pipeline.handlers import HandlerFailed

CODE = """
import json, os, subprocess, sys, time

def note(event, root):
    print("this is printed")
    read = subprocess.run(["cat"], capture_output=True, timeout=10).stdout.decode() + sys.stdin.read()
    facts = {"kind": event["kind"], "key": event["key"], "root": root, "cwd": os.getcwd(), "read": read}
    with open(os.environ["NOTES"], "a") as file:
        file.write(json.dumps({**facts, "pid": os.getpid()}) + "\\n")

def fail(event, root):
    raise ValueError("no \\x1b[31mred")

def leave(event, root):
    sys.exit(0)

def hang(event, root):
    time.sleep(600)
"""
POINTS = """[dibs.handlers]
lock_acquired.note = dibs_test_package:note
lock_released.fail = dibs_test_package:fail
lock_denied.leave = dibs_test_package:leave
lock_denied.hang = dibs_test_package:hang
lock_denied.gone = dibs_test_package:nothing
no_such_kind.note = dibs_test_package:note
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """An installed package; return the file in which its function writes."""
    about = tmp_path / "site" / "dibs_test_package-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: dibs-test-package\nVersion: 1.0\n"
    )
    (about / "entry_points.txt").write_text(POINTS)
    (tmp_path / "site" / "dibs_test_package.py").write_text(CODE.replace("\\\\", "\\"))
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
    monkeypatch.setenv("NOTES", str(tmp_path / "notes"))
    return tmp_path / "notes"


@pytest.fixture
def call(package, tmp_path):
    """Call an entry point with one event."""
    made = []

    def once(name, timeout=30.0):
        made.append(PythonHandler(name, str(tmp_path), stopping=lambda: False, timeout=timeout))
        made[-1].handle(
            f"python.{name}", Entry(7, 0.0, "bob", "agent", Kind.LOCK_DENIED, "denied", {})
        )

    yield once
    for one in made:
        one.close()


def test_a_function_gets_each_event_of_its_kind_in_one_process(resident, package):
    crew = Crew(resident)
    crew.start()
    for name in ("a.py", "b.py"):
        crew.project.claims.claim(BOB, [crew.project.pattern(name)])
    until(lambda: package.exists() and package.read_text().count("\n") == 2)

    notes = [json.loads(line) for line in package.read_text().splitlines()]

    assert {(one["kind"], one["root"], one["cwd"], one["read"]) for one in notes} == {
        ("lock_acquired", str(crew.repo), str(crew.repo), "")
    }
    assert len({one["key"] for one in notes}) == 2
    (pid,) = {one["pid"] for one in notes}
    assert pid != os.getpid()
    view = crew.view("python.lock_acquired.note")
    assert (view.handler.source, view.failing) == ("entry point", "")
    crew.pipeline.stop()
    assert not Path(f"/proc/{pid}").exists()


def test_only_entry_points_for_kinds_of_events_are_handlers(package):
    ours = [name for name, _ in installed()]

    assert "lock_acquired.note" in ours
    assert "no_such_kind.note" not in ours


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("lock_released.fail", "ValueError: no "),
        ("lock_denied.leave", "its process ended"),
        ("lock_denied.gone", "AttributeError: "),
        ("lock_denied.none", "LookupError: no entry point lock_denied.none"),
    ],
)
def test_a_function_that_raises_exits_or_is_missing_has_failed(call, name, why):
    with pytest.raises(HandlerFailed) as failed:
        call(name)

    assert str(failed.value).startswith(why)
    assert "\x1b" not in "".join([str(failed.value), *failed.value.output])


def test_a_function_that_does_not_return_is_ended(call):
    with pytest.raises(HandlerFailed, match="timed out after"):
        call("lock_denied.hang", timeout=0.5)
