"""Check task files.

Paths are shown as the caller gave them, so that editors and terminals can open them.
"""

from __future__ import annotations

import os
import re

from dibs.core.tasks.names import RULE, follows_rule, names_agent, new_id
from dibs.core.tasks.rules import ARCHIVE, ASSIGNED, DONE, INBOX, Status, folder_of
from dibs.errors import BadInput, Unavailable
from dibs.local.files import regular
from dibs.services.board.changes import DUPLICATE
from dibs.services.board.report import HALF_WRITTEN
from dibs.startup.records import Record
from dibs.workdir.scan import ENDINGS, MAX_FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    from dibs.core.claims.agents import Caller
    from dibs.core.tasks.rules import Task
    from dibs.services.board.board import Board
    from dibs.services.tasks.values import HandEditVerdict

#: Endings of task files, and of files that people and editors keep next to them.
_OTHERS = (*ENDINGS, ".md", "~", ".tmp", ".swp", ".bak", ".orig")
#: Words that can be ids.
_WORD = re.compile(r"[\w.-]+")


class FileFinding(Record):
    """One remark about a file."""

    file: str
    line: int
    field: str
    code: str
    message: str
    #: Whether it makes the file unusable.
    fatal: bool = True

    def __str__(self) -> str:
        """Return it on one line, in the form that editors recognize."""
        field = f"{self.field}: " if self.field else ""
        note = "" if self.fatal else " (note)"
        return f"{self.file}:{self.line or 1}: {field}{self.message}{note}"


class BoardCheck(Record):
    """What is wrong with task files."""

    #: How many files were checked.
    files: int
    findings: tuple[FileFinding, ...]

    @property
    def wrong(self) -> int:
        """How many findings are errors."""
        return sum(item.fatal for item in self.findings)


def check_files(
    board: Board, caller: Caller, paths: Sequence[str] = (), *, strict: bool = False
) -> BoardCheck:
    """Check task files, or the whole board."""
    if paths:
        found = [item for path in paths for item in check_file(path, board.path, strict=strict)]
    else:
        found = list(check_board(board, caller, strict=strict))
    return BoardCheck(len(paths) if paths else len(board_files(board.path)), tuple(found))


def board_files(folder: str, *, archived: bool = False) -> list[str]:
    """Return the board's task files, in order, relative to the current folder; archived ones on request."""
    names = _names(folder, *([ARCHIVE] if archived else []))
    return [path for path, name in names if name.endswith(ENDINGS) and name[0] != "."]


def other_files(folder: str) -> Iterator[FileFinding]:
    """Yield a note about each file among the tasks whose name is not a task file's.

    Pages, hidden files, and what editors leave behind are fine.
    """
    for path, name in _names(folder):
        if not name.lower().endswith(_OTHERS) and name[0] not in ".#":
            message = "ignored: task files end in .yaml"
            yield FileFinding(path, 0, "", "TASK_NAME", message, fatal=False)


def _names(folder: str, *more: str) -> Iterator[tuple[str, str]]:
    """Yield path and name of each file in the unarchived folders, and in ``more``."""
    for part in (INBOX, ASSIGNED, DONE, *more):
        for place, folders, names in os.walk(os.path.join(folder, part)):
            folders.sort()
            yield from ((os.path.relpath(os.path.join(place, n)), n) for n in sorted(names))


def check_file(path: str, folder: str, *, strict: bool = False) -> Iterator[FileFinding]:
    """Read one file and yield remarks; inside the board's ``folder``, also check its place.

    A name that does not follow the naming rule is an error if ``strict``, else a note.
    """
    import time

    from dibs.services.tasks.hand_edit_rules import line_of
    from dibs.taskfile.reading import late_times, read

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
        for late in late_times(reading.task, time.time()):
            line = line_of(reading.text, late.field)
            yield FileFinding(path, line, late.field, late.code, late.message)
        if not follows_rule(reading.task.id):
            line, message = line_of(reading.text, "id"), _unruly(reading.task, path)
            yield FileFinding(path, line, "id", "TASK_NAME", message, strict)
        elif reading.task.status == Status.NEW and not names_agent(
            reading.task.id, reading.task.agent
        ):
            line, message = line_of(reading.text, "agent"), _misnamed(reading.task)
            yield FileFinding(path, line, "agent", "TASK_NAME", message, fatal=False)
        place = os.path.relpath(os.path.dirname(os.path.abspath(path)), folder)
        right = folder_of(reading.task.status, reading.task.agent)
        if place.split(os.sep)[0] in {INBOX, ASSIGNED, DONE} and place != right:
            message = f"a task that is {reading.task.status} belongs in {right}/, not in {place}/"
            yield FileFinding(
                path, line_of(reading.text, "status"), "status", "TASK_MISMATCH", message
            )


def _unruly(task: Task, path: str) -> str:
    """Return what is wrong with a file's name, and a name that would follow the rule."""
    about = "-".join(task.title.split()[:6]) or task.id
    name = new_id(task.created or os.stat(path).st_mtime, task.agent, about)
    return f"the file name does not follow {RULE}; name it {name}.yaml"


def _misnamed(task: Task) -> str:
    return f"the file name does not contain the agent {task.agent} (the rule is {RULE})"


def check_board(board: Board, caller: Caller, *, strict: bool = False) -> Iterator[FileFinding]:
    """Yield all problems of the board: files, transitions, and dependencies."""
    files = board_files(board.path)
    found = [item for path in files for item in check_file(path, board.path, strict=strict)]
    with board.command(caller, reads=True, thorough=True) as report:
        if report.unread:
            hint = "to check single files: dibs task validate FILE"
            raise Unavailable(f"cannot check the board: {report.unread}", hint=hint)
        aside = refused(report.aside, board.path)
        aside += _twice(board, {item.file for item in aside})
        refused_files = {item.file for item in aside}
        found = [_accepted(item, refused_files) for item in found]
    explained = {item.file for item in aside if item.code in {"TASK_MISMATCH", DUPLICATE}}
    found = [i for i in found if i.code != "TASK_MISMATCH" or i.file not in explained]
    yield from found
    named = {(item.file, item.code) for item in found}
    yield from (item for item in aside if (item.file, item.code) not in named)
    yield from other_files(board.path)
    yield from _dependencies(board)


def _twice(board: Board, reported: Container[str]) -> list[FileFinding]:
    """Return the second files of tasks, except those already ``reported``; the row's file is the first."""
    from dibs.services.state.tasks import several
    from dibs.workdir.scan import stem

    files: dict[str, list[str]] = {}
    for path in board_files(board.path, archived=True):
        files.setdefault(stem(os.path.basename(path)).lower(), []).append(path)
    twice = {key: paths for key, paths in files.items() if len(paths) > 1}
    rows = board.store.look(lambda rows: several(rows, twice))
    found = []
    for key, paths in twice.items():
        row = rows.get(key)
        home = os.path.relpath(os.path.join(board.path, row.place, row.file)) if row else ""
        first = home if home in paths else paths[-1]
        message = f"task {stem(os.path.basename(first))} is also in {os.path.dirname(first)}"
        found += [
            FileFinding(path, 0, "", DUPLICATE, message)
            for path in paths
            if path != first and path not in reported
        ]
    return found


def _accepted(item: FileFinding, refused_files: Container[str]) -> FileFinding:
    """Turn the finding about a moved or renamed file into a note if the board accepted it."""
    if item.code != "TASK_MISMATCH" or item.file in refused_files:
        return item
    message = f"{item.message}; the next command that writes updates the file"
    return item._replace(message=message, fatal=False)


def refused(verdicts: Iterable[HandEditVerdict], folder: str) -> list[FileFinding]:
    """Return findings about files that are set aside."""
    return [FileFinding(_file_of(v, folder), v.line, v.field, v.code, v.message) for v in verdicts]


def _file_of(verdict: HandEditVerdict, folder: str) -> str:
    """Return the path of a file relative to the current folder, with its ending."""
    base = os.path.join(os.path.relpath(os.path.join(folder, verdict.place)), verdict.id)
    return next((base + end for end in ENDINGS if os.path.lexists(base + end)), base)


def _dependencies(board: Board) -> Iterator[FileFinding]:
    """Yield each dependency cycle, and each dependency that does not exist."""
    from dibs.core.tasks.graph import UNKNOWN, cycle_text
    from dibs.services.state.tasks import several
    from dibs.services.tasks.views import whole_graph

    graph = board.store.look(whole_graph)
    found = [
        (cycle[0], cycle[1 % len(cycle)], f"dependency cycle: {cycle_text(cycle)}")
        for cycle in graph.cycles()
    ]
    for node in graph.nodes.values():
        unknown = [needed for needed in graph.unmet(node.id) if graph.status_of(needed) == UNKNOWN]
        found += [(node.id, needed, f"unknown task {needed}") for needed in unknown]
    rows = board.store.look(lambda rows: several(rows, {id_ for id_, _, _ in found}))
    for id_, needed, message in found:
        if id_ in rows:
            row = rows[id_]
            path = os.path.relpath(os.path.join(board.path, row.place, row.file))
            line = _line_that_needs(needed, row.text)
            yield FileFinding(path, line, "dependencies", "TASK_DEPENDENCY", message)


def _line_that_needs(id_: str, text: str) -> int:
    """Return the line that names a dependency: the first with its id after the key."""
    from dibs.taskfile.spellings import DEPENDENCIES

    key = 0
    for number, row in enumerate(text.split("\n"), 1):
        if row.strip().partition(":")[0].strip("\"'") in DEPENDENCIES:
            key = number
        if key and id_ in _WORD.findall(row):
            return number
    return key


def _content(path: str) -> bytes:
    """Return the content of a task file; refuse links, pipes, and folders (``TASK_KIND``)."""
    import stat

    try:
        kind = os.lstat(path).st_mode
        if stat.S_ISREG(kind):
            with open(path, "rb", opener=regular) as file:
                return file.read(MAX_FILE + 1)
    except OSError as error:
        message = f"cannot read the file: {error.strerror}"
        raise BadInput(message, code="TASK_FILE") from None
    what = "a symbolic link" if stat.S_ISLNK(kind) else "not a regular file"
    raise BadInput(f"{what}; a task must be a regular file", code="TASK_KIND")
