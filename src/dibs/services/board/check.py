"""Check all files of a board against the rows, and repair what can be repaired."""

from __future__ import annotations

import os

from dibs.core.tasks.names import RULE, follows_rule
from dibs.core.tasks.rules import ASSIGNED, DONE, INBOX
from dibs.core.text.findings import Finding, Level
from dibs.core.text.names import plural, printable
from dibs.services.board.changes import DUPLICATE, target_of
from dibs.services.board.report import asides_of
from dibs.services.state.tasks import several, versions
from dibs.workdir.files import KEPT, Files
from dibs.workdir.folders import FOLDERS
from dibs.workdir.index import Index
from dibs.workdir.scan import UNFINISHED, scan, stem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.claims.agents import Caller
    from dibs.services.board.board import Board
    from dibs.services.state.tasks import Stored
    from dibs.workdir.scan import BoardScan

_NEXT = "the next command that changes the board fixes this"


def check(board: Board, tree: str = "") -> list[Finding]:
    """Compare every file with its row; change nothing. ``tree`` is the current working tree."""
    if not board.there():
        return []
    with board.lock:
        files = board.files()
        sight = scan(board.folders, Index(), files.now, thorough=True)
        rows = board.store.look(lambda rows: several(rows, versions(rows)))
        found = [*_asides(files), *_odd(sight, files), *_temps(sight, files.now)]
        found += _compared(files, sight, {id_.lower(): row for id_, row in rows.items()})
        found += _twice(files, sight) + _left(files) + _links(board, sight) + _beside(board, tree)
    said = f"{plural(len(rows), 'task')}, all consistent"
    if plain := sum(not follows_rule(id_) for id_ in rows):
        said += f"; {plain} not named {RULE} (`dibs task validate` lists them)"
    good = Finding(Level.OK, "board", said)
    return found or [good]


def repair(board: Board, caller: Caller) -> list[str]:
    """Reconcile every file and return what was done; hand edits are never deleted."""
    if not board.there():
        return []
    done = []
    with board.command(caller, thorough=True) as report:
        done += [f"accepted {v.place}/{v.id}" for v in report.accepted]
        done += [f"restored {path}" for path in report.restored]
        done += [f"saved a hand edit to {path}" for path in report.kept]
        if report.pulled:
            files = "file" if report.pulled == 1 else "files"
            done.append(f"wrote or moved {report.pulled} task {files}")
    return [printable(line) for line in done]


def _bad(code: str, text: str, level: str = Level.BAD) -> Finding:
    return Finding(level, code, printable(text))


def _asides(files: Files) -> list[Finding]:
    found = []
    for verdict in asides_of(files.index):
        line = f":{verdict.line}" if verdict.line else ""
        text = f"{verdict.place}/{verdict.id}{line} is set aside: {verdict.message}"
        found.append(_bad(verdict.code, text, Level.WARN))
    return found


def _odd(sight: BoardScan, files: Files) -> list[Finding]:
    known = files.index.asides
    return [
        _bad(odd.code, f"{odd.place}/{odd.name}: {odd.message}")
        for odd in sight.odd
        if f"{odd.place}/{odd.name}" not in known
    ]


def _temps(sight: BoardScan, now: float) -> list[Finding]:
    old = [temp for temp in sight.temps if now - temp.mark.mtime / 1e9 > UNFINISHED]
    return [
        _bad(
            "TASK_PARTIAL", f"{temp.place}/{temp.name} is an unfinished temporary file", Level.WARN
        )
        for temp in old
    ]


def _compared(files: Files, sight: BoardScan, rows: dict[str, Stored]) -> list[Finding]:
    """Return differences between files and rows: drift, files without a task, tasks without a file."""
    found, seen = [], set()
    for place, name in [(s.place, s.name) for s in sight.fresh]:
        path, row = f"{place}/{name}", rows.get(stem(name).lower())
        seen.add(path)
        copy = files.read(place, name)
        if copy is None or path in files.index.asides:
            continue
        if row is None:
            found.append(_bad("ORPHAN", f"{path} is not on the board yet; {_NEXT}", Level.WARN))
        elif path == target_of(row).path and copy.digest != target_of(row).digest:
            found.append(_bad("DRIFT", f"{path} differs from the board; {_NEXT}", Level.WARN))
        elif path != target_of(row).path:
            there = f"{path} belongs in {row.place}; {_NEXT}"
            found.append(_bad("MISPLACED", there, Level.WARN))
    aside = {v.id.lower() for v in asides_of(files.index) if v.code != DUPLICATE}
    missing = [
        row
        for row in rows.values()
        if target_of(row).path not in seen and row.id.lower() not in aside  # already reported
    ]
    found += [_bad("MISSING", f"{row.place}/{row.file} is missing; {_NEXT}") for row in missing]
    return found


def _twice(files: Files, sight: BoardScan) -> list[Finding]:
    """Return the tasks that have files in more than one folder, including the archive."""
    places: dict[str, list[tuple[str, str]]] = {}
    for place, name in (*((seen.place, seen.name) for seen in sight.fresh), *files.archived()):
        places.setdefault(stem(name).lower(), []).append((place, stem(name)))
    return [
        _bad(DUPLICATE, f"task {found[0][1]} is in {' and '.join(sorted(p for p, _ in found))}")
        for _, found in sorted(places.items())
        if len(found) > 1
    ]


def _links(board: Board, sight: BoardScan) -> list[Finding]:
    """Return the board's folders that are links or not folders; Dibs does not write to them."""
    reported = {odd.place for odd in sight.odd}
    found = []
    for place in FOLDERS:
        try:
            board.folders.open(place).__exit__()
        except FileNotFoundError:
            continue
        except NotADirectoryError:
            if place not in reported:
                text = f"{place} is a link or not a folder: Dibs does not read or write it"
                found.append(_bad("TASK_KIND", text))
    return found


def _beside(board: Board, tree: str) -> list[Finding]:
    """Return a warning about a board-like folder in another working tree, which Dibs does not read."""
    if not tree or os.path.realpath(tree) == os.path.realpath(board.folders.base):
        return []
    folder = os.path.join(tree, board.folders.folder)
    if not any(os.path.isdir(os.path.join(folder, place)) for place in (INBOX, ASSIGNED, DONE)):
        return []
    text = f"{folder} is not the board: all worktrees share the one in {board.path}"
    return [_bad("BESIDE", text, Level.WARN)]


def _left(files: Files) -> list[Finding]:
    """Return the saved hand edits."""
    kept = [
        f"{KEPT}/{name} is a saved hand edit; review and delete it" for name in files.names(KEPT)
    ]
    return [_bad("KEPT", text, Level.WARN) for text in kept]
