"""The page that says which files stand aside, for whoever works with an editor alone."""

from __future__ import annotations

import time

from dibs.core.names import printable
from dibs.workdir import moves
from dibs.workdir.disk import mark_of, status_of
from dibs.workdir.layout import COLLABORATION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.workdir.files import Files
    from dibs.workdir.index import Aside

PAGE = "SET_ASIDE.md"
_HEAD = """# Files that stand aside

These files are not on the board: nobody is handed their tasks. Each stays where it is. Correct it there, and
the next board command takes it in. This page is written by `dibs`.

"""


def page(asides: dict[str, Aside]) -> str:
    """Return the page for these files, empty if there are none."""
    return _HEAD + "".join(_line(path, asides[path]) for path in sorted(asides)) if asides else ""


def _line(path: str, aside: Aside) -> str:
    where = f"{path}:{aside.line}" if aside.line else path
    field = f"`{_plain(aside.field)}`: " if aside.field else ""
    since = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(aside.since))
    return f"- `{_plain(where)}` {field}{_plain(aside.message)} ({aside.code}, since {since})\n"


def _plain(text: str) -> str:
    """Return a text on one line in which nothing is markup."""
    return printable(text).replace("`", "'").replace("<", "&lt;")


def write_page(files: Files) -> None:
    """Write the page, or remove it when no file stands aside."""
    text = page(files.index.asides)
    with files.folders.open(COLLABORATION, make=True) as handle:
        status = status_of(handle, PAGE)
        mark = None if status is None else mark_of(status)
        try:
            if text:
                moves.write(files.disk, handle, PAGE, text, mark)
            elif mark is not None:
                moves.remove(files.disk, handle, PAGE, mark)
        except moves.Meanwhile:
            return  # somebody is at it; it is written with the next change
