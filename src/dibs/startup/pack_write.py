"""Write the file of a hook's modules: what is still good of it, and what had to be looked for."""

from __future__ import annotations

import posix
from _frozen_importlib_external import MAGIC_NUMBER, SourceFileLoader
from marshal import dumps, loads

from dibs.startup.pack import is_current

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _frozen_importlib import ModuleSpec
    from types import CodeType

    from dibs.startup.pack import Entry, Pack

#: What is in the file stays far below this.
_MOST = 8 * 1024 * 1024


def write(pack: Pack, new: dict[str, ModuleSpec], source: str) -> bool:
    """Write what is still good and what is new into a file of our own, and put it in place."""
    draft = f"{pack.path}.{posix.getpid()}"
    try:
        flags = posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL | posix.O_CLOEXEC
        file = posix.open(draft, flags, 0o644)
    except OSError:
        return False  # nobody may write here: it goes the long way, as all other programs do
    try:
        content = _content(pack, new, source)
        whole = len(content) < _MOST and posix.write(file, content) == len(content)
        if whole:
            posix.fsync(file)  # else a machine that goes down may leave a file with holes
            posix.replace(draft, pack.path)
        else:
            posix.unlink(draft)
    except (OSError, ImportError, SyntaxError, ValueError):
        posix.unlink(draft)
        return False
    finally:
        posix.close(file)
    return whole


def _content(pack: Pack, new: dict[str, ModuleSpec], source: str) -> bytes:
    entries: dict[str, Entry] = {}
    codes: list[bytes] = []
    place = 0
    kept = [name for name, entry in pack.entries.items() if is_current(entry)]
    for name in dict.fromkeys((*kept, *new)):
        spec = new.get(name)
        entry = pack.entries[name] if spec is None else _entry(spec)
        code = _code(spec) if spec is not None else dumps(pack.get_code(name)) if entry[5] else b""
        entries[name] = (*entry[:4], place, len(code))
        codes.append(code)
        place += len(code)
    own = posix.stat(source)
    starter = dumps((own.st_mtime_ns, own.st_size, _lean_file(source)))
    order = tuple(name for name in pack.order if name in entries)
    found = dict(zip(entries, codes, strict=True))
    codes.append(dumps(tuple(loads(found[name]) for name in order)))  # noqa: S302 - what was just written
    size = len(codes[-1])
    head = dumps((entries, order, (place, size), place + size))
    sizes = (b"%12d" % len(starter), b"%16d" % len(head))
    return b"".join((MAGIC_NUMBER, sizes[0], starter, sizes[1], head, *codes))


def _entry(spec: ModuleSpec) -> Entry:
    now = posix.stat(str(spec.origin))
    package = spec.submodule_search_locations is not None
    return (str(spec.origin), now.st_mtime_ns, now.st_size, package, 0, 0)


def _code(spec: ModuleSpec) -> bytes:
    """Return the code of a module, as lean as it gets; nothing for one that is compiled by others."""
    plain = isinstance(spec.loader, SourceFileLoader)
    return dumps(_lean_file(str(spec.origin))) if plain else b""


def _lean_file(path: str) -> CodeType:
    from dibs.startup.strip import (
        lean,  # takes long to load, and is not needed where nobody may write
    )

    with open(path, "rb") as file:
        return lean(file.read(), path)
