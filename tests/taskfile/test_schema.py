"""The published schema describes what Dibs writes."""

import json
import re

import pytest
from hypothesis import given, settings
from ruamel.yaml import YAML
from tests.taskfile.files import fields_of
from tests.taskfile.test_writing import tasks

from dibs.core.tasks.rules import Status, Task
from dibs.taskfile.schema import SCHEMA
from dibs.taskfile.spellings import ORDER
from dibs.taskfile.writing import render

KINDS = {"string": str, "array": list, "object": dict, "integer": int}


def problems(value, rule, place="$"):  # noqa: C901, PLR0912 - one line for each keyword
    """Yield where a value violates a schema, for the keywords that ours uses."""
    if "type" in rule and not isinstance(value, KINDS[rule["type"]]):
        yield f"{place}: no {rule['type']}"
        return
    if "enum" in rule and value not in rule["enum"]:
        yield f"{place}: not one of {rule['enum']}"
    if "const" in rule and value != rule["const"]:
        yield f"{place}: not {rule['const']}"
    if "pattern" in rule and isinstance(value, str) and not re.search(rule["pattern"], value):
        yield f"{place}: not {rule['pattern']}"
    if "minLength" in rule and len(value) < rule["minLength"]:
        yield f"{place}: too short"
    if "minimum" in rule and value < rule["minimum"]:
        yield f"{place}: too small"
    if rule.get("uniqueItems") and len(set(value)) < len(value):
        yield f"{place}: twice the same"
    for key in rule.get("required", ()):
        if key not in value:
            yield f"{place}: no {key}"
    for key, inner in rule.get("properties", {}).items():
        if key in value:
            yield from problems(value[key], inner, f"{place}.{key}")
    if "items" in rule:
        for at, item in enumerate(value):
            yield from problems(item, rule["items"], f"{place}[{at}]")
    if "anyOf" in rule and all(list(problems(value, inner)) for inner in rule["anyOf"]):
        yield f"{place}: none of the forms"
    for inner in rule.get("allOf", ()):
        if not list(problems(value, inner["if"])):
            yield from problems(value, inner["then"], place)


def loaded(task):
    return YAML(typ="safe", pure=True).load(render(fields_of(task)))


@settings(max_examples=60, deadline=None)
@given(tasks)
def test_written_files_match_the_schema(task):
    assert list(problems(loaded(task), SCHEMA)) == []


@pytest.mark.parametrize(
    "change",
    [
        {"status": "completed"},
        {"priority": "HIGH"},
        {"agent": ".."},
        {"artefacts": "a.md"},
        {"created_at": "2025-11-23"},
        {"status": "done"},
        {"status": "error"},
        {"retry_count": "2"},
        {"id": None},
    ],
)
def test_a_nonstandard_form_violates_the_schema(change):
    data = {**loaded(Task("t1")), **change}

    assert list(problems(data, SCHEMA))


def test_the_schema_is_json_and_has_every_field_and_status():
    again = json.loads(json.dumps(SCHEMA))

    assert set(ORDER) - {"depends_on", "blocked_by"} == set(again["properties"])
    assert again["properties"]["status"]["enum"] == list(Status)
