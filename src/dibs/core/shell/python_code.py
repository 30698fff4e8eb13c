"""Find what a Python program inside a command writes, by its syntax tree. Pure; nothing is run."""

from __future__ import annotations

import _ast as ast
import warnings

from dibs.core.shell.options import base
from dibs.core.shell.python_values import ProgramValues, joined, name_of, walk
from dibs.core.shell.words import MOST_ARGS, Arg
from dibs.core.toolcalls.values import How
from dibs.core.toolcalls.verbs import changes_database

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.shell.effects import ShellEffects
    from dibs.core.shell.python_values import Texts

_ONLY_AST = 0x400
_CHANGED = frozenset("wax+")
#: Functions by their last name, and what they do to their arguments.
_CALLS = {
    **dict.fromkeys(("remove", "unlink", "rmdir", "rmtree", "removedirs"), (How.DELETE,)),
    **dict.fromkeys(("rename", "replace", "renames", "move"), (How.DELETE, How.WRITE)),
    **dict.fromkeys(("copy", "copyfile", "copy2", "copytree"), ("", How.WRITE)),
    **dict.fromkeys(("truncate", "chmod", "mknod"), (How.WRITE,)),
}
_MODULES = frozenset({"os", "shutil", "io", "codecs", "gzip", "pathlib"})
#: Methods of a path, and what they do to it.
_METHODS = {
    **dict.fromkeys(("write_text", "write_bytes", "touch", "chmod"), How.WRITE),
    **dict.fromkeys(("unlink", "rmdir", "rename", "replace"), How.DELETE),
}
_RUNS = frozenset(
    {"run", "call", "check_call", "check_output", "Popen", "system", "popen", "getoutput"}
)


def look(to: ShellEffects, code: str) -> None:
    """Collect what a program writes, if it can be parsed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = compile(code, "program", "exec", _ONLY_AST, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        to.unsure = True
        return
    nodes = list(walk(tree))
    values = ProgramValues(to.code_args)
    program = _ProgramCalls(to, values)
    try:
        values.learn(nodes)
        for node in nodes:
            if isinstance(node, ast.Call):
                program.call(node)
                program.connect(node)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                program.changes_data = program.changes_data or changes_database(node.value)
        program.write_databases()
    except RecursionError:  # an expression with thousands of parts
        to.unsure = True


class _ProgramCalls:
    """Records what the calls of a program do."""

    def __init__(self, to: ShellEffects, values: ProgramValues) -> None:
        self._to = to
        self._texts = values.texts
        self._items = values.items
        #: Whether the program contains a statement that changes a database, and the databases.
        self.changes_data = False
        self._databases: list[Texts] = []

    def call(self, node: ast.Call) -> None:
        """Record what a call writes."""
        name = name_of(node.func)
        if name == "chdir" and node.args:
            self._go(node.args[0])
        elif name == "open":
            self._open(node)
        elif name in _RUNS:
            self._run(node)
        elif name in {"input", "FileInput"} and self._keyword(node, "inplace") is not None:
            files = node.args[0] if node.args else self._keyword(node, "files")
            self._touch(self._texts(files) or self._items(files))
        elif name == "extractall":
            self._extract(node)
        elif name in _METHODS and not self._is_module(node.func):
            self._method(node, name)
        elif name in _CALLS and (self._is_module(node.func) or isinstance(node.func, ast.Name)):
            source = self._texts(node.args[0] if node.args else None)
            into = base(source[0]) if source and name in {"copy", "copy2", "move"} else ""
            for arg, how in zip(node.args, _CALLS[name], strict=False):
                if how:
                    deep = how == How.DELETE or name == "copytree"
                    self._touch(
                        self._texts(arg), how, deep=deep, into=into if how == How.WRITE else ""
                    )

    def connect(self, node: ast.Call) -> None:
        """Record a database that a call opens."""
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        if owner is not None and name_of(owner) == "sqlite3" and node.args:
            self._databases.append(self._texts(node.args[0]))

    def write_databases(self) -> None:
        """Record a write of each database that the program opens, if it changes any."""
        for texts in self._databases if self.changes_data else ():
            self._touch(texts)

    def _open(self, node: ast.Call) -> None:
        """Open a file to change it: as a function, as a method of a path, or by its flags."""
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        own = None if owner is None or self._is_module(node.func) else self._texts(owner)
        args = list(node.args)
        if own is None:
            first = args.pop(0) if args else self._keyword(node, "file")
            own = self._texts(first)
        mode = args[0] if args else self._keyword(node, "mode")
        flags = [one.attr for one in walk(mode) if isinstance(one, ast.Attribute)] if mode else []
        if flags:
            changes = any(flag in {"O_WRONLY", "O_RDWR", "O_TRUNC", "O_CREAT"} for flag in flags)
        else:
            texts = self._texts(mode)
            changes = texts is not None and not _CHANGED.isdisjoint("".join(texts))
            changes = changes and all(len(text) <= 4 for text in texts or ())  # noqa: PLR2004
        if changes:
            self._touch(own)

    def _method(self, node: ast.Call, name: str) -> None:
        own = self._texts(node.func.value) if isinstance(node.func, ast.Attribute) else None
        if own is None:
            if name in {"write_text", "write_bytes"}:
                self._to.unsure = True
            return
        if name == "replace" and len(node.args) != 1:
            return  # a method of a text
        self._touch(own, _METHODS[name], deep=_METHODS[name] == How.DELETE)
        if name in {"rename", "replace"}:
            self._touch(self._texts(node.args[0]) if node.args else None)

    def _extract(self, node: ast.Call) -> None:
        """Unpack an archive that was opened by its name."""
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        archive = self._texts(owner.args[0]) if isinstance(owner, ast.Call) and owner.args else None
        folder = self._texts(node.args[0] if node.args else self._keyword(node, "path")) or ("",)
        path = self._to.at(Arg(archive[0])) if archive else None
        names = None if path is None else self._to.disk.members(path)
        if names is None:
            self._to.unsure = True
        self._touch(joined([folder, tuple(names)]) if names else ())

    def _run(self, node: ast.Call) -> None:
        """Process the command that a program starts."""
        first = node.args[0] if node.args else self._keyword(node, "args")
        texts, outer, folder = self._texts(first), self._to.place, self._keyword(node, "cwd")
        if folder is not None:
            self._go(folder)
        if texts is not None:
            for text in texts[:3]:
                self._to.script(text)
        elif isinstance(first, ast.List | ast.Tuple):
            words = [self._texts(one) for one in first.elts]
            self._to.run([Arg((one or ("…",))[0], sure=bool(one)) for one in words])
        self._to.place = outer

    def _go(self, folder: ast.expr) -> None:
        """Change the current folder."""
        found = self._texts(folder)
        self._to.go(Arg(found[0] if found and len(found) == 1 else "", sure=bool(found)))

    def _touch(
        self, texts: Texts, how: str = How.WRITE, *, deep: bool = False, into: str = ""
    ) -> None:
        if texts is None:
            self._to.unsure = True
            return
        for text in texts[:MOST_ARGS]:
            self._to.touch(Arg(text, "*" in text), how, deep=deep, into=into)

    @staticmethod
    def _keyword(node: ast.Call, name: str) -> ast.expr | None:
        return next((one.value for one in node.keywords if one.arg == name), None)

    @staticmethod
    def _is_module(node: ast.expr) -> bool:
        return isinstance(node, ast.Attribute) and name_of(node.value) in _MODULES
