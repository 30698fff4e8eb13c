"""The table of error codes agrees with every place that raises one."""

import ast
import re
from pathlib import Path

import pytest

from dibs import errors
from dibs.core.crew.text_command_fields import COMMANDS
from dibs.errors.codes import CODES, EXIT_STATUSES

SOURCE = Path(errors.__file__).parent.parent
TREES = [
    (str(path.relative_to(SOURCE)), ast.parse(path.read_text("utf-8")))
    for path in SOURCE.rglob("*.py")
    if path.name != "codes.py"
]
ERRORS = [kind for kind in vars(errors).values() if isinstance(kind, type)]
CODE = re.compile(r"[A-Z][A-Z_]{3,}")
#: Codes of these families are also passed as positional arguments.
FAMILIES = re.compile(r"(PATH|GLOB|STORE|STORAGE|AGENT|REQUEST|TTL|WAIT|TASK|YAML)_[A-Z_]+")


def raise_sites():
    """Yield the location, class, and code of each raised error that names its code."""
    for path, tree in TREES:
        for node in ast.walk(tree):
            kind = getattr(errors, ast.unparse(node.func), None) if is_call(node) else None
            for keyword in node.keywords if kind else ():
                if keyword.arg == "code" and isinstance(keyword.value, ast.Constant):
                    yield f"{path}:{node.lineno}", kind, keyword.value.value


def is_call(node):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name)


def codes_in_source():
    """Return every code that an error or a refusal can have."""
    found = set()
    for _, tree in TREES:
        for node in ast.walk(tree):
            if is_code(node):
                found |= constants(node)
            elif isinstance(node, ast.Constant) and FAMILIES.fullmatch(str(node.value)):
                found.add(node.value)
    return {code for code in found if CODE.fullmatch(code)} - {*COMMANDS}


def is_code(node):
    if isinstance(node, ast.Assign):
        return ast.unparse(node.targets[0]) in {"code", "CODES"}
    if isinstance(node, ast.FunctionDef):
        return node.name == "code"
    return isinstance(node, ast.keyword) and node.arg == "code"


def constants(tree):
    nodes = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    return {value for value in nodes if isinstance(value, str)}


def test_the_table_has_exactly_the_codes_that_the_source_uses():
    assert set(CODES) == codes_in_source()


def test_every_raise_uses_a_class_that_its_code_allows():
    sites = list(raise_sites())

    assert len(sites) > 200
    assert [site for site in sites if site[1] not in CODES[site[2]].kinds] == []


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
def test_the_code_of_a_class_is_in_the_table_with_that_class(kind):
    assert kind in CODES[kind.code].kinds


def test_every_code_has_a_documented_exit_status():
    statuses = {kind.exit_status for code in CODES.values() for kind in code.kinds}

    assert statuses <= set(EXIT_STATUSES)
