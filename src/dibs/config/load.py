"""Load a project's settings. Flags win over variables, ``dibs.toml``, the preset, and defaults.

Settings that decide what agents may do come from the ``dibs.toml`` of the last commit, if it has one.

A variable ``DIBS_*`` that is not in ``table.FIELDS`` is ignored, and an empty one counts as not set. An
unknown key in ``dibs.toml`` is a warning that names its line, and a wrong value an error.
"""

from __future__ import annotations

from dibs.config import cache
from dibs.config.settings import Config, is_guard_setting
from dibs.errors import BadInput, Misconfigured
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from dibs.config.cache import FileSettings, Written
    from dibs.config.table import Field

__all__ = ["Config", "Loaded", "load"]

DEFAULT = "default"


class Loaded(Record):
    """Settings and their origins: ``default``, ``dibs.toml:12``, ``DIBS_TTL`` or ``--ttl``."""

    config: Config
    origins: dict[str, str]
    #: Values in ``dibs.toml`` that do not count until they are committed.
    uncommitted: dict[str, Any] = {}  # noqa: RUF012 - a default of a record, never changed
    #: A warning for each key in ``dibs.toml`` that is not a setting.
    unknown: tuple[str, ...] = ()
    #: Why ``dibs.toml`` does not count, if the settings of the last commit were wanted instead.
    invalid: str = ""


def load(
    root: str,
    state: str,
    environ: Mapping[str, str],
    flags: Mapping[str, object],
    committed: Written | None = None,
    *,
    lenient: bool = False,
) -> Loaded:
    """Return the settings in effect for the working tree at ``root``.

    ``flags`` maps field names to values; None means not given. ``committed`` are the settings of the last
    commit, if it has any: they replace the file's settings that decide what agents may do. Raises
    ``Misconfigured`` for an invalid file or variable, and ``BadInput`` for an invalid flag. If ``lenient``,
    the settings of the last commit, or the defaults, replace an invalid file.
    """
    file, invalid = _despite_errors(root, state, (committed or {}) if lenient else None)
    values: dict[str, Any] = {}
    origins = dict.fromkeys(Config._fields, DEFAULT)
    written, uncommitted = _as_committed(file.values, committed)
    for name, (value, line) in written.items():
        values[name], origins[name] = value, f"{cache.NAME}:{line}"
    origins.update(dict.fromkeys(uncommitted, f"{cache.NAME} of the last commit"))
    for variable in [name for name in environ if name.startswith("DIBS_")]:
        name, text = variable[5:].lower(), environ[variable]
        if text and name in origins and variable.isupper():
            values[name], origins[name] = _configured(_field(name), text, variable), variable
    for name, given in flags.items():
        if given is not None:
            values[name], origins[name] = _flagged(_field(name), given), _field(name).flag
    preset = values.get("preset", "")
    if preset:
        from dibs.config.table import PRESETS

        for name, value in PRESETS.get(preset, {}).items():
            if name not in values:
                values[name], origins[name] = value, f"preset {preset} ({origins['preset']})"
    return Loaded(Config(**values), origins, uncommitted, file.unknown, invalid)


def _despite_errors(root: str, state: str, instead: Written | None) -> tuple[FileSettings, str]:
    """Return the file's settings, or ``instead`` of an invalid file other settings and what is wrong."""
    try:
        return _from_file(root, state), ""
    except Misconfigured as error:
        if instead is None:
            raise
        return cache.FileSettings(instead), "; ".join(filter(None, (error.message, error.hint)))


def _as_committed(written: Written, committed: Written | None) -> tuple[Written, dict[str, Any]]:
    """Return the settings with guard settings from the last commit, and the file's uncommitted values."""
    if committed is None:
        return written, {}
    here = {name: value for name, (value, _) in written.items() if is_guard_setting(name)}
    then = {
        name: (_as_was(name, value), line)
        for name, (value, line) in committed.items()
        if is_guard_setting(name) and name in Config._field_defaults
    }
    uncommitted = {}
    for name in {*here, *then}:
        default = Config._field_defaults[name]
        now, before = here.get(name, default), then.get(name, (default, 0))[0]
        if now != before:
            uncommitted[name] = now
    rest = {name: one for name, one in written.items() if not is_guard_setting(name)}
    return {**rest, **then}, uncommitted


def parsed(content: bytes) -> Written:
    """Return the settings in the content of a file."""
    from dibs.config.table import FIELDS
    from dibs.config.toml import parsed as read

    return _checked(read(content, {(f.section, f.key): f.name for f in FIELDS}).values)


def _checked(written: Written) -> Written:
    return {
        name: (_configured(_field(name), value, f"{cache.NAME}:{line}"), line)
        for name, (value, line) in written.items()
    }


def _field(name: str) -> Field:
    from dibs.config.table import FIELDS

    return next(field for field in FIELDS if field.name == name)


def _from_file(root: str, state: str) -> FileSettings:
    path = f"{root}/{cache.NAME}"
    stamp = cache.stamp(path)
    if not stamp:
        return cache.FileSettings({})
    known = cache.recall(state, stamp)
    if known is not None and known.values.keys() <= Config._field_defaults.keys():
        values = {n: (_as_was(n, value), line) for n, (value, line) in known.values.items()}
        return known._replace(values=values)
    from dibs.config.table import FIELDS
    from dibs.config.toml import read

    found = read(path, {(f.section, f.key): f.name for f in FIELDS})
    found = found._replace(values=_checked(found.values))
    cache.remember(state, stamp, found)
    return found


def _as_was(name: str, value: Any) -> Any:
    """Return a cached setting with its original type; JSON has no tuples."""
    return tuple(value) if isinstance(Config._field_defaults[name], tuple) else value


def _configured(field: Field, value: object, place: str) -> Any:
    try:
        return field.parse(value)
    except BadInput as error:
        raise Misconfigured(
            f"{place}: invalid {field.key}: {error.message}", hint=error.hint, field=field.name
        ) from None


def _flagged(field: Field, value: object) -> Any:
    try:
        return field.parse(value)
    except BadInput as error:
        error.field = field.name
        raise
