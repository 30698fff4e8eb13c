"""Write the file with a hook's modules: its current content, the listed modules, and those just loaded."""

from __future__ import annotations

import ast
import posix
from _frozen_importlib_external import MAGIC_NUMBER, SourceFileLoader
from marshal import dumps

from dibs.startup.pack import is_current

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import CodeType

    from dibs.startup.pack import Entry, Pack

_PACK = "dibs.startup.pack"


def write(
    pack: Pack, path: str, plain: Sequence[str], alone: Sequence[str], found: Mapping[str, str]
) -> bool:
    """Write a new file atomically, with modules that were ``found`` elsewhere."""
    draft = f"{path}.{posix.getpid()}"
    try:
        content = _content(pack, plain, alone, found)
        file = posix.open(draft, posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL, 0o644)
    except (OSError, ImportError, SyntaxError, ValueError):
        return False
    try:
        if posix.write(file, content) < len(content):
            raise OSError  # noqa: TRY301 - the disk is full
        posix.fsync(file)  # otherwise a system crash may leave a file with holes
        posix.replace(draft, path)
    except OSError:
        posix.unlink(draft)
        return False
    finally:
        posix.close(file)
    return True


def _content(
    pack: Pack, plain: Sequence[str], alone: Sequence[str], found: Mapping[str, str]
) -> bytes:
    first = dict(_listed(pack.package, plain))
    rest = dict(_listed(pack.package, (_PACK, *alone))) | dict(found)
    rest |= {name: entry[0] for name, entry in pack.entries.items() if is_current(entry)}
    paths = rest | first
    # Stat sources before reading them: one that changes in between then does not match its code.
    stats = {name: posix.stat(path) for name, path in paths.items()}
    codes = {name: _code(name, path) for name, path in paths.items()}
    blobs = {
        name: dumps(code) if code else b"" for name, code in codes.items() if name not in first
    }
    blobs[""] = dumps([(name, codes[name]) for name in first])
    entries: dict[str, Entry] = {}
    place = 0
    for name, path in paths.items():
        size = len(blobs.get(name, b""))
        entries[name] = (path, stats[name].st_mtime_ns, stats[name].st_size, place, size)
        place += size
    head = dumps((codes[_PACK], entries, (place, len(blobs[""]))))
    return b"".join((MAGIC_NUMBER, b"%12d" % len(head), head, *blobs.values()))


def _listed(package: str, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the modules that exist: an outdated list only costs time."""
    base = package.rpartition("/")[0]
    for name in names:
        stem = f"{base}/{name.replace('.', '/')}"
        for path in (f"{stem}.py", f"{stem}/__init__.py"):
            if posix.access(path, posix.R_OK):
                yield name, path
                break


def _code(name: str, path: str) -> CodeType | None:
    """Return the code of a module; None for an extension module."""
    if not path.endswith(".py"):
        return None
    if name.partition(".")[0] != "dibs":
        return SourceFileLoader(name, path).get_code(name)
    with open(path, "rb") as file:
        tree = _Bare().visit(ast.parse(file.read(), path))
    code: CodeType = compile(tree, path, "exec", annotations.compiler_flag, dont_inherit=True)
    return code


class _Bare(ast.NodeTransformer):
    """Removes the parts that no hook uses: docstrings, and type annotations except those of records."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        is_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return ast.copy_location(ast.Pass(), node) if is_text else self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        return None if node.module == "__future__" else node

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        checked = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        return node.orelse if checked else node
