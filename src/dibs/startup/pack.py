"""Import a hook's modules from one file, which is much faster than finding a hundred files.

The file is a cache, like ``.pyc`` files. It is used if it belongs to this folder and the sources have not
changed; otherwise modules are imported normally, and the hook rewrites the file after answering.
``guard/run.py`` runs this module from the file, before any other Dibs module. See
docs/explanation/startup.md.
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
    from typing import Any

    #: A source's path, modification time and size; offset and size of its code.
    Entry = tuple[str, int, int, int, int]

NAME = f"hooks.{sys.implementation.cache_tag}.pack"
_PACKAGE = "/__init__.py"
#: The loaders of modules that Python itself found.
_PYTHONS_OWN = (SourceFileLoader, ExtensionFileLoader)
#: What reading damaged code can raise.
_DAMAGED = (OSError, EOFError, ValueError, TypeError)


class Pack:
    """Finds and loads the modules in the file.

    ``plain`` is the offset and size of the names and code of the modules that every call needs.
    """

    def __init__(
        self,
        package: str,
        file: int = -1,
        base: int = 0,
        entries: "dict[str, Entry] | None" = None,
        plain: tuple[int, int] = (0, 0),
    ) -> None:
        self.package = package
        self.entries = entries or {}
        self.plain = plain
        #: Whether a needed module is not in the file.
        self.lacks = not self.entries
        self._file, self._base = file, base
        self._codes: dict[str, CodeType] = {}

    def run_alone(self, name: str) -> "dict[str, Any]":
        """Run a module without its parent packages, and return its namespace."""
        entry, own = self.entries[name], self.entries["dibs.startup.pack"]
        if own[0] != f"{self.package}/startup/pack.py":
            raise ValueError  # the folder was copied together with its pack
        if not is_current(own) or not is_current(entry):
            raise ValueError
        space = {"__name__": name, "__file__": entry[0]}
        exec(self._load(*entry[3:]), space)  # noqa: S102 - this is an importer
        return space

    def _load(self, offset: int, size: int) -> "Any":
        return loads(posix.pread(self._file, size, self._base + offset))  # noqa: S302 - ours, as .pyc are

    def install(self) -> None:
        """Let Python find modules here, then next to our package, and finally where ``site`` looks."""
        sys.meta_path.insert(2, self)  # after the finders of built-in and frozen modules
        sys.meta_path.append(_SiteFinder())
        sys.path += _search_path(self.package)
        try:
            plain = self._load(*self.plain) if self.plain[1] else ()
        except _DAMAGED:
            plain = ()
        if plain and self._are_current(plain):
            self._preload(plain)
        else:
            self.entries, self.lacks = {}, True

    def _are_current(self, plain: "Sequence[tuple[str, CodeType]]") -> bool:
        """Return whether no source has changed; an inlined ``is_current``."""
        look, entries = posix.stat, self.entries
        try:
            for name, _ in plain:
                path, changed, size, _, _ = entries[name]
                now = look(path)
                if now.st_mtime_ns != changed or now.st_size != size:
                    return False
        except OSError:
            return False
        return True

    def _preload(self, plain: "Sequence[tuple[str, CodeType]]") -> None:
        """Create the modules that every call needs, in order of dependency.

        Python's import machinery (locks, finders, specs) takes as long as the modules themselves.
        """
        make = type(sys)
        for name, code in plain:
            if name in sys.modules:  # an earlier one imported it: the list is outdated
                continue
            path = self.entries[name][0]
            above, _, leaf = name.rpartition(".")
            module: Any = make(name)
            module.__file__, module.__package__ = path, above
            if path.endswith(_PACKAGE):
                module.__package__, module.__path__ = name, [path.rpartition("/")[0]]
            sys.modules[name] = module
            exec(code, module.__dict__)  # noqa: S102 - this is an importer
            if above:
                setattr(sys.modules[above], leaf, module)

    def find_spec(
        self,
        name: str,
        _path: "Sequence[str] | None" = None,
        _target: "ModuleType | None" = None,
    ) -> ModuleSpec | None:
        """Return the spec of a module that is in the file, undamaged, and current."""
        entry = self.entries.get(name)
        try:
            if entry is None or not is_current(entry):
                raise ValueError
            path, _, _, offset, size = entry
            if not size and path.endswith(".py"):  # a plain one, needed before its turn
                return None
            loader: Any = _ExtensionLoader(name, path)
            if size:
                self._codes[name], loader = self._load(offset, size), self
        except _DAMAGED:
            self.entries.pop(name, None)
            self.lacks = True
            return None
        package = path.endswith(_PACKAGE)
        spec = ModuleSpec(name, loader, origin=path, is_package=package)
        spec.has_location = True
        if package:
            spec.submodule_search_locations = [path.rpartition("/")[0]]
        return spec

    def create_module(self, spec: ModuleSpec) -> "ModuleType | None":
        """Let Python create an empty module."""

    def exec_module(self, module: "ModuleType") -> None:
        """Run the code of a module."""
        exec(self._codes.pop(module.__name__), module.__dict__)  # noqa: S102 - this is an importer

    def update(self, plain: "Sequence[str]", alone: "Sequence[str]") -> None:
        """Rewrite the file if modules were found elsewhere."""
        specs = {name: getattr(one, "__spec__", None) for name, one in list(sys.modules.items())}
        found = {
            name: str(spec.origin)
            for name, spec in specs.items()
            if spec is not None and type(spec.loader) in _PYTHONS_OWN and name not in self.entries
        }
        folder = f"{self.package}/guard/__pycache__"
        if found and posix.access(f"{folder}/.", posix.W_OK):
            from dibs.startup.pack_write import write

            write(self, f"{folder}/{NAME}", plain, alone, found)


def is_current(entry: "Entry") -> bool:
    """Return whether a source has not changed since its code was put into the file."""
    try:
        now = posix.stat(entry[0])
    except OSError:
        return False
    return now.st_mtime_ns == entry[1] and now.st_size == entry[2]


class _SiteFinder:
    """The last finder: an unknown module may be where Python's ``site`` would have looked."""

    def find_spec(
        self,
        name: str,
        path: "Sequence[str] | None" = None,
        _target: "ModuleType | None" = None,
    ) -> ModuleSpec | None:
        """Do once what ``-S`` left out, and look again."""
        if name.partition(".")[0] in sys.stdlib_module_names:
            return None  # this Python lacks it: many modules try to import another platform's
        sys.meta_path.remove(self)
        import site

        site.main()
        from _frozen_importlib_external import PathFinder

        found: ModuleSpec | None = PathFinder.find_spec(name, path)
        return found


class _ExtensionLoader(ExtensionFileLoader):
    """Loads compiled modules.

    ``apsw`` registers a type with ``collections.abc``, whose classes are all in ``_collections_abc``; the
    rest of ``collections`` takes longer to load than a claim.
    """

    def create_module(self, spec: ModuleSpec) -> "ModuleType":
        """Load a compiled module."""
        import _collections_abc

        wanted = ("collections", "collections.abc") if spec.name == "apsw" else ()
        lent = [name for name in wanted if name not in sys.modules]
        sys.modules.update(dict.fromkeys(lent, _collections_abc))
        try:
            return super().create_module(spec)
        finally:
            for name in lent:
                del sys.modules[name]


def _search_path(package: str) -> list[str]:
    """Return the folders of packages: the one with Dibs and, for a source tree, this Python's own."""
    beside = package.rpartition("/")[0]
    if beside.endswith("-packages"):
        return [beside]
    environment = sys.executable.rpartition("/bin/")[0]
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    return [beside, f"{environment}/lib/{version}/site-packages"]
