"""``make soak`` runs what ``make test`` does only a part of, and says what it did not reach."""

import time
from types import SimpleNamespace

import pytest

from scripts import soak

TESTS = {
    "test_good.py": "from tests.soak import SOAK\n\ndef test_one(): assert SOAK\n",
    "test_bad.py": "from tests.soak import SOAK\n\ndef test_two(): assert not SOAK\n",
    "test_broken.py": "from tests.soak import MISSING\n",
    "test_other.py": "def test_three(): assert False\n",
}
ENDLESS = """
from tests.soak import SOAK
import time

def test_four(): pass

def test_five(): time.sleep(300)
"""


@pytest.fixture
def tests(tmp_path, monkeypatch):
    monkeypatch.setattr(soak, "ROOT", tmp_path)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/soak.py").write_text("import os\n\nSOAK = os.environ['DIBS_SOAK'] == '1'\n")
    return tmp_path / "tests"


def test_it_runs_the_files_that_have_more_to_do_and_names_what_failed(tests, capsys):
    for name, text in TESTS.items():
        (tests / name).write_text(text)

    assert soak.main([]) == 1

    said = capsys.readouterr().out
    assert "(3 of 3 files)" in said
    assert "1 passed, 2 failed" in said
    assert "failed: tests/test_bad.py::test_two\n" in said
    assert "failed: tests/test_broken.py\n" in said


def test_at_the_time_limit_it_stops_and_lists_what_was_not_reached(tests, capsys, monkeypatch):
    log = tests.parent / "build/soak/tests-test_endless.py.log"
    over = lambda: 601.0 if log.exists() and "PASSED" in log.read_text() else 0.0  # noqa: E731
    monkeypatch.setattr(soak, "time", SimpleNamespace(monotonic=over, sleep=time.sleep))
    monkeypatch.setattr(soak.os, "cpu_count", lambda: 1)
    (tests / "test_endless.py").write_text(ENDLESS)
    (tests / "test_later.py").write_text(TESTS["test_good.py"])

    assert soak.main(["--minutes", "10"]) == 0

    said = capsys.readouterr().out
    assert "1 passed, 0 failed" in said
    assert "not reached: 1 of 2 tests in tests/test_endless.py" in said
    assert "not reached: tests/test_later.py" in said
