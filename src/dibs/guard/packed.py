"""The modules of a hook in one file, so that a process of some milliseconds need not look for sixty.

The file lies with the other compiled files of this package, and is only as good as they are: each module in it
counts as long as its source is the one that it was compiled from, and is looked for as always otherwise.
It is written by a hook that had to look for modules, after its answer, and replaced as a whole.
"""

from __future__ import annotations

import sys
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import MAGIC_NUMBER, ExtensionFileLoader, SourceFileLoader
from marshal import dumps, loads

import posix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, ModuleType

    #: Where the source lies, when it was changed, its size; whether it is a package; where its code is.
    Entry = tuple[str, int, int, bool, int, int]

NAME = f"hooks.{sys.implementation.cache_tag}.pack"
#: Code that other programs may have changed is not for us: what is in the file stays far below this.
_MOST = 8 * 1024 * 1024
_HEAD = 16


class Pack:
    """A finder of modules, and their loader, over one open file."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.entries: dict[str, Entry] = {}
        self._file = -1
        self._base = 0
        try:
            self._file = posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC)
            head = posix.read(self._file, _HEAD)
            if head[:4] == MAGIC_NUMBER:
                size = int(head[4:])
                self.entries = loads(posix.read(self._file, size))
                self._base = _HEAD + size
        except (OSError, ValueError, EOFError, TypeError):
            self.entries = {}

    def find_spec(
        self, name: str, path: object = None, target: object = None
    ) -> ModuleSpec | None:
        """Return where a module is, if it is in the file and its source has not changed."""
        entry = self.entries.get(name)
        if entry is None or not _is_current(entry):
            return None
        origin, _, _, package, _, size = entry
        loader = self if size else _Extension(name, origin)
        spec = ModuleSpec(name, loader, origin=origin, is_package=package)
        spec.has_location = True
        if package:
            spec.submodule_search_locations = [origin.rpartition("/")[0]]
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Leave it to Python to make an empty module."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the code of a module."""
        exec(self.get_code(module.__name__), module.__dict__)  # noqa: S102 - this is an importer

    def get_code(self, name: str) -> CodeType:
        """Return the code of a module that is in the file."""
        *_, offset, size = self.entries[name]
        code: CodeType = loads(posix.pread(self._file, size, self._base + offset))
        return code

    def mend(self) -> bool:
        """Write the file anew if modules had to be looked for elsewhere; tell whether it was."""
        new = {
            name: spec
            for name, module in list(sys.modules.items())
            if (spec := getattr(module, "__spec__", None)) is not None
            and _is_outside(spec)
            and not (name in self.entries and _is_current(self.entries[name]))
        }
        return bool(new) and _write(self, new)


class _Extension(ExtensionFileLoader):
    """The loader of compiled modules. One of them asks for much more than it uses: see below."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Load a compiled module.

        ``apsw`` registers a type with ``collections.abc``, whose classes are all in ``_collections_abc``.
        """
        import _collections_abc

        wanted = ("collections", "collections.abc") if spec.name == "apsw" else ()
        lent = [name for name in wanted if name not in sys.modules]
        sys.modules.update(dict.fromkeys(lent, _collections_abc))
        try:
            return super().create_module(spec)
        finally:
            for name in lent:
                del sys.modules[name]


def _is_current(entry: Entry) -> bool:
    try:
        now = posix.stat(entry[0])
    except OSError:
        return False
    return now.st_mtime_ns == entry[1] and now.st_size == entry[2]


def _is_outside(spec: ModuleSpec) -> bool:
    """Tell whether a module was found by the long way."""
    known = isinstance(spec.loader, SourceFileLoader | ExtensionFileLoader)
    return known and not isinstance(spec.loader, _Extension) and spec.name != "__main__"


def _write(pack: Pack, new: dict[str, ModuleSpec]) -> bool:
    """Write what is still good and what is new into a file of our own, and put it in place."""
    draft = f"{pack.path}.{posix.getpid()}"
    try:
        flags = posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL | posix.O_CLOEXEC
        file = posix.open(draft, flags, 0o644)
    except OSError:
        return False  # nobody may write here: it goes the long way, as all other programs do
    try:
        content = _content(pack, new)
        whole = len(content) < _MOST and posix.write(file, content) == len(content)
        if whole:
            posix.replace(draft, pack.path)
        else:
            posix.unlink(draft)
    except (OSError, ImportError, SyntaxError, ValueError):
        posix.unlink(draft)
        return False
    finally:
        posix.close(file)
    return whole


def _content(pack: Pack, new: dict[str, ModuleSpec]) -> bytes:
    entries: dict[str, Entry] = {}
    codes: list[bytes] = []
    place = 0
    kept = [name for name, entry in pack.entries.items() if _is_current(entry)]
    for name in (*kept, *new):
        if name in entries:
            continue
        spec = new.get(name)
        if spec is None:
            origin, changed, length, package, _, size = pack.entries[name]
            code = dumps(pack.get_code(name)) if size else b""
        else:
            origin = str(spec.origin)
            now = posix.stat(origin)
            changed, length = now.st_mtime_ns, now.st_size
            package = spec.submodule_search_locations is not None
            plain = isinstance(spec.loader, SourceFileLoader)
            code = dumps(spec.loader.get_code(name)) if plain else b""
        entries[name] = (origin, changed, length, package, place, len(code))
        codes.append(code)
        place += len(code)
    head = dumps(entries)
    return b"".join((MAGIC_NUMBER, b"%12d" % len(head), head, *codes))
