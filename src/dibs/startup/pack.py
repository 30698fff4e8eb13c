"""The modules of a hook in one file, so that a process of some milliseconds need not look for sixty.

The file lies with the other compiled files of this package, and is as good as they are: each module in it
counts as long as its source is the one that it was compiled from, and is looked for as always otherwise.
It is written by a hook that had to look for modules, after its answer, and replaced as a whole.

It begins with the code of this very module, which ``run.py`` starts: nothing of ours may be imported here
before the finder is in place. Behind it are the entries, the order in which a plain call needs
the modules, and their code.
"""

import posix
import sys
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import ExtensionFileLoader, SourceFileLoader
from marshal import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType, ModuleType
    from typing import Any, NoReturn

    #: Where the source lies, when it was changed, its size; whether it is a package; where its code is.
    Entry = tuple[str, int, int, bool, int, int]

NAME = f"hooks.{sys.implementation.cache_tag}.pack"
#: A module that only a call loads which had something to decide.
DECIDES = "dibs.services.guard.admission"
_CLIENT = "dibs.guard.agents.client"
#: A folder's path becomes a short name by what is left of it after a division by this.
_PRIME = 2305843009213693951
#: A socket's whole path has 107 bytes at the most, on some systems 103.
_LONG = 64
_HEAD = 16
#: The type and the rights of a folder that others can do nothing in.
_FOLDER = 0o040000


def start(package: str, file: int) -> "NoReturn":
    """Be the program of one hook: ``package`` is our folder, ``file`` the open file of modules, or -1."""
    pack = Pack(f"{package}/guard/__pycache__/{NAME}", file)
    given = _asked(pack, package)
    sys.meta_path.insert(2, pack)  # behind the finders of what is built into Python
    sys.meta_path.append(_Site())
    sys.path += _packages(package)
    pack.load_ahead()
    try:
        from dibs.guard.agents.program import attend, wishes

        status = attend(sys.argv[1:], given)
    except Exception as error:  # noqa: BLE001 - the top of a surface: any status but 2 would let the tool run
        why = f"dibs: refused, because it cannot be checked: {error.__class__.__name__}: {error}\n"
        posix.write(2, why.encode("utf-8", "replace"))
        posix._exit(2)  # noqa: SLF001
    try:
        if wishes["daemon"] and given is None:  # nobody was there to ask
            from dibs.guard.agents.wake import wake

            wake(package)
        pack.mend(f"{package}/startup/pack.py")
    finally:  # the answer is out, and nothing that comes after it may change it
        posix._exit(status)  # noqa: SLF001


def socket_of(package: str) -> str:
    """Return where the process listens that answers hooks of this user and this very package."""
    base = posix.environ.get(b"XDG_RUNTIME_DIR", b"").decode("utf-8", "surrogateescape")
    usable = base.startswith("/") and len(base) < _LONG
    folder = f"{base}/dibs" if usable else f"/tmp/dibs-{posix.geteuid()}"  # noqa: S108
    number = int.from_bytes(f"{package} {sys.executable}".encode("utf-8", "surrogateescape"))
    return f"{folder}/{number % _PRIME:x}.sock"


def is_private(folder: str) -> bool:
    """Tell whether a folder is ours alone, so that whoever listens in it is us."""
    try:
        found = posix.lstat(folder)
    except OSError:
        return False
    return found.st_mode & 0o170077 == _FOLDER and found.st_uid == posix.geteuid()


def _asked(pack: "Pack", package: str) -> "bytes | None":
    """Ask the process that stays, if there is one, and be done; else return what was read of the call."""
    path = socket_of(package)
    try:
        posix.stat(path)
    except OSError:
        return None
    if not is_private(path.rpartition("/")[0]):
        return None
    entry = pack.entries.get(_CLIENT)
    if entry is None or not is_current(entry):
        sys.path.append(package.rpartition("/")[0])
        from dibs.guard.agents.client import ask
    else:
        space: dict[str, Any] = {"__name__": _CLIENT}
        exec(pack.get_code(_CLIENT), space)  # noqa: S102 - as an importer would, without all above it
        ask = space["ask"]
    status, given = ask(path, sys.argv[1:], package)
    if status >= 0:
        posix._exit(status)  # noqa: SLF001
    return given


def _packages(package: str) -> list[str]:
    """Return where packages lie: ours, and those beside it; of a source tree, those of this Python."""
    beside = package.rpartition("/")[0]
    if beside.endswith("-packages"):
        return [beside]
    environment = sys.executable.rpartition("/bin/")[0]
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    return [beside, f"{environment}/lib/{version}/site-packages"]


class Pack:
    """A finder of modules, and their loader, over one open file."""

    def __init__(self, path: str, file: int) -> None:
        self.path = path
        self.entries: dict[str, Entry] = {}
        self.order: tuple[str, ...] = ()
        self._file = file
        self._base = 0
        #: Where the code of all modules of a plain call is once more, as one value.
        self._plain = (0, 0)
        #: Whether a module was asked for that is not in the file, or not any more.
        self._missed = file < 0
        if file < 0:
            return
        try:
            size = int(posix.read(file, _HEAD))
            entries, order, plain, length = loads(posix.read(file, size))  # noqa: S302 - ours, as .pyc are
            self._base = posix.lseek(file, 0, 1)
            if posix.fstat(file).st_size == self._base + length:
                self.entries, self.order, self._plain = entries, order, plain
        except (OSError, ValueError, EOFError, TypeError):
            return

    def find_spec(
        self,
        name: str,
        _path: "Sequence[str] | None" = None,
        _target: "ModuleType | None" = None,
    ) -> ModuleSpec | None:
        """Return where a module is, if it is in the file and its source has not changed."""
        entry = self.entries.get(name)
        if entry is None or not is_current(entry):
            self._missed = True
            return None
        return self._spec(name, entry)

    def _spec(self, name: str, entry: "Entry") -> ModuleSpec:
        origin, _, _, package, _, size = entry
        loader: Any = self if size else _Extension(name, origin)
        spec = ModuleSpec(name, loader, origin=origin, is_package=package)
        spec.has_location = True
        if package:
            spec.submodule_search_locations = [origin.rpartition("/")[0]]
        return spec

    def create_module(self, spec: ModuleSpec) -> "ModuleType | None":
        """Leave it to Python to make an empty module."""

    def exec_module(self, module: "ModuleType") -> None:
        """Run the code of a module."""
        exec(self.get_code(module.__name__), module.__dict__)  # noqa: S102 - this is an importer

    def get_code(self, name: str) -> "CodeType":
        """Return the code of a module that is in the file."""
        *_, offset, size = self.entries[name]
        code: CodeType = loads(posix.pread(self._file, size, self._base + offset))  # noqa: S302
        return code

    def load_ahead(self) -> None:
        """Make the modules that a plain call needs, in the order in which they need each other.

        Python's own way to a module takes as long as the module itself: locks, finders, specifications. Names
        that many of them use are read once, because all of their code is one value.
        """
        if not self.order:
            return
        make = type(sys)
        place, size = self._plain
        codes = loads(posix.pread(self._file, size, self._base + place))  # noqa: S302
        for name, code in zip(self.order, codes):  # noqa: B905 - of one length, as written
            entry = self.entries[name]
            above, _, leaf = name.rpartition(".")
            if name in sys.modules or not is_current(entry) or (above and above not in sys.modules):
                continue  # Python's own way finds it, after the package that it is in
            module: Any = make(name)  # without a specification, which nobody asks for again
            module.__file__, module.__package__ = entry[0], above
            if entry[3]:
                module.__package__ = name
                module.__path__ = [entry[0].rpartition("/")[0]]
            sys.modules[name] = module
            try:
                exec(code, module.__dict__)  # noqa: S102 - this is an importer
            except Exception:  # noqa: BLE001 - whatever it is, the long way finds out, or says what is wrong
                del sys.modules[name]
                self.entries, self.order, self._missed = {}, (), True
                return
            if above:
                setattr(sys.modules[above], leaf, module)

    def mend(self, source: str) -> bool:
        """Write the file anew if modules had to be looked for elsewhere; tell whether it was."""
        if self.order and not self._missed:
            return False
        loaded = {
            name: spec
            for name, module in list(sys.modules.items())
            if (spec := getattr(module, "__spec__", None)) is not None
        }
        new = {
            name: spec
            for name, spec in loaded.items()
            if _is_outside(spec) and not (name in self.entries and is_current(self.entries[name]))
        }
        ordered = bool(self.order) or DECIDES not in sys.modules
        if not new and ordered:
            return False
        if not ordered or any(name in self.order for name in new):
            self.order = tuple(
                name
                for name in sys.modules
                if name.partition(".")[0] == "dibs" and name != __name__
            )
        from dibs.startup.pack_write import write

        return write(self, new, source)


class _Site:
    """The last finder: what nobody knows may lie where Python's ``site`` would have looked."""

    def find_spec(
        self,
        name: str,
        path: "Sequence[str] | None" = None,
        _target: "ModuleType | None" = None,
    ) -> ModuleSpec | None:
        """Do what ``-S`` left out, once, and look again."""
        sys.meta_path.remove(self)
        import site

        site.main()
        from _frozen_importlib_external import PathFinder

        found: ModuleSpec | None = PathFinder.find_spec(name, path)
        return found


class _Extension(ExtensionFileLoader):
    """The loader of compiled modules. One of them asks for much more than it uses: see below."""

    def create_module(self, spec: ModuleSpec) -> "ModuleType":
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


def is_current(entry: "Entry") -> bool:
    try:
        now = posix.stat(entry[0])
    except OSError:
        return False
    return now.st_mtime_ns == entry[1] and now.st_size == entry[2]


def _is_outside(spec: ModuleSpec) -> bool:
    """Tell whether a module was found by the long way."""
    known = isinstance(spec.loader, SourceFileLoader | ExtensionFileLoader)
    return known and not isinstance(spec.loader, _Extension) and spec.name != "__main__"
