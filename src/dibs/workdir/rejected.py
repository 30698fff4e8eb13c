"""The page that lists the files that are set aside, for people who work only in an editor."""

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
_HEAD = """# Files that are set aside

Dibs cannot use these files, so their tasks are unavailable. Fix each file where it is, and the next board
command accepts it. Dibs writes this page.

"""
#: The first line by which a page of ours is recognized.
_TITLE = b"# Files that are set aside\n"


def page(asides: dict[str, Aside]) -> str:
    """Return the page for these files, empty if there are none."""
    return _HEAD + "".join(_line(path, asides[path]) for path in sorted(asides)) if asides else ""


def _line(path: str, aside: Aside) -> str:
    where = f"{path}:{aside.line}" if aside.line else path
    field = f"{code(aside.field)}: " if aside.field else ""
    since = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(aside.since))
    return f"- {code(where)} {field}{plain(aside.message)} ({aside.code}, since {since})\n"


def write_page(files: Files) -> None:
    """Write the page, or remove it if no file is set aside.

    Git or a person may have restored an old page. Text that someone else wrote in its place is saved. If the
    page cannot be written, the next command tries again; commands also report the files.
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
            return  # someone is editing it, or it is not a regular file; the next command tries again


def _is_there(files: Files) -> bool:
    return files.is_there(COLLABORATION, PAGE)
