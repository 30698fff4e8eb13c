"""Show the settings and where each comes from: the default, dibs.toml, or the environment.

This command changes nothing. To change a setting, edit dibs.toml at the top of the repository,
or set the variable. Name one setting to see what it does and which values are allowed.

Examples:
  dibs config
  dibs config claims.ttl
  dibs config guard.hot --json

exit status: 0 success, 6 unknown setting
"""

from __future__ import annotations

import sys
from argparse import SUPPRESS

from dibs.cli.support.tables import PAGE, page_width, table
from dibs.cli.support.text import bold, printable
from dibs.core.text.durations import show_span
from dibs.core.text.names import few
from dibs.errors import BadUsage
from dibs.shapes.checks import key_of, setting_named, settings, value_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence
    from typing import Any

    from dibs.config.load import Loaded
    from dibs.config.table import Field


#: How many items of a list the table shows.
_FEW = 1


def configure(parser: ArgumentParser) -> None:
    """Add the options of ``dibs config``."""
    parser.add_argument(
        "key", nargs="?", metavar="KEY", help="show one setting, such as claims.ttl or DIBS_TTL"
    )
    parser.add_argument("rest", nargs="*", help=SUPPRESS)


def run(args: Namespace) -> int:
    """Print the settings without opening the store."""
    from dibs.cli.support.session import print_json, warn_of_unknown
    from dibs.config.table import FIELDS
    from dibs.project.location import locate

    name, value = _assigned([args.key or "", *args.rest])
    if value is not None:
        return _refuse_to_set(setting_named(name), value, as_json=args.json)
    fields = FIELDS if args.key is None else (setting_named(args.key),)
    repository, loaded = locate(args.repo)
    warn_of_unknown(loaded)
    if args.json:
        print_json(settings(repository, loaded, args.key or ""))
        return 0

    if args.key is None:
        rows = [(key_of(f), _short(f, loaded), loaded.origins[f.name]) for f in fields]
        print("\n".join(table(("SETTING", "VALUE", "FROM"), rows)))
        print(f"\nstate: {printable(repository.state)}")
        print("To learn more about a setting, run: dibs config SETTING")
    else:
        print("\n".join(_about(fields[0], loaded)))
    return 0


def _assigned(words: list[str]) -> tuple[str, str | None]:
    """Return the name and the value in ``set KEY VALUE``, ``KEY VALUE``, or ``KEY=VALUE``."""
    if words[0] == "set" and len(words) > 1:
        words = words[1:]
    name, mark, value = words[0].partition("=")
    rest = [word for word in words[1:] if word != "="]
    return name, " ".join([value] * bool(mark) + rest) if mark or rest else None


def _refuse_to_set(field: Field, value: str, *, as_json: bool) -> int:
    """Say which lines in ``dibs.toml`` set a value that is allowed."""
    parsed = field.parse(value)
    lines = _toml(field.key, parsed)
    error = BadUsage(
        "config: this command only shows settings",
        hint=f"{_where(field)}: " + " ".join(line.strip() for line in lines),
    )
    if as_json:
        raise error
    print(f"dibs: {error.message}; {_where(field)}:", *lines, sep="\n", file=sys.stderr)
    return error.exit_status


def _where(field: Field) -> str:
    """Return where in ``dibs.toml`` a setting belongs; a section may occur only once."""
    return (
        f"in dibs.toml, under [{field.section}], set"
        if field.section
        else "at the top of dibs.toml, set"
    )


def _short(field: Field, loaded: Loaded) -> str:
    """Return a value for the table: a long list shows only its first items."""
    value = value_of(field, loaded)
    text = few(value, _FEW) if isinstance(value, tuple) else show(field, value)
    return printable(text) or "-"


def _about(field: Field, loaded: Loaded) -> list[str]:
    """Return everything about one setting."""
    value = value_of(field, loaded)
    rows = [("value", item) for item in _items(field, value)]
    if value != field.default:
        rows += [("default", item) for item in _items(field, field.default)]
    if field.name in loaded.uncommitted:
        written = _items(field, loaded.uncommitted[field.name])
        rows += [("file", f"{item} (takes effect when committed)") for item in written]
    rows += [
        ("from", loaded.origins[field.name]),
        ("allowed", field.allowed),
        ("variable", field.variable),
    ]
    lines, last = [bold(key_of(field)), *_wrapped(field.doc), ""], ""
    for name, text in rows:
        lines.append(f"{name if name != last else '':<10}{printable(text)}")
        last = name
    return [*lines, "", f"to change it, {_where(field)}:", *_toml(field.key, value)]


def _items(field: Field, value: Any) -> Sequence[str]:
    """Return a value as lines, one for each item of a list."""
    if isinstance(value, tuple) and value:
        return value
    return [show(field, value) or "(empty)"]


def _wrapped(text: str) -> list[str]:
    import textwrap

    return textwrap.wrap(text, min(page_width(), PAGE))


def _toml(key: str, value: Any) -> list[str]:
    """Return the lines that set a value in ``dibs.toml``."""
    if isinstance(value, tuple):
        return [f"  {key} = [", *(f'    "{printable(item)}",' for item in value), "  ]"]
    if isinstance(value, bool | int):
        return [f"  {key} = {str(value).lower()}"]
    text = show_span(value) if isinstance(value, float) else printable(value)
    return [f'  {key} = "{text}"']


def show(field: Field, value: Any) -> str:
    """Return a setting's value for people: a duration as ``5m``."""
    if isinstance(value, float):  # every such setting is a duration
        return show_span(value)
    if field.name == "engine" and not value:
        return "sqlite (in the git directory)"
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(value) if isinstance(value, tuple) else str(value)
