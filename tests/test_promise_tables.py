"""Each page for people who come from one of the four documents lists all promises and their tests."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
NAMES = ("from-git-locks.md", "from-redis-claims.md", "from-yaml-tasks.md", "from-crew.md")
PAGES = [DOCS / "how-to" / name for name in NAMES]
#: What a row says that names no test.
OPEN = ("not yet", "differs", "missing")
#: A row of a table of promises: it begins with a promise's number, or with a dash.
ROW = re.compile(r"^\| *(?:[A-D]\d+|-) *\|.*\|$", re.MULTILINE)
TEST = re.compile(r"`(tests/[\w/.-]+\.py)((?:::\w+)*)(?:\[[^`]*\])?`")


def page_id(page):
    return page.name


def problems(text):
    """Return what is wrong with a page's table of promises."""
    rows = ROW.findall(text)
    if not rows:
        yield "there is no table whose rows begin with the number of a promise"
    for row in rows:
        named = TEST.findall(row)
        if not named and not any(word in row.lower() for word in OPEN):
            yield f"no test, and no reason: {row}"
        for path, names in named:
            if not names or names.removeprefix("::") not in named_in(path):
                yield f"there is no {path}{names}"


@cache
def named_in(path):
    """Return the names of the tests in a file, as pytest spells them; nothing is imported."""
    if not (ROOT / path).exists():
        return set()
    return set(names_in(ast.parse((ROOT / path).read_text("utf-8")).body))


def names_in(nodes):
    for node in nodes:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            yield node.name
        elif isinstance(node, ast.ClassDef):
            yield node.name
            yield from (f"{node.name}::{name}" for name in names_in(node.body))


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_every_promise_names_tests_that_exist_or_says_what_is_missing(page):
    assert list(problems(page.read_text("utf-8"))) == []


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_the_page_for_a_document_is_linked_from_the_documentation_and_the_readme(page):
    assert f"(how-to/{page.name})" in (DOCS / "README.md").read_text("utf-8")
    assert f"(docs/how-to/{page.name})" in (ROOT / "README.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("page", "letter", "most"), [*zip(PAGES, "ABCD", (11, 14, 20, 37), strict=True)]
)
def test_every_promise_of_a_document_has_a_row(page, letter, most):
    found = {row.split("|")[1].strip() for row in ROW.findall(page.read_text("utf-8"))}

    assert found - {"-"} == {f"{letter}{number}" for number in range(1, most + 1)}


def test_a_table_with_a_missing_test_or_without_a_reason_is_reported():
    here = "tests/test_promise_tables.py"
    good = f"| A1 | it works | `{here}::test_a_table_with_a_missing_test_or_without_a_reason_is_reported` |"

    assert list(problems(f"{good}\n| - | a dashboard | not yet: needs the server |")) == []
    assert list(problems("| promise | test |")) != []
    assert list(problems("| A1 | it works | we believe so |")) != []
    assert list(problems(f"| A1 | it works | `{here}::test_nothing` |")) != []
    assert list(problems(f"| A1 | it works | `{here}` |")) != []
    assert list(problems("| A1 | it works | `tests/test_nowhere.py::test_a` |")) != []
