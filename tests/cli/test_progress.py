"""Progress of long operations."""

import io

import pytest

from dibs.cli.support import progress
from dibs.cli.support.progress import Progress, line


class Terminal(io.StringIO):
    """A terminal that remembers what was printed."""

    def isatty(self):
        return True


def use_terminal(monkeypatch):
    """Return a terminal as stderr; in a fixture, pytest would replace it again."""
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    return screen


@pytest.mark.parametrize("columns", [10, 20, 40, 80, 200])
@pytest.mark.parametrize("done", [0, 5, 1000])
def test_a_progress_bar_fits_the_terminal(columns, done):
    assert len(line("copying rows", done, 1000, 0.0, columns)) < columns


def test_a_progress_bar_shows_how_much_is_done():
    assert line("copying rows", 5, 10, 0.0, 80) == f"copying rows [{'#' * 15}{'-' * 15}] 5/10"


def test_an_operation_without_numbers_shows_the_time_that_has_passed():
    assert line("testing agent/zoe", 0, 0, 65.0, 80) == "testing agent/zoe (1m5s)"


def test_a_terminal_shows_a_bar_and_erases_it_at_the_end(monkeypatch):
    terminal = use_terminal(monkeypatch)
    with Progress(delay=0) as shown:
        shown("copying rows", 1, 2)

    assert "copying rows [" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_a_fast_operation_shows_no_bar(monkeypatch):
    terminal = use_terminal(monkeypatch)
    with Progress() as shown:
        shown("copying rows", 1, 2)

    assert terminal.getvalue() == ""


@pytest.mark.parametrize("files", [1, 3])
def test_a_board_command_on_many_files_shows_a_bar_on_a_terminal(monkeypatch, dibs, repo, files):
    inbox = repo / "work" / "inbox"
    inbox.mkdir(parents=True)
    for number in range(files):
        (inbox / f"task-{number}.yaml").write_text("title: Audit\n")
    monkeypatch.setattr("dibs.workdir.disk.MANY_FILES", 2)
    monkeypatch.setitem(Progress.__init__.__kwdefaults__, "delay", 0.0)
    terminal = use_terminal(monkeypatch)

    dibs("orchestrate")

    assert ("reading task files [" in terminal.getvalue()) == (files > 1)
    assert terminal.getvalue().endswith("\r\x1b[K") == (files > 1)


@pytest.mark.parametrize("dumb", [True, False])
def test_without_a_capable_terminal_progress_is_a_line_now_and_then(monkeypatch, dumb):
    terminal = use_terminal(monkeypatch)
    if dumb:
        monkeypatch.setenv("TERM", "dumb")
    else:
        monkeypatch.setattr(terminal, "isatty", lambda: False)
    monkeypatch.setattr(progress, "_LINE", 0.0)

    with Progress(delay=0) as shown:
        shown("copying rows", 1, 2)

    assert terminal.getvalue() == "dibs: copying rows: 1 of 2\n"
