"""The settings of a project: from flags, environment, ``dibs.toml``, preset, default; first wins.

``FIELDS`` is the one table of settings; reader, ``dibs config`` and reference page go by it. A
variable ``DIBS_*`` that is not in the table is ignored; an empty one counts as not set. An unknown
key in ``dibs.toml`` is refused, with its line.
"""

from __future__ import annotations

from dibs import config_file
from dibs.config_fields import FIELDS, PRESETS, Config, Field
from dibs.core.values import Record
from dibs.errors import BadInput, Misconfigured

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

__all__ = ["FIELDS", "Config", "Field", "Loaded", "load"]

DEFAULT = "default"


class Loaded(Record):
    """Settings and their origins: ``default``, ``dibs.toml:12``, ``DIBS_TTL`` or ``--ttl``."""

    config: Config
    origins: dict[str, str]


_BY_NAME = {field.name: field for field in FIELDS}


def load(root: str, state: str, environ: Mapping[str, str], flags: Mapping[str, object]) -> Loaded:
    """Return the settings in force for the working tree at ``root``.

    ``flags`` maps names of fields to what the call gives; None means not given. Raises
    ``Misconfigured`` where file or environment is wrong, with its place; ``BadInput`` for a flag.
    """
    values: dict[str, Any] = {}
    origins = dict.fromkeys(_BY_NAME, DEFAULT)
    for name, (value, line) in _from_file(root, state).items():
        values[name], origins[name] = value, f"{config_file.NAME}:{line}"
    for field in FIELDS:
        text = environ.get(field.variable, "")
        if text:
            values[field.name] = _configured(field, text, field.variable)
            origins[field.name] = field.variable
    for name, given in flags.items():
        if given is not None:
            values[name], origins[name] = _flagged(_BY_NAME[name], given), _BY_NAME[name].flag
    preset = values.get("preset", "")
    for name, value in PRESETS.get(preset, {}).items():
        if name not in values:
            values[name], origins[name] = value, f"preset {preset} ({origins['preset']})"
    return Loaded(Config(**values), origins)


def _from_file(root: str, state: str) -> dict[str, tuple[Any, int]]:
    path = f"{root}/{config_file.NAME}"
    stamp = config_file.stamp(path)
    if not stamp:
        return {}
    written = config_file.recall(state, stamp)
    known = written is not None
    if written is None:
        written = config_file.read(path, {(f.section, f.key): f.name for f in FIELDS})
    settings = {
        name: (_configured(_BY_NAME[name], value, f"{config_file.NAME}:{line}"), line)
        for name, (value, line) in written.items()
    }
    if not known:
        config_file.remember(state, stamp, written)
    return settings


def _configured(field: Field, value: object, place: str) -> Any:
    try:
        return field.parse(value)
    except BadInput as error:
        raise Misconfigured(
            f"{place}: {field.key} is wrong. {error.message}", hint=error.hint, field=field.name
        ) from None


def _flagged(field: Field, value: object) -> Any:
    try:
        return field.parse(value)
    except BadInput as error:
        error.field = field.name
        raise
