"""The source has the structure that import contracts cannot check, and calls point down."""

from __future__ import annotations

import ast
import sys
from collections import Counter
from pathlib import Path

import pytest

import dibs

PACKAGE = Path(dibs.__file__).parent
sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

#: Calls up the layers. Each calls a function that was passed down, described here.
UPWARD = {
    ("engines.sqlite", "services.state"): "the step of a transaction",
    ("services.state", "services.*"): "the same, with rows",
    ("workdir", "services.board"): "the text of a file that is about to be written",
    ("git", "services.commits"): "a reader of git output",
    ("core.claims", "services.commits"): "a check whether a path has changed",
    ("cli.support", "cli.commands"): "a command's options and output",
    ("services.board", "cli.*"): "an observer that prints notes about board files",
}
#: The most modules in a package, except for the one with a module per command.
MOST_MODULES = 22
#: A module with fewer lines needs a reason in its first line.
SHORTEST = 40


def modules():
    return sorted(path for path in PACKAGE.rglob("*.py"))


def named(path):
    return str(path.relative_to(PACKAGE))


def upward(calls):
    import architecture

    found = set()
    for caller, called in calls:
        above, below = architecture.package_of(caller), architecture.package_of(called)
        if caller and above != below and architecture.rank_of(above) > architecture.rank_of(below):
            found.add((above, below))
    return found


def test_only_functions_that_were_passed_down_are_called_upwards():
    import architecture

    for name, calls in architecture.record_paths().items():
        for above, below in upward(calls):
            general = (above, f"{below.partition('.')[0]}.*")
            assert (above, below) in UPWARD or general in UPWARD, f"{name}: {above} calls {below}"


def test_class_names_are_unique():
    homes = Counter(
        node.name
        for path in modules()
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )

    assert [name for name, number in homes.items() if number > 1] == []


def test_a_short_module_says_why_it_is_short():
    short = []
    for path in modules():
        lines = path.read_text("utf-8").splitlines()
        plain = path.name in {"__init__.py", "__main__.py"} or path.parent.name == "commands"
        if not plain and len(lines) < SHORTEST and "short because" not in lines[0]:
            short.append(named(path))

    assert short == []


def test_no_package_has_too_many_modules():
    sizes = Counter(path.parent for path in modules() if path.name != "__init__.py")

    crowded = {named(folder): number for folder, number in sizes.items() if number > MOST_MODULES}
    assert set(crowded) <= {"cli/commands"}


@pytest.mark.parametrize("part", ["support", "commands"])
def test_no_part_of_the_command_line_imports_its_entry_point(part):
    found = []
    for path in (PACKAGE / "cli" / part).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "dibs.cli":
                names = {name.name for name in node.names} - {"commands", "support"}
                found += [f"{named(path)}: {name}" for name in sorted(names)]

    assert found == []
