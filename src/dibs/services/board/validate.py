"""Looking into files of tasks: what is wrong with them, and bringing them into the one spelling.

Paths are as the caller named them; a message about one can so be clicked.
"""

from __future__ import annotations

import os
import re

from dibs.core.tasks.rules import ASSIGNED, DONE, INBOX, folder_of
from dibs.errors import BadInput
from dibs.services.board.report import HALF_WRITTEN
from dibs.startup.records import Record
from dibs.workdir.scan import ENDINGS, MAX_FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dibs.core.claims.agents import Caller
    from dibs.services.board.board import Board
    from dibs.services.tasks.values import HandEditVerdict

#: How files end that are tasks, or that people and editors keep beside them.
_OTHERS = (*ENDINGS, ".md", "~", ".tmp", ".swp", ".bak", ".orig")
#: The words of a line that can be ids.
_WORD = re.compile(r"[\w.-]+")


class FileFinding(Record):
    """One thing to say about a file."""

    file: str
    line: int
    field: str
    code: str
    message: str
    #: Whether the file cannot be used because of it.
    fatal: bool = True

    def __str__(self) -> str:
        """Return it on one line, in the form by which editors jump to the place."""
        field = f"{self.field}: " if self.field else ""
        note = "" if self.fatal else " (only noted)"
        return f"{self.file}:{self.line or 1}: {field}{self.message}{note}"


class Formatted(Record):
    """What was, or would be, changed in a file to bring it into the one spelling."""

    file: str
    changes: list[str]


def board_files(folder: str) -> list[str]:
    """Return the files of the board that daily work is about, in order, as paths from here."""
    names = _names(folder)
    return [path for path, name in names if name.endswith(ENDINGS) and name[0] != "."]


def other_files(folder: str) -> Iterator[FileFinding]:
    """Yield a note on each file among the tasks that is none by its name.

    Pages for readers, hidden files and what editors leave are not mistakes.
    """
    for path, name in _names(folder):
        if not name.lower().endswith(_OTHERS) and name[0] not in ".#":
            message = "is not looked at: the file of a task ends in .yaml"
            yield FileFinding(path, 0, "", "TASK_NAME", message, fatal=False)


def _names(folder: str) -> Iterator[tuple[str, str]]:
    """Yield path and name of each file in the folders of daily work."""
    for part in (INBOX, ASSIGNED, DONE):
        for place, folders, names in os.walk(os.path.join(folder, part)):
            folders.sort()
            yield from ((os.path.relpath(os.path.join(place, n)), n) for n in sorted(names))


def check_file(path: str, folder: str) -> Iterator[FileFinding]:
    """Read one file and yield what there is to say; in the board's ``folder`` its place counts too."""
    from dibs.services.tasks.hand_edit_rules import line_of
    from dibs.taskfile.reading import read

    try:
        content = _content(path)
    except BadInput as error:
        yield FileFinding(path, 0, error.field, error.code, error.message)
        return
    reading = read(content, os.path.basename(path))
    for remark in reading.remarks:
        yield FileFinding(
            path, remark.line, remark.field, remark.code, remark.message, remark.fatal
        )
    if reading.task is not None:
        if not content.endswith(b"\n"):
            line = content.count(b"\n") + 1
            yield FileFinding(path, line, "", "TASK_PARTIAL", HALF_WRITTEN)
        place = os.path.relpath(os.path.dirname(os.path.abspath(path)), folder)
        right = folder_of(reading.task.status, reading.task.agent)
        if place.split(os.sep)[0] in {INBOX, ASSIGNED, DONE} and place != right:
            message = f"{reading.task.status} belongs into {right}/, the file lies in {place}/"
            yield FileFinding(
                path, line_of(reading.text, "status"), "status", "TASK_MISMATCH", message
            )


def check_board(board: Board, caller: Caller) -> Iterator[FileFinding]:
    """Yield all that is wrong with the board: files, moves that are not allowed, and dependencies."""
    found = [item for path in board_files(board.path) for item in check_file(path, board.path)]
    with board.command(caller, reads=True, thorough=True) as report:
        aside = refused(report.aside, board.path)
    yield from found
    named = {(item.file, item.code) for item in found}
    yield from (item for item in aside if (item.file, item.code) not in named)
    yield from other_files(board.path)
    yield from _dependencies(board)


def refused(verdicts: Iterable[HandEditVerdict], folder: str) -> list[FileFinding]:
    """Return what there is to say about files that are set aside."""
    return [FileFinding(_file_of(v, folder), v.line, v.field, v.code, v.message) for v in verdicts]


def _file_of(verdict: HandEditVerdict, folder: str) -> str:
    """Return the path of a file from here; a verdict names it without its ending."""
    base = os.path.join(os.path.relpath(os.path.join(folder, verdict.place)), verdict.id)
    return next((base + end for end in ENDINGS if os.path.lexists(base + end)), base)


def _dependencies(board: Board) -> Iterator[FileFinding]:
    """Yield each circle of tasks that wait for each other, and each dependency that is not known."""
    from dibs.core.tasks.graph import UNKNOWN, circle_text
    from dibs.services.state.tasks import several
    from dibs.services.tasks.views import whole_graph

    graph = board.store.look(whole_graph)
    found = [
        (circle[0], circle[1 % len(circle)], f"is in a circle: {circle_text(circle)}")
        for circle in graph.cycles()
    ]
    for node in graph.nodes.values():
        unknown = [needed for needed in graph.unmet(node.id) if graph.status_of(needed) == UNKNOWN]
        found += [(node.id, needed, f"{needed} is not known") for needed in unknown]
    rows = board.store.look(lambda rows: several(rows, {id_ for id_, _, _ in found}))
    for id_, needed, message in found:
        if id_ in rows:
            row = rows[id_]
            path = os.path.relpath(os.path.join(board.path, row.place, row.file))
            line = _line_that_needs(needed, row.text)
            yield FileFinding(path, line, "dependencies", "TASK_DEPENDENCY", message)


def _line_that_needs(id_: str, text: str) -> int:
    """Return the line that names a dependency: the first with its id below the key of dependencies."""
    from dibs.taskfile.spellings import DEPENDENCIES

    key = 0
    for number, row in enumerate(text.split("\n"), 1):
        if row.strip().partition(":")[0].strip("\"'") in DEPENDENCIES:
            key = number
        if key and id_ in _WORD.findall(row):
            return number
    return key


def format_files(
    board: Board, caller: Caller, paths: Iterable[str], *, write: bool
) -> tuple[list[Formatted], list[tuple[str, BadInput]]]:
    """Bring files into the one spelling; return those that change, and those that cannot be read."""
    done: list[Formatted] = []
    broken: list[tuple[str, BadInput]] = []
    for path in paths:
        try:
            done.append(format_file(path, write=write))
        except BadInput as error:
            broken.append((path, error))
    changed = [item for item in done if item.changes]
    if changed and write:
        with board.command(caller):
            pass  # takes the new texts in, as any edit by hand
    return changed, broken


def format_file(path: str, *, write: bool) -> Formatted:
    """Bring a file into the one spelling; nothing is written where nothing is to be changed."""
    from dibs.taskfile.formatting import formatted
    from dibs.workdir.disk import Disk, OpenFolder, read
    from dibs.workdir.moves import Meanwhile
    from dibs.workdir.moves import write as put

    _content(path)  # says what is no file of a task
    name = os.path.basename(path)
    with OpenFolder(os.open(os.path.dirname(os.path.abspath(path)), os.O_RDONLY)) as folder:
        content, mark = read(folder, name, MAX_FILE)
        text, changes = formatted(content, path)
        if write and changes:
            try:
                put(Disk(), folder, name, text, mark)
            except Meanwhile:
                message = f"{path}: somebody changed it meanwhile"
                raise BadInput(message, code="TASK_FILE", hint="try again") from None
    return Formatted(path, changes)


def _content(path: str) -> bytes:
    """Return what the file of a task says; a link, a pipe or a folder is none (``TASK_KIND``)."""
    import stat

    try:
        kind = os.lstat(path).st_mode
        if stat.S_ISREG(kind):
            with open(path, "rb") as file:
                return file.read(MAX_FILE + 1)
    except OSError as error:
        message = f"cannot be read: {error.strerror}"
        raise BadInput(message, code="TASK_FILE") from None
    what = "a link" if stat.S_ISLNK(kind) else "no plain file"
    raise BadInput(f"{what}; a task is a file of its own", code="TASK_KIND")
