"""The JSON contract is a valid schema, and every value in it is part of some answer."""

from jsonschema import Draft202012Validator

from dibs.mcp.registry import TOOLS
from dibs.server.rest.app import TABLE
from dibs.shapes.contract import ANSWERS, VALUES
from dibs.shapes.schema import author_key, document, fields, with_values


def test_the_contract_is_a_valid_json_schema():
    whole = document()

    for part in (*whole["$defs"].values(), *whole["answers"].values()):
        Draft202012Validator.check_schema(part)


def test_every_value_is_part_of_an_answer():
    used = set()
    for line in (*ANSWERS.values(), *(route.tells for _, route in TABLE)):
        if line in ANSWERS:
            continue  # a route with the answer of a command
        used |= set(with_values(line.lstrip("=")).get("$defs", ()))
        used |= {token[1:] for token in line.split() if token.startswith("+")}
        used |= {line[1:-1]} if line.startswith("=") else set()

    assert set(VALUES) - used == set()


def test_the_author_of_a_value_is_one_of_its_fields():
    for name, line in VALUES.items():
        assert author_key(line) in {"", *(field.name for field in fields(line))}, name


def test_a_tool_returns_the_same_shapes_as_the_command():
    for name, tool in TOOLS.items():
        told = with_values(tool.tells)
        assert told["properties"], name
        for value, schema in told.get("$defs", {}).items():
            assert schema == document()["$defs"][value]
