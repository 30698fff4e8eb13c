"""The page that says which files stand aside, for whoever works with an editor alone."""

from __future__ import annotations

import time
from contextlib import suppress

from dibs.core.text.untrusted import markdown_code as code
from dibs.core.text.untrusted import markdown_text as plain
from dibs.workdir import moves
from dibs.workdir.folders import COLLABORATION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.workdir.files import Files
    from dibs.workdir.index import Aside

PAGE = "SET_ASIDE.md"
_HEAD = """# Files that stand aside

These files are not on the board: nobody is handed their tasks. Each stays where it is. Correct it there, and
the next board command takes it in. This page is written by `dibs`.

"""
_TITLE = b"# Files that stand aside\n"


def page(asides: dict[str, Aside]) -> str:
    """Return the page for these files, empty if there are none."""
    return _HEAD + "".join(_line(path, asides[path]) for path in sorted(asides)) if asides else ""


def _line(path: str, aside: Aside) -> str:
    where = f"{path}:{aside.line}" if aside.line else path
    field = f"{code(aside.field)}: " if aside.field else ""
    since = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(aside.since))
    return f"- {code(where)} {field}{plain(aside.message)} ({aside.code}, since {since})\n"


def write_page(files: Files) -> None:
    """See to it that the page is true: written anew if it is not, removed when no file stands aside.

    Git or a hand may have brought back an old one. What somebody wrote in its place is kept. Where the page
    cannot be written, the next command tries again: commands tell of the files as well.
    """
    with suppress(OSError):
        _write(files)


def _write(files: Files) -> None:
    text = page(files.index.asides)
    before = files.read(COLLABORATION, PAGE) if text or _is_there(files) else None
    content, wanted = (before.content or b"") if before else b"", text.encode()
    if content == wanted[: len(content)] and len(wanted) == (before.mark.size if before else 0):
        return
    with files.folders.open(COLLABORATION, make=True) as handle:
        try:
            if before is not None and not content.startswith(_TITLE):
                files.keep_text(PAGE, content.decode("utf-8", "surrogateescape"), before.digest)
            if text:
                moves.write(files.disk, handle, PAGE, text, before.mark if before else None)
            elif before is not None:
                moves.remove(files.disk, handle, PAGE, before.mark)
        except moves.Meanwhile:
            return  # somebody is at it, or it is no plain file; the next command looks again


def _is_there(files: Files) -> bool:
    return files.is_there(COLLABORATION, PAGE)
