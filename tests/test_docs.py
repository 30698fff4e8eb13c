"""The documentation agrees with the code: commands, options, settings, codes, ledger kinds, links."""

import ast
import json
import re
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from textwrap import dedent

import pytest

from dibs.cli.support import COMMANDS
from dibs.cli.support.parsing import build, parse
from dibs.config.table import FIELDS
from dibs.core.claims.ledger import Kind
from dibs.core.crew.presets import PRESETS
from dibs.core.crew.roles import CrewConfig, CrewRole

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
REFERENCE = DOCS / "reference"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *(ROOT / "examples").rglob("*.md")])


def page_id(page):
    return str(page.relative_to(ROOT))


def fences(page, language):
    blocks = re.findall(rf"(?ms)^ *```{language}\n(.*?)^ *```", page.read_text("utf-8"))
    return [dedent(block) for block in blocks]


def dibs_lines(page):
    """Yield the words after ``dibs`` of each command line in a page's console blocks."""
    for block in fences(page, "console"):
        for line in re.sub(r"\\\n", " ", block).splitlines():
            if line.startswith("$ "):
                yield from dibs_words(line[2:])


def dibs_words(line):
    words = shlex.split(line, comments=True)
    while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
        words.pop(0)
    ends = [at for at, word in enumerate(words) if word in {"|", "&&", ";", "&", ">"}]
    if words and words[0] == "dibs" and words[1:]:
        yield words[1 : ends[0] if ends else None]


def test_generated_parts_of_the_reference_are_up_to_date():
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "reference.py"), "--check"],
        check=False,
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_the_reference_lists_each_command_with_all_its_long_options(name):
    text = (REFERENCE / "cli.md").read_text("utf-8")
    section = text.partition(f"\n## dibs {name}\n")[2].partition("\n## ")[0]
    usage = build(name, import_module(f"dibs.cli.commands.{name}")).format_help()

    options = set(re.findall(r"--[a-z][a-z-]+", usage))

    assert section
    assert {option for option in options if option not in text} == set()


def test_the_reference_lists_each_setting():
    text = (REFERENCE / "config.md").read_text("utf-8")

    missing = [f.name for f in FIELDS if f"`{f.key}`" not in text or f.variable not in text]

    assert missing == []


def test_the_reference_lists_exactly_the_settings_and_presets_of_crew_toml():
    text = (REFERENCE / "crew.md").read_text("utf-8")
    settings = set(re.findall(r"^\| `([a-z_]+)` \|", text.partition("## Presets")[0], re.MULTILINE))
    shown = set(re.findall(r"^\| (?:`(\w+)`)? ?\| (\w+) \| (.*) \|$", text, re.MULTILINE))

    assert settings == {*CrewConfig._fields, *CrewRole._fields} - {"roles", "name"}
    for name, preset in PRESETS.items():
        assert any(row[:2] == (name, preset.driver) for row in shown), name
        for driver, command in preset.commands.items():
            words = " ".join(f'"{word}"' if " " in word else word for word in command)
            assert any(row[1:] == (driver, f"`{words}`") for row in shown), (name, driver)


def test_the_reference_lists_exactly_the_ledger_kinds():
    table = (REFERENCE / "ledger.md").read_text("utf-8").partition("## Kinds")[2]

    documented = set(re.findall(r"^\| `([a-z_]+)`", table, re.MULTILINE))

    assert documented == set(Kind)


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_relative_links_have_a_target(page):
    links = re.findall(r"\]\(([^)#\s]*)(#[^)\s]*)?\)", page.read_text("utf-8"))

    broken = [
        target
        for target, anchor in links
        if "://" not in target and not has_target(page, target, anchor)
    ]

    assert broken == []


def has_target(page, target, anchor):
    there = (page.parent / target) if target else page
    if not there.exists():
        return False
    if not anchor or there.suffix != ".md":
        return True
    headings = re.findall(r"^#+ (.*)$", there.read_text("utf-8"), re.MULTILINE)
    return anchor[1:] in {re.sub(r"[^\w -]", "", h).lower().replace(" ", "-") for h in headings}


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_each_command_line_that_a_page_shows_is_valid(page):
    for words in dibs_lines(page):
        if words[0] not in {"help", "--help", "--version"}:
            assert words[0] in COMMANDS, words
            parse(words[0], import_module(f"dibs.cli.commands.{words[0]}"), words[1:])


@pytest.mark.parametrize("page", [p for p in PAGES if p != ROOT / "README.md"], ids=page_id)
def test_each_page_starts_with_whom_it_is_for(page):
    title, _, text = page.read_text("utf-8").partition("\n")

    assert title.startswith("# ")
    assert text.lstrip().startswith("For "), "the first paragraph is: For people who ..."


def test_the_tutorial_and_the_readme_show_commands():
    for page in (ROOT / "README.md", DOCS / "tutorial.md"):
        assert len(list(dibs_lines(page))) > 1


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_json_examples_parse(page):
    for block in fences(page, "json"):
        json.loads(block)


def named_tests():
    """Return each ``file::name`` or ``file::class::name`` on the guarantees page, in three parts."""
    text = (DOCS / "explanation" / "guarantees.md").read_text("utf-8")
    return sorted(set(re.findall(r"`([\w/]+\.py)::(\w+)(?:::(\w+))?`", text)))


def test_the_guarantees_name_tests_that_exist():
    there = {}
    for path, _, _ in named_tests():
        tree = ast.parse((ROOT / path).read_text("utf-8"))
        kinds = (ast.FunctionDef, ast.ClassDef)
        there[path] = {node.name for node in ast.walk(tree) if isinstance(node, kinds)}

    assert [f"{path}::{name}" for path, name, _ in named_tests() if name not in there[path]] == []
    files = [path.read_text("utf-8") for path in (ROOT / "tests").rglob("*.py")]
    methods = {method for _, _, method in named_tests() if method}  # a class may inherit them
    assert [name for name in methods if not any(f"    def {name}(" in text for text in files)] == []


def test_every_row_of_the_guarantees_names_a_test_or_says_that_it_is_not_tested():
    text = (DOCS / "explanation" / "guarantees.md").read_text("utf-8").partition("\n## ")[2]
    rows = [line for line in text.splitlines() if re.match(r"\| (?!engine |guarantee |-)", line)]

    bare = [row for row in rows if ".py::" not in row and "not tested" not in row]

    assert len(rows) > 40
    assert bare == []


def test_every_guarantee_in_the_table_has_a_section():
    text = (DOCS / "explanation" / "guarantees.md").read_text("utf-8")
    table, *sections = text.split("\n## ")

    promises = re.findall(r"^\| \[.*?\]\(#(.*?)\)", table, re.MULTILINE)

    assert promises == [
        section.partition("\n")[0].lower().replace(",", "").replace(" ", "-")
        for section in sections
    ]


def test_links_lead_from_the_readme_to_each_page():
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop().resolve()
        if page.suffix == ".md" and page not in reached:
            reached.add(page)
            links = re.findall(r"\]\(([^)#\s]+)", page.read_text("utf-8"))
            waiting += [page.parent / link for link in links if "://" not in link]

    written_by_make_bench = {DOCS / "bench.md"}
    assert {page for page in PAGES if page.resolve() not in reached} <= written_by_make_bench
