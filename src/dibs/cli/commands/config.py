"""Show the settings in force, and where each comes from: default, dibs.toml, or a variable.

Changes nothing: write settings into dibs.toml at the top of the repository, or set variables.

exit status: 0, 6 there is no such setting
"""

from __future__ import annotations

from dibs.cli.support.tables import table
from dibs.cli.support.text import printable
from dibs.core.text.durations import show_span
from dibs.core.text.names import closest, quote
from dibs.core.text.secrets import mask
from dibs.errors import NotFound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from typing import Any

    from dibs.config.load import Loaded
    from dibs.config.table import Field


def configure(parser: ArgumentParser) -> None:
    """Add the options of ``dibs config``."""
    parser.add_argument(
        "key", nargs="?", metavar="KEY", help="only this, such as ttl or claims.ttl"
    )


def run(args: Namespace) -> int:
    """Read the settings without opening the store, and print them."""
    from dibs.cli.support.session import print_json
    from dibs.config.table import FIELDS
    from dibs.project.project import locate

    fields = FIELDS if args.key is None else (_chosen(args.key),)
    repository, loaded = locate(args.repo)
    if args.json:
        settings = {field.name: _shape(field, loaded) for field in fields}
        print_json({"settings": settings, "root": repository.root, "state": repository.state})
        return 0

    rows = [(_key(f), printable(_text(f, loaded)), loaded.origins[f.name]) for f in fields]
    print("\n".join(table(("SETTING", "VALUE", "FROM"), rows)))
    if args.key is None:
        print(f"\nstate in {printable(repository.state)}")
    else:
        field = fields[0]
        print(f"\n{field.doc}")
        print(f"It is {field.allowed}; {field.variable} overrides dibs.toml.")
    return 0


def _key(field: Field) -> str:
    """Return where a setting stands in ``dibs.toml``."""
    return f"{field.section}.{field.key}" if field.section else field.key


def _chosen(name: str) -> Field:
    from dibs.config.table import FIELDS

    names = {word: field for field in FIELDS for word in (field.name, _key(field), field.variable)}
    if name in names:
        return names[name]
    meant = closest(name, names)
    hint = f"did you mean {meant}?" if meant else "`dibs config` lists them"
    raise NotFound(f"there is no setting {quote(name)}", code="NO_SETTING", field="key", hint=hint)


def _value(field: Field, loaded: Loaded) -> Any:
    value = getattr(loaded.config, field.name)
    return mask(value) if field.name == "engine" else value


def _shape(field: Field, loaded: Loaded) -> dict[str, Any]:
    return {
        "value": _value(field, loaded),
        "origin": loaded.origins[field.name],
        "variable": field.variable,
        "key": _key(field),
    }


def _text(field: Field, loaded: Loaded) -> str:
    value = _value(field, loaded)
    if isinstance(value, float):  # every such setting is a span of time
        return show_span(value)
    if field.name == "engine" and not value:
        return "embedded SQLite"
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(value) if isinstance(value, tuple) else str(value)
