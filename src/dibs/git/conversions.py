"""Whether git takes files as they are, or converts them on their way in: line ends, filters, encodings.

Where nothing can ask for a conversion, a file's object can be made without starting git.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

    from dibs.git.calls import GitCalls

ATTRIBUTES = ".gitattributes"
#: Settings under which a file may be converted, or attributes lie where this module does not look.
_SETTINGS = r"^(core\.(autocrlf|attributesfile|sparsecheckout)|extensions\.worktreeconfig)$"
#: Where builds of git look for attributes of the whole machine.
_MACHINE = tuple(
    os.path.join(place, "etc", "gitattributes") for place in ("/", "/usr/local", "/opt/homebrew")
)


class Conversions:
    """What is known of the conversions of one clone; made once, good while its settings stay."""

    __slots__ = ("_never",)

    def __init__(self, git: GitCalls, common: str) -> None:
        said = git.run("config", "--null", "--get-regexp", _SETTINGS)
        values = [row.partition(b"\n")[2].lower() for row in said.out.split(b"\0") if row]
        home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
        own = os.path.join(home, "git", "attributes"), os.path.join(common, "info", "attributes")
        files = any(os.path.lexists(path) for path in (*_MACHINE, *own))
        #: Whether only attributes inside of a working tree can ask for a conversion.
        self._never = not files and all(value in {b"false", b"no", b"0"} for value in values)

    def leaves(self, tree: str, path: str, gone: Container[str]) -> bool:
        """Tell whether a file is surely taken as it is; ``gone`` has the paths that are tracked and gone.

        Of attributes that are gone from the disk git still reads what is staged.
        """
        if not self._never:
            return False
        folder = os.path.dirname(path)
        while True:
            name = os.path.join(folder, ATTRIBUTES)
            if name in gone or os.path.lexists(os.path.join(tree, name)):
                return False
            if not folder:
                return True
            folder = os.path.dirname(folder)
