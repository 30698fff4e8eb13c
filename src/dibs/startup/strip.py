"""Compile a module to what it does, without what it says about itself.

Docstrings, annotations of functions and tables of lines are for readers; in a process of some milliseconds
reading them costs more than a claim. Annotations of classes stay: records are made of them.
"""

from __future__ import annotations

import ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType


def lean(source: bytes, path: str) -> CodeType:
    """Return the code of a module."""
    import __future__

    tree = _Lean().visit(ast.parse(source, path))
    whole = ast.fix_missing_locations(tree)
    code: CodeType = compile(
        whole, path, "exec", __future__.annotations.compiler_flag, dont_inherit=True
    )
    return _bare(code)


class _Lean(ast.NodeTransformer):
    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        given = node.args
        all_of_them = [
            *given.posonlyargs,
            *given.args,
            *given.kwonlyargs,
            given.vararg,
            given.kwarg,
        ]
        for one in all_of_them:
            if one is not None:
                one.annotation = None
        return self._undocumented(node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        """Drop what only tells the compiler something: it is told so."""
        return None if node.module == "__future__" else node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self._undocumented(node)

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt] | None:
        """Drop what only a type checker sees."""
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return [kept for one in node.orelse if (kept := self.visit(one)) is not None]
        self.generic_visit(node)
        return node

    def _undocumented(self, node: ast.FunctionDef | ast.ClassDef) -> ast.AST:
        if ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
        self.generic_visit(node)
        return node


def _bare(code: CodeType) -> CodeType:
    """Return code without the tables of its lines, which only a traceback would show."""
    kind = type(code)
    consts = tuple(_bare(one) if isinstance(one, kind) else one for one in code.co_consts)
    return code.replace(co_consts=consts, co_linetable=b"")
