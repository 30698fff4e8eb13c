"""Generate the calls of ``dibs.client`` and their types from the server's routes and the JSON contract.

With --check it writes nothing and fails if a file is out of date.
"""

from __future__ import annotations

import argparse
import json
import keyword
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import inspect

from dibs.server.rest.app import ROUTES
from dibs.shapes.contract import ANSWERS, VALUES
from dibs.shapes.schema import fields

if TYPE_CHECKING:
    from dibs.server.rest.routes import ApiRoute

CLIENT = Path(__file__).resolve().parent.parent / "src" / "dibs" / "client"
_PLAIN = {
    "any": "Any", "bool": "bool", "int": "int", "number": "float", "time": "float", "span": "float",
}  # fmt: skip
_TEXTS = frozenset({"string", "text", "word", "path", "file"})


def main() -> int:
    """Write the files, or report which are out of date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    stub = CLIENT / "calls.pyi"
    stale = []
    for path, text in {stub: formatted(types(), stub), CLIENT / "operations.json": table()}.items():
        if not path.exists() or path.read_text("utf-8") != text:
            stale.append(path)
            if not check:
                path.write_text(text, "utf-8")
    for path in stale:
        print(f"{path.name}: {'out of date' if check else 'written'}")
    return 1 if check and stale else 0


def table() -> str:
    """Return the operations as the client reads them: method, path, and arguments by name."""
    rows = []
    for route in ROUTES:
        info = inspect.type_info(route.takes)
        assert isinstance(info, inspect.StructType)
        names = [field.encode_name for field in info.fields]
        rows.append(f"  {json.dumps(route.name)}: {json.dumps([route.method, route.path, names])}")
    return "{\n" + ",\n".join(rows) + "\n}\n"


def types() -> str:
    """Return the type stub: every value, every answer, and every call."""
    nouns: dict[str, list[ApiRoute]] = {}
    for route in ROUTES:
        nouns.setdefault(route.name.partition(".")[0], []).append(route)
    blocks = [typed(data(name), line) for name, line in VALUES.items()]
    for route in {answer(route): route for route in ROUTES}.values():
        line = ANSWERS.get(route.tells, route.tells)
        if not line.startswith("="):
            blocks.append(typed(answer(route), line))
    for noun, routes in nouns.items():
        blocks.append(f"class {calls_class(noun)}:\n" + "\n".join(map(method, routes)))
    rows = "".join(
        f"    @property\n    def {noun}(self) -> {calls_class(noun)}: ...\n" for noun in nouns
    )
    blocks.append(f"class ServerCalls:\n    def __init__(self, send: Send) -> None: ...\n{rows}")
    head = (
        "# scripts/client.py generates this file.\n"
        "from builtins import list as Many  # some classes have a method list\n"
        "from collections.abc import Callable\nfrom typing import Any, NotRequired, TypeAlias, TypedDict\n\n"
        "Send: TypeAlias = Callable[[str, str, dict[str, Any]], Any]\n\n"
    )
    return head + "\n\n".join(blocks)


def formatted(text: str, path: Path) -> str:
    """Return code as ruff formats it."""
    ruff = [
        str(Path(sys.executable).with_name("ruff")),
        "format",
        "--stdin-filename",
        str(path),
        "-",
    ]
    return subprocess.run(ruff, input=text, capture_output=True, text=True, check=True).stdout


def typed(name: str, line: str) -> str:
    """Return one line of the contract as a class."""
    found = {field.name: field for field in fields(line)}
    rows = []
    for field in found.values():
        kind = type_of(field.type, many=field.many, null=field.null)
        rows.append((field.name, f"NotRequired[{kind}]" if field.optional else kind))
    if any(keyword.iskeyword(key) for key, _ in rows):
        inner = ", ".join(f"{key!r}: {kind}" for key, kind in rows)
        return f"{name} = TypedDict({name!r}, {{{inner}}})\n"
    body = "\n".join(f"    {key}: {kind}" for key, kind in rows)
    return f"class {name}(TypedDict):\n{body}\n"


def type_of(name: str, *, many: bool, null: bool) -> str:
    """Return the Python type of a field of the contract."""
    kind = "str" if name in _TEXTS else _PLAIN.get(name) or data(name)
    kind = f"Many[{kind}]" if many else kind
    return f"{kind} | None" if null and kind != "Any" else kind


def data(name: str) -> str:
    """Return the class of a value."""
    return "".join(part.capitalize() for part in name.split("_")) + "Data"


def answer(route: ApiRoute) -> str:
    """Return the type of a route's answer: that of a command, or one of its own."""
    line = ANSWERS.get(route.tells, route.tells)
    if line.startswith("="):
        (only,) = fields(f"answer:{line[1:]}")
        return type_of(only.type, many=only.many, null=only.null)
    name = route.tells if route.tells in ANSWERS else route.name
    return "".join(word.title() for word in re.split(r"[\W_]+", name)) + "Answer"


def calls_class(noun: str) -> str:
    """Return the class of a noun."""
    return "".join(part.capitalize() for part in noun.split("_")) + "Calls"


def method(route: ApiRoute) -> str:
    """Return one operation as a method."""
    name = route.name.partition(".")[2].replace(".", "_").replace("-", "_")
    name = f"{name}_" if keyword.iskeyword(name) else name
    in_path = [part.partition(":")[0] for part in re.findall(r"\{([^}]+)\}", route.path)]
    info = inspect.type_info(route.takes)
    assert isinstance(info, inspect.StructType)
    ordered = sorted(info.fields, key=lambda field: not field.required)
    parameters = [f"{one}: str" for one in in_path]
    if ordered:
        parameters.append("*")
    for field in ordered:
        spelled = (
            f"{field.name}_"
            if keyword.iskeyword(field.name) or field.name in in_path
            else field.name
        )
        kind = python_type(field.type)
        if field.required:
            parameters.append(f"{spelled}: {kind}")
        else:
            optional = kind if kind.endswith("None") or kind == "Any" else f"{kind} | None"
            parameters.append(f"{spelled}: {optional} = None")
    signature = ", ".join(["self", *parameters])
    return f"    def {name}({signature}) -> {answer(route)}: ..."


def python_type(info: inspect.Type) -> str:
    """Return the Python type of a field of a request."""
    simple: dict[type[Any], str] = {
        inspect.StrType: "str", inspect.IntType: "int", inspect.FloatType: "float",
        inspect.BoolType: "bool", inspect.NoneType: "None", inspect.AnyType: "Any",
    }  # fmt: skip
    if isinstance(info, inspect.UnionType):
        parts = dict.fromkeys(python_type(one) for one in info.types)
        return " | ".join(sorted(parts, key=lambda part: part == "None"))
    if isinstance(info, inspect.ListType):
        return f"Many[{python_type(info.item_type)}]"
    if isinstance(info, inspect.LiteralType):
        return "str"
    if isinstance(info, inspect.Metadata):
        return python_type(info.type)
    return simple.get(type(info), "Any")


if __name__ == "__main__":
    sys.exit(main())
