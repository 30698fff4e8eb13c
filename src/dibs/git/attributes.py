"""Read git attributes of paths, and tell whether git converts a file when it is added."""

from __future__ import annotations

import os

from dibs.git.calls import rows_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from dibs.git.calls import GitCalls

ATTRIBUTES = ".gitattributes"
#: Settings that can cause a conversion, or that put attributes where this module does not look.
_SETTINGS = r"^(core\.(autocrlf|attributesfile|sparsecheckout)|extensions\.worktreeconfig)$"
#: Where builds of git look for machine-wide attributes.
_MACHINE = tuple(
    os.path.join(place, "etc", "gitattributes") for place in ("/", "/usr/local", "/opt/homebrew")
)
_NOTHING = frozenset(("unspecified", "unset", "set"))


def attributes(
    git: GitCalls, name: str, paths: Iterable[str] | None, *, tree: str = ""
) -> dict[str, str]:
    """Return the value of one attribute for each of ``paths`` that has one.

    The attributes come from the working tree or, with ``tree``, from that tree or commit; None for ``paths``
    then means all its files.
    """
    if not tree:
        return _asked(git, (name,), rows_of(paths or ()), {})
    import tempfile

    with tempfile.TemporaryDirectory(prefix="dibs-attributes-") as folder:
        index = {"GIT_INDEX_FILE": os.path.join(folder, "index")}
        git.must("read-tree", "--end-of-options", tree, variables=index)
        given = git.must("ls-files", "-z", variables=index) if paths is None else rows_of(paths)
        return _asked(git, ("--cached", name), given, index)


def attribute_files(git: GitCalls) -> list[str]:
    """Return the paths of all tracked attribute files in a working tree."""
    any_folder = {"GIT_LITERAL_PATHSPECS": "0"}
    output = git.must("ls-files", "-z", "--", ":(top,glob)**/.gitattributes", variables=any_folder)
    return [os.fsdecode(path) for path in output.split(b"\0") if path]


def _asked(
    git: GitCalls, options: tuple[str, ...], given: bytes, variables: dict[str, str]
) -> dict[str, str]:
    if not given:
        return {}
    out = git.must("check-attr", "-z", "--stdin", *options, given=given, variables=variables)
    words = out.split(b"\0")
    found = zip(words[::3], words[2::3], strict=False)
    values = {os.fsdecode(path): os.fsdecode(value) for path, value in found}
    return {path: value for path, value in values.items() if value not in _NOTHING}


class Conversions:
    """Tells which files of a clone git converts (line endings, filters, encodings), for its current settings.

    The object of a file that is not converted can be written without starting git.
    """

    __slots__ = ("_never",)

    def __init__(self, git: GitCalls, common: str) -> None:
        result = git.run("config", "--null", "--get-regexp", _SETTINGS)
        values = [row.partition(b"\n")[2].lower() for row in result.out.split(b"\0") if row]
        home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
        own = os.path.join(home, "git", "attributes"), os.path.join(common, "info", "attributes")
        files = any(os.path.lexists(path) for path in (*_MACHINE, *own))
        #: Whether only attributes inside a working tree can cause a conversion.
        self._never = not files and all(value in {b"false", b"no", b"0"} for value in values)

    def leaves(self, tree: str, path: str, gone: Container[str]) -> bool:
        """Return whether git certainly does not convert a file; ``gone`` has the deleted tracked paths.

        Git still reads the staged version of a deleted attribute file.
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
