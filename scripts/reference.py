"""Generate the parts of the reference that come from code: commands, settings, rows, codes, diagrams.

Replaces the text between <!-- NAME: begin --> and <!-- NAME: end -->. With --check it writes nothing
and fails if anything is out of date.
"""

from __future__ import annotations

import argparse
import json
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dibs.cli.support import COMMANDS, GROUPS
from dibs.cli.support.examples import with_examples
from dibs.cli.support.parsing import build
from dibs.config.table import FIELDS
from dibs.core.claims.event_names import CONTROL, event_table
from dibs.core.tasks.rules import TRANSITIONS, Status, folder_of, next_statuses
from dibs.core.text.durations import show_span
from dibs.core.text.names import few
from dibs.errors import DibsError
from dibs.errors.codes import CODES, EXIT_STATUSES
from dibs.services.state.keys import TABLE
from dibs.shapes.contract import ANSWERS, VALUES
from dibs.shapes.schema import document, fields

if TYPE_CHECKING:
    from collections.abc import Iterator

REFERENCE = Path(__file__).resolve().parent.parent / "docs" / "reference"
COMMON = "common options"


def main() -> int:
    """Update the pages, or report which are out of date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    from architecture import layer_diagram, path_diagram, record_paths

    stale = []
    paths = record_paths()
    for page, mark, text in (
        ("cli.md", "commands", "\n".join(_commands())),
        ("config.md", "settings", "\n".join(_settings())),
        ("store.md", "rows", "\n".join(_rows())),
        ("json.md", "answers", "\n".join(_answers())),
        ("json.md", "values", "\n".join(_values())),
        ("errors.md", "statuses", "\n".join(_statuses())),
        ("errors.md", "codes", "\n".join(_codes())),
        ("rest.md", "routes", "\n".join(_routes())),
        ("rest.md", "left out", "\n".join(_left_out())),
        ("events.md", "control", "\n".join(_control())),
        ("events.md", "names", "\n".join(_events())),
        ("../explanation/architecture.md", "layers", layer_diagram()),
        *(
            ("../explanation/architecture.md", name, path_diagram(calls))
            for name, calls in paths.items()
        ),
        ("task-states.md", "states", f"{state_table()}\n\n```mermaid\n{state_diagram()}\n```"),
    ):
        path = REFERENCE / page
        old = path.read_text("utf-8")
        new = _replaced(old, mark, text)
        if new != old:
            stale.append(page)
            if not check:
                path.write_text(new, "utf-8")
    schema = REFERENCE / "schema.json"
    text = _lines(document())
    if not schema.exists() or schema.read_text("utf-8") != text:
        stale.append(schema.name)
        if not check:
            schema.write_text(text, "utf-8")
    if check and stale:
        print(f"out of date: {', '.join(stale)}; run .venv/bin/python scripts/reference.py")
    return 1 if check and stale else 0


def _replaced(page: str, mark: str, text: str) -> str:
    begin, end = f"<!-- {mark}: begin -->", f"<!-- {mark}: end -->"
    before, _, rest = page.partition(begin)
    _, found, after = rest.partition(end)
    assert found, f"no mark {mark}"
    return f"{before}{begin}\n{text}\n{end}{after}"


def _commands() -> Iterator[str]:
    yield "| purpose | commands |\n|---|---|"
    for group, commands in GROUPS.items():
        yield f"| {group} | {', '.join(f'[{name}](#dibs-{name})' for name in commands)} |"
    for name in COMMANDS:
        parser = build(name, import_module(f"dibs.cli.commands.{name}"))
        yield f"\n## dibs {name}\n"
        about = with_examples(parser.prog, parser.description or "")
        yield f"```text\n{about.strip()}\n```\n"
        yield from _arguments(parser, f"dibs {name}")


def _arguments(parser: argparse.ArgumentParser, name: str) -> Iterator[str]:
    rows = []
    below: dict[str, argparse.ArgumentParser] = {}
    groups = parser._action_groups  # noqa: SLF001 - argparse has no other way to list them
    for group in groups:
        for action in group._group_actions if group.title != COMMON else ():  # noqa: SLF001
            if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
                below |= action.choices
            elif action.help != argparse.SUPPRESS and "--help" not in action.option_strings:
                rows.append(f"| {_spelled(action)} | {_cell(action.help or '')} |")
    if rows:
        yield f"| `{name}` | |\n|---|---|\n" + "\n".join(rows) + "\n"
    for word, inner in below.items():
        yield from _arguments(inner, f"{name} {word}")


def _spelled(action: argparse.Action) -> str:
    metavar = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    if action.choices:
        metavar = "|".join(map(str, action.choices))
    if not action.option_strings:
        return f"`{_code(metavar)}{'…' if action.nargs in {'+', '*', '...'} else ''}`"
    value = "" if action.nargs == 0 else f" {metavar}"
    return ", ".join(f"`{option}{_code(value)}`" for option in action.option_strings)


def _routes() -> Iterator[str]:
    from dibs.server.rest.app import ROUTES

    yield "| request | what it does | scope | answer |\n|---|---|---|---|"
    for route in ROUTES:
        told = f"`{route.tells}`" if route.tells in ANSWERS else "its own"
        path = route.path.replace(":path}", "}")
        yield f"| `{route.method} {path}` | {_cell(route.summary)} | {route.scope.name.lower()} | {told} |"


def _left_out() -> Iterator[str]:
    from dibs.server.rest.left_out import LEFT_OUT

    yield "| command | why |\n|---|---|"
    yield from (f"| `dibs {name}` | {why} |" for name, why in LEFT_OUT.items())


def _settings() -> Iterator[str]:
    yield "| in `dibs.toml` | variable | default | allowed | meaning |\n|---|---|---|---|---|"
    for field in FIELDS:
        shown = _default(field.default)
        place = f"`[{field.section}]` `{field.key}`" if field.section else f"`{field.key}`"
        yield (
            f"| {place} | `{field.variable}` | {f'`{shown}`' if shown else 'empty'} |"
            f" {_cell(field.allowed)} | {_cell(field.doc)} |"
        )


def _default(value: Any) -> str:
    if isinstance(value, tuple):
        return few(value, 2)
    if isinstance(value, float):
        return show_span(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _rows() -> Iterator[str]:
    yield "| key | row | kept | module in `services/` |\n|---|---|---|---|"
    for owner, keys in TABLE.items():
        for key, row, lives in keys:
            yield f"| `{key}` | {_cell(row)} | {_cell(lives)} | `{owner}.py` |"


def _answers() -> Iterator[str]:
    yield "| command | answer |\n|---|---|"
    for name, line in ANSWERS.items():
        yield f"| `{name}` | {_shown(line)} |"


def _values() -> Iterator[str]:
    yield "| value | fields |\n|---|---|"
    for name, line in VALUES.items():
        yield f"| `{name}` | {_shown(line)} |"


def _lines(schema: dict[str, Any]) -> str:
    """Return the schema with one value or reply per line."""
    parts = []
    for key, value in schema.items():
        rows = value.items() if isinstance(value, dict) else ()
        inner = ",\n".join(f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in rows)
        parts.append(f" {json.dumps(key)}: " + (f"{{\n{inner}\n }}" if rows else json.dumps(value)))
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _shown(line: str) -> str:
    if line.startswith("="):
        return f"`[{line[1:-1]}…]`"
    return ", ".join(
        f"[`{field.shown}`]" if field.optional else f"`{field.shown}`" for field in fields(line)
    )


def _statuses() -> Iterator[str]:
    kinds = [kind for kind in DibsError.__subclasses__() if kind.__module__ == "dibs.errors"]
    classes = {kind.exit_status: f"`{kind.__name__}`" for kind in kinds}
    yield "| status | meaning | class in Python |\n|---|---|---|"
    for status, meaning in EXIT_STATUSES.items():
        yield f"| {status} | {meaning} | {classes.get(status, '')} |"


def _codes() -> Iterator[str]:
    yield "| code | exit status | when | what to do |\n|---|---|---|---|"
    for name, code in CODES.items():
        statuses = " or ".join(str(kind.exit_status) for kind in code.kinds)
        yield f"| `{name}` | {statuses} | {_code(code.when)} | {_code(code.hint)} |"


def _control() -> Iterator[str]:
    yield from ("| type | meaning |", "|---|---|")
    yield from (f"| `{name}` | {meaning} |" for name, meaning in CONTROL.items())


def _events() -> Iterator[str]:
    yield from ("| event | kind of the entry |", "|---|---|")
    for name, kinds in event_table().items():
        yield f"| `{name}` | {', '.join(f'`{kind}`' for kind in kinds)} |"


def _cell(text: str) -> str:
    return _code(text).replace("%%", "%").replace("*", "\\*")


def _code(text: str) -> str:
    return text.replace("|", "\\|")


def state_diagram() -> str:
    """Return a Mermaid state diagram; arrows are labeled with verbs."""
    verbs: dict[tuple[str, str], list[str]] = {}
    for step in TRANSITIONS:
        verbs.setdefault((step.source, step.target), []).append(step.verb)
    lines = ["stateDiagram-v2", f"    [*] --> {Status.NEW}"]
    for (source, target), names in verbs.items():
        lines.append(f"    {source} --> {target}: {', '.join(dict.fromkeys(names))}")
    ends = [status for status in Status if not next_statuses(status)]
    return "\n".join([*lines, *(f"    {end} --> [*]" for end in ends)])


def state_table() -> str:
    """Return the states as a table: the folder of the file, and where each verb leads."""
    rows = ["| status | folder | transitions |", "|---|---|---|"]
    for status in Status:
        folder = folder_of(status, "AGENT", "YYYY-MM")
        rows.append(f"| `{status}` | `{folder}/` | {'; '.join(_ways(status)) or 'the end'} |")
    return "\n".join(rows)


def _ways(status: str) -> Iterator[str]:
    targets: dict[str, list[str]] = {}
    for step in TRANSITIONS:
        if step.source == status:
            targets.setdefault(step.verb, []).append(f"`{step.target}`")
    return (f"{verb}: {' or '.join(found)}" for verb, found in targets.items())


if __name__ == "__main__":
    sys.exit(main())
