"""Text that others wrote, on a page of Markdown: shown as it is, taken for no markup of the page.

Pure.
"""

from __future__ import annotations

import re

from dibs.core.text.names import printable

#: What begins emphasis, code, a link, an image, an entity or an escape. A name such as ``a_b`` needs none.
_MARKUP = re.compile(r"[\\`*\[\]]|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w+;)")


def plain(text: str) -> str:
    """Return ``text`` as one line that a reader of Markdown sees as it was written."""
    return _MARKUP.sub(r"\\\g<0>", printable(text)).replace("<", "&lt;")


def code(text: str) -> str:
    """Return ``text`` on one line as code, such as a path; a backtick in it is shown as a quote."""
    return f"`{printable(text).replace('`', chr(39)) or ' '}`"
