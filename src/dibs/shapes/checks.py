"""Settings, identities, patterns, and the results of checks as JSON."""

from __future__ import annotations

from dibs.core.text.findings import Level
from dibs.core.text.names import closest, quote
from dibs.core.text.urls import shown, site
from dibs.errors import NotFound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from dibs.config.load import Loaded
    from dibs.config.table import Field
    from dibs.core.patterns.pattern import Pattern
    from dibs.core.text.findings import Finding
    from dibs.local.repository import Repository
    from dibs.services.state.measure import Measured

    Shape = dict[str, Any]


def key_of(field: Field) -> str:
    """Return a setting's name, with its section in ``dibs.toml``."""
    return f"{field.section}.{field.key}" if field.section else field.key


def setting_named(name: str) -> Field:
    """Return a setting by any of its names; raise ``NotFound`` (``NO_SETTING``) if there is none."""
    from dibs.config.table import FIELDS

    names = {
        word: field for field in FIELDS for word in (field.name, key_of(field), field.variable)
    }
    if name in names:
        return names[name]
    meant = closest(name, names)
    hint = f"did you mean '{meant}'?" if meant else "`dibs config` lists them"
    raise NotFound(f"unknown setting {quote(name)}", code="NO_SETTING", field="key", hint=hint)


def value_of(field: Field, loaded: Loaded) -> Any:
    """Return a setting's value, without a password or another secret."""
    value = getattr(loaded.config, field.name)
    if field.name == "notify_webhook":
        return site(value)
    return shown(value) if field.name == "engine" and value else value


def settings(repository: Repository, loaded: Loaded, name: str = "") -> Shape:
    """Shape all settings, or one, each with its origin."""
    from dibs.config.table import FIELDS

    fields = (setting_named(name),) if name else FIELDS
    shapes = {
        field.name: {
            "value": value_of(field, loaded), "origin": loaded.origins[field.name],
            "variable": field.variable, "key": key_of(field),
            "allowed": field.allowed, "about": field.doc,
        }
        for field in fields
    }  # fmt: skip
    return {"settings": shapes, "root": repository.root, "state": repository.state}


def identity(
    agent: str, *, human: bool, role: str | None, project: str | None, source: str,
    sources: Mapping[str, str], doubt: str = "",
) -> Shape:  # fmt: skip
    """Shape who acts and why; without a ``role``, the agent is not registered in the project."""
    return {
        "agent": agent, "human": human, "source": source, "value": sources[source],
        "role": role or ("human" if human or doubt else None), "registered": role is not None,
        "project": project, "doubt": doubt,
        "considered": [
            {"source": name, "value": value, "used": name == source}
            for name, value in sources.items()
        ],
    }  # fmt: skip


def overlapping(one: Pattern, other: Pattern, witness: str | None) -> Shape:
    """Shape whether two patterns overlap."""
    return {"a": one.text, "b": other.text, "overlap": witness is not None, "witness": witness}


def is_safe(found: Sequence[Finding]) -> bool:
    """Return whether no finding is a problem."""
    return all(finding.level != Level.BAD for finding in found)


def engine(name: str, found: Sequence[Finding], measured: Measured) -> Shape:
    """Shape what a check of a store found."""
    return {
        "engine": name, "safe": is_safe(found), "findings": [one._asdict() for one in found],
        "measured": {f"{what}_ms": took for what, took in measured._asdict().items()},
    }  # fmt: skip


def git_hooks(found: Sequence[Any], why: str) -> Shape:
    """Shape which git hooks are installed; ``why`` the store does not answer, empty if it does."""
    installed = all(hook.installed for hook in found)
    return {
        "installed": installed, "hooks": [hook._asdict() for hook in found],
        "store": why or "answers", "works": installed and not why,
    }  # fmt: skip
