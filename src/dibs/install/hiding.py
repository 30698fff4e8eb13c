"""Let git overlook files that hold for this machine alone, by the clone's own list of exclusions."""

from __future__ import annotations

import os

from dibs.install.entries import blocks
from dibs.install.manifest import replace_file
from dibs.install.working_tree import others

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.local.repository import Repository

MARKS = blocks.BlockMarkers(
    "# dibs:begin (files that dibs init made for this machine)", "# dibs:end"
)
_SPECIAL = str.maketrans({character: f"\\{character}" for character in "*?[]\\!#"})


def hide(repository: Repository, paths: Iterable[str]) -> None:
    """Add files to the list; all worktrees share it, so those of others stay."""
    text = _read(repository)
    there = _lines(text)
    wanted = [*there, *(line for line in map(_line, paths) if line not in there)]
    if wanted != there:
        _write(repository, blocks.put(text, "\n".join(wanted), MARKS, _NAME))


def is_hidden(repository: Repository, path: str) -> bool:
    """Tell whether a file is on the list, whichever working tree put it there."""
    return _line(path) in _lines(_read(repository))


def show(repository: Repository, paths: Iterable[str]) -> None:
    """Take files off the list, except those that another working tree has, too."""
    text, trees = _read(repository), others(repository)
    gone = {_line(path) for path in paths if not _is_in(trees, path)}
    rest = [line for line in _lines(text) if line not in gone]
    new = (
        blocks.put(text, "\n".join(rest), MARKS, _NAME) if rest else blocks.take(text, MARKS, _NAME)
    )
    if new != text:
        _write(repository, new)


def _is_in(trees: Iterable[str], path: str) -> bool:
    return any(os.path.lexists(os.path.join(tree, path)) for tree in trees)


_NAME = "info/exclude"


def _line(path: str) -> str:
    return f"/{path.translate(_SPECIAL)}"


def _lines(text: str) -> list[str]:
    place = blocks.find(text, MARKS, _NAME)
    return text[place[0] : place[1]].splitlines()[1:-1] if place else []


def _place(repository: Repository) -> str:
    return os.path.join(repository.common, "info", "exclude")


def _read(repository: Repository) -> str:
    try:
        with open(
            _place(repository), encoding="utf-8", errors="surrogateescape", newline=""
        ) as file:
            return file.read()
    except OSError:
        return ""


def _write(repository: Repository, text: str) -> None:
    if not repository.common:
        return
    place = _place(repository)
    if not text:
        os.unlink(place)
        return
    os.makedirs(os.path.dirname(place), exist_ok=True)
    mode = os.stat(place).st_mode & 0o777 if os.path.exists(place) else 0o644
    replace_file(repository, place, text.encode("utf-8", "surrogateescape"), mode)
