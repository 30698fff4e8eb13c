"""The constant texts and paths in a Python program: literals, variables, joins, loops, and calls. Pure.

A value is a set of texts, each a path or a pattern; None if unknown.
"""

from __future__ import annotations

import _ast as ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dibs.core.shell.words import Arg

    Texts = tuple[str, ...] | None

#: The most values of one expression.
_MOST = 200
#: Functions that call each other at most this deep pass values on.
_DEPTH = 3
_PATHS = frozenset({
    "Path", "PosixPath", "PurePath", "str", "fspath", "abspath", "realpath", "normpath",
})  # fmt: skip
_SAME = frozenset({"resolve", "absolute", "expanduser", "as_posix", "strip"})
_LISTS = frozenset({"sorted", "list", "set", "reversed", "tuple", "iter"})


class ProgramValues:
    """The known variables of a program, and the values of its expressions."""

    def __init__(self, args: Sequence[Arg]) -> None:
        self._args = args
        self._known: dict[str, Texts] = {}
        #: The lists and dictionaries that variables are set to.
        self._literals: dict[str, ast.expr] = {}
        #: The parameters of each function, and the values that calls give to all of them.
        self._functions: dict[str, list[str]] = {}
        self._given: dict[str, Texts] = {}
        self._kinds: dict[type, Callable[..., Texts]] = {
            ast.Constant: self._constant,
            ast.Name: lambda node: self._known.get(node.id),
            ast.JoinedStr: self._formatted,
            ast.BinOp: self._combined,
            ast.Call: self._returned,
            ast.Attribute: lambda node: (
                self.texts(node.value) if node.attr in {"path", "name"} else None
            ),
            ast.Subscript: self._argument,
        }

    def texts(self, node: ast.expr | None) -> Texts:
        """Return the possible values of an expression that is a text or a path."""
        kind = self._kinds.get(type(node))
        return None if kind is None else kind(node)

    def learn(self, nodes: Sequence[ast.AST]) -> None:
        """Record the values of all variables."""
        for node in reversed(nodes):  # inner functions first
            if isinstance(node, ast.FunctionDef):
                self._define(node)
        for _ in range(_DEPTH if self._functions else 1):
            self._known, self._given = self._given, {}
            for node in nodes:
                self._assign(node)

    def _define(self, node: ast.FunctionDef) -> None:
        """Make the names of a function's parameters unique."""
        own = {one.arg: f"{node.name}({one.arg}" for one in node.args.args}
        self._functions[node.name] = list(own.values())
        for inner in walk(node):
            if isinstance(inner, ast.Name):
                inner.id = own.get(inner.id, inner.id)

    def _assign(self, node: ast.AST) -> None:
        """Record the values of a variable: all that are assigned, or that a loop or a call sets."""
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            self._set(node.targets[0], self.texts(node.value) or self.items(node.value))
            if isinstance(node.targets[0], ast.Name):
                self._literals[node.targets[0].id] = node.value
        elif isinstance(node, ast.NamedExpr):
            self._set(node.target, self.texts(node.value))
        elif isinstance(node, ast.For | ast.comprehension):
            self._loop(node.target, node.iter)
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            self._set(node.optional_vars, None)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            name = node.func.id
            named = ((f"{name}({one.arg}", one.value) for one in node.keywords)
            for one, arg in (*zip(self._functions.get(name, ()), node.args, strict=False), *named):
                _add(self._given, one, self.texts(arg) or self.items(arg))

    def _loop(self, target: ast.expr, over: ast.expr) -> None:
        if isinstance(target, ast.Tuple):
            for one, texts in zip(target.elts, self._columns(over), strict=False):
                self._set(one, texts)
        else:
            self._set(target, self.items(over))

    def _columns(self, over: ast.expr) -> list[Texts]:
        """Return the values of each variable of a loop that sets several."""
        name = name_of(over.func) if isinstance(over, ast.Call) else ""
        first = over.args[0] if isinstance(over, ast.Call) and over.args else None
        if name in {"walk", "fwalk"}:
            top = self.texts(first)
            return [None if top is None else tuple(f"{one}/**" for one in top), ("*",), ("*",)]
        if first is not None and name in {"enumerate", *_LISTS}:
            return [None, self.items(first)] if name == "enumerate" else self._columns(first)
        if name == "items" and isinstance(over, ast.Call) and isinstance(over.func, ast.Attribute):
            over = over.func.value
        found = self._literals.get(over.id) if isinstance(over, ast.Name) else over
        if isinstance(found, ast.Dict):
            return [self._all(found.keys), self._all(found.values)]
        rows = [getattr(row, "elts", ()) for row in getattr(found, "elts", ())]
        return [self._all(column) for column in zip(*rows, strict=False)]

    def _all(self, nodes: Sequence[ast.expr | None]) -> Texts:
        """Return the values of all of these expressions; None if one is unknown."""
        found = [self.texts(one) for one in nodes]
        if None in found:
            return None
        return tuple(text for texts in found for text in texts or ())[:_MOST]

    def _set(self, target: ast.expr, texts: Texts) -> None:
        if isinstance(target, ast.Name):
            _add(self._known, target.id, texts)

    def items(self, node: ast.expr | None) -> Texts:
        """Return the values of the items of a list, or of files that a function lists."""
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            return self._all(node.elts)
        if isinstance(node, ast.Dict):
            return self._all(node.keys)
        if isinstance(node, ast.Name):
            return self._known.get(node.id)
        return self._listed(node) if isinstance(node, ast.Call) else None

    def _listed(self, node: ast.Call) -> Texts:
        """Return the files that a function lists, as patterns."""
        name = name_of(node.func)
        if name in _LISTS and node.args:
            return self.items(node.args[0])
        if name in {"listdir", "scandir"}:
            return ("*",)
        if name not in {"glob", "rglob", "iglob", "iterdir"}:
            return None
        given = ("*",) if name == "iterdir" else self.texts(node.args[0]) if node.args else ()
        place = self.texts(node.func.value) if isinstance(node.func, ast.Attribute) else None
        if place is None:  # the module glob
            return given
        deep = "**/" if name == "rglob" else ""
        return products(place, [f"/{deep}{text}" for text in given or ()])

    def _constant(self, node: ast.Constant) -> Texts:
        return (node.value,) if isinstance(node.value, str) else None

    def _combined(self, node: ast.BinOp) -> Texts:
        left, right = self.texts(node.left), self.texts(node.right)
        sign = "/" if isinstance(node.op, ast.Div) else "" if isinstance(node.op, ast.Add) else None
        if left is None or right is None or sign is None:
            return None
        return products(left, [sign + text for text in right])

    def _formatted(self, node: ast.JoinedStr) -> Texts:
        found: Texts = ("",)
        for part in node.values:
            texts = self.texts(part.value if isinstance(part, ast.FormattedValue) else part)
            if texts is None or found is None:
                return None
            found = products(found, texts)
        return found

    def _argument(self, node: ast.Subscript) -> Texts:
        """Return an item of ``sys.argv``."""
        index = node.slice
        number = index.value if isinstance(index, ast.Constant) else None
        if name_of(node.value) != "argv" or not isinstance(number, int):
            return None
        found = self._args[number - 1 : number] if number > 0 else ()
        return tuple(arg.text for arg in found if arg.sure) or None

    def _returned(self, node: ast.Call) -> Texts:
        """Return the path that a function or method builds."""
        name = name_of(node.func)
        parts = [self.texts(arg) for arg in node.args]
        if name in _PATHS:
            return joined(parts)
        if name in {"cwd", "getcwd"}:
            return (".",)
        if not isinstance(node.func, ast.Attribute):
            return None
        if name == "join":
            glue = node.func.value
            return self._glued(glue, node) if isinstance(glue, ast.Constant) else joined(parts)
        own = self.texts(node.func.value)
        return joined([own, *parts]) if name == "joinpath" else own if name in _SAME else None

    def _glued(self, glue: ast.expr, node: ast.Call) -> Texts:
        """Return ``'/'.join([…])`` of known texts."""
        sign = self.texts(glue)
        items = getattr(node.args[0], "elts", ()) if node.args else ()
        whole = [self.texts(one) for one in items]
        if sign is None or not whole or any(one is None or len(one) != 1 for one in whole):
            return None
        return (sign[0].join("".join(one or ()) for one in whole),)


def _add(known: dict[str, Texts], name: str, texts: Texts) -> None:
    """Add to the values of a variable; they are unknown if one is."""
    before = known.get(name, ())
    both = dict.fromkeys((*(before or ()), *(texts or ())))
    known[name] = None if before is None or texts is None else tuple(both)[:_MOST]


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes, in the order of the text."""
    pending = [node]
    while pending:
        one = pending.pop()
        yield one
        below: list[ast.AST] = []
        for name in one._fields:
            value = getattr(one, name, None)
            some = value if isinstance(value, list) else [value]
            below += [child for child in some if isinstance(child, ast.AST)]
        pending += reversed(below)


def name_of(node: ast.expr) -> str:
    """Return the last name of a function or a module."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def products(left: Sequence[str], right: Sequence[str]) -> tuple[str, ...]:
    """Return all texts that start with one and end with the other."""
    return tuple(a + b for a in left for b in right)[:_MOST]


def joined(parts: Sequence[Texts]) -> Texts:
    """Return all paths of which these are the parts."""
    found: Texts = None
    for part in parts:
        if part is None:
            return None
        whole = found is None or found == ("",)
        found = part if whole else products(found or (), [f"/{text}" for text in part])
    return found
