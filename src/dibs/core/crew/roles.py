"""The crew's configuration: roles, how each starts its agent, and limits.

Pure. ``crew.toml`` is the only source of commands: everything else names a role.
"""

from __future__ import annotations

from dibs.core.crew.presets import PRESETS, DriverName
from dibs.core.text.durations import check_span
from dibs.core.text.names import closest, is_agent_id, quote
from dibs.errors import BadInput, Misconfigured
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

NAME = "crew.toml"
#: The fewest and the most agents that a crew may have, and how many it has by default.
FEWEST, MOST, DEFAULT_MOST = 1, 20, 4
#: The longest turn of an agent, in seconds.
TURN = 3_600.0
#: Variables that decide which programs run or which repository git uses: no role passes them on.
FORBIDDEN = ("LD_", "DYLD_", "GIT_", "PYTHON", "DIBS_", "BASH_ENV", "ENV", "NODE_OPTIONS", "PERL5")

_ROLE_KEYS = (
    "agent", "command", "driver", "prompt", "model", "worktree", "env", "set", "limit", "timeout",
    "token_budget", "done_on_exit", "nonce",
)  # fmt: skip
_CREW_KEYS = ("max_agents", "merge", "roles")


class CrewRole(Record):
    """A role: how its agents are started, and what they may use."""

    name: str
    #: The preset.
    agent: str
    driver: str
    #: ``{prompt}`` and ``{model}`` are replaced; without ``{prompt}``, it is on standard input.
    command: tuple[str, ...]
    #: A template; empty for the built-in one.
    prompt: str = ""
    model: str = ""
    worktree: bool = True
    #: The names of variables that agents get from the supervisor's environment, and others with their values.
    env: tuple[str, ...] = ()
    set: tuple[tuple[str, str], ...] = ()
    limit: int = MOST
    timeout: float = TURN
    #: Tokens after which an agent of this role gets no more tasks; 0 for no limit.
    token_budget: int = 0
    #: Whether a task is done when the command exits with 0.
    done_on_exit: bool = False
    #: Whether text commands need the nonce from the prompt.
    nonce: bool = False


class CrewConfig(Record):
    """What ``crew.toml`` says."""

    roles: tuple[CrewRole, ...]
    max_agents: int = DEFAULT_MOST
    #: Whether finished work is committed and merged.
    merge: bool = True

    def role(self, name: str) -> CrewRole:
        """Return a role by its name; without one, the first."""
        if not name:
            return self.roles[0]
        found = next((role for role in self.roles if role.name == name), None)
        if found is None:
            names = ", ".join(role.name for role in self.roles)
            raise BadInput(
                f"{NAME} has no role {quote(name)}", code="CREW_ROLE", field="role",
                hint=f"the roles are: {names}",
            )  # fmt: skip
        return found


def check_limit(value: object) -> int:
    """Return a number of agents if a crew may have so many."""
    if isinstance(value, int) and not isinstance(value, bool) and FEWEST <= value <= MOST:
        return value
    raise BadInput(
        f"the limit must be from {FEWEST} to {MOST}, not {quote(value)}",
        code="LIMIT",
        field="limit",
    )


def read_config(document: Mapping[str, Any], environ: Mapping[str, str]) -> CrewConfig:
    """Return the configuration in a parsed file; ``MAX_AGENTS`` in the environment overrides its limit."""
    _check_keys(document, _CREW_KEYS, "")
    roles = document.get("roles")
    if not isinstance(roles, dict) or not roles:
        raise _wrong("roles", "has no roles", 'add one: [roles.developer] with agent = "claude"')
    most: object = document.get("max_agents", DEFAULT_MOST)
    if given := environ.get("MAX_AGENTS", ""):
        most = int(given) if given.isascii() and given.isdigit() else given
    try:
        limit = check_limit(most)
    except BadInput as error:
        where = "MAX_AGENTS in the environment" if given else "max_agents"
        raise _wrong("max_agents", f"{where}: {error.message}") from None
    return CrewConfig(
        tuple(_role(name, settings) for name, settings in roles.items()),
        limit,
        _flag(document, "merge", "", default=True),
    )


def _role(name: str, settings: object) -> CrewRole:
    place = f"roles.{name}"
    if not is_agent_id(name):
        raise _wrong(
            "roles", f"{quote(name)} is not a valid role name", "use letters, digits, - and _"
        )
    if not isinstance(settings, dict):
        raise _wrong(place, f"{place} is a section", f"write [{place}]")
    _check_keys(settings, _ROLE_KEYS, place)
    agent = _text(settings, "agent", place) or ("command" if "command" in settings else "")
    preset = PRESETS.get(agent)
    if preset is None:
        meant = closest(agent, PRESETS) if agent else ""
        known = f"did you mean {meant!r}?" if meant else f"use one of: {', '.join(PRESETS)}"
        raise _wrong(place, f"unknown agent {quote(agent)}" if agent else "names no agent", known)
    driver = _text(settings, "driver", place) or preset.driver
    if driver not in tuple(DriverName):
        raise _wrong(place, f"unknown driver {quote(driver)}", f"use {', '.join(DriverName)}")
    command = _words(settings, "command", place) or preset.command_for(driver)
    if not command or not command[0]:
        raise _wrong(place, "needs a command", 'for example: command = ["my-agent", "{prompt}"]')
    return CrewRole(
        name, agent, driver, command, _text(settings, "prompt", place), _text(settings, "model", place),
        _flag(settings, "worktree", place, default=True),
        _variables(settings, place), _values(settings, place),
        _number(settings, "limit", MOST, place, FEWEST, MOST),
        _span(settings, "timeout", TURN, place),
        _number(settings, "token_budget", 0, place, 0, 10**12),
        _flag(settings, "done_on_exit", place, default=False),
        _flag(settings, "nonce", place, default=False),
    )  # fmt: skip


# -- values


def _wrong(field: str, message: str, hint: str = "") -> Misconfigured:
    where = f"{NAME}: [{field}] " if field.startswith("roles.") else f"{NAME}: "
    return Misconfigured(f"{where}{message}", code="CREW_CONFIG", field=field, hint=hint)


def _check_keys(settings: Mapping[str, Any], known: Iterable[str], place: str) -> None:
    for key in settings:
        if key not in known:
            meant = closest(key, known)
            hint = f"did you mean {meant!r}?" if meant else f"known: {', '.join(known)}"
            raise _wrong(place, f"unknown setting {quote(key)}", hint)


def _text(settings: Mapping[str, Any], key: str, place: str) -> str:
    value = settings.get(key, "")
    if not isinstance(value, str):
        raise _wrong(place, f"{key} must be a string")
    return value


def _flag(settings: Mapping[str, Any], key: str, place: str, *, default: bool) -> bool:
    value = settings.get(key, default)
    if not isinstance(value, bool):
        raise _wrong(place, f"{key} must be true or false")
    return value


def _number(
    settings: Mapping[str, Any], key: str, default: int, place: str, low: int, high: int
) -> int:
    value = settings.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise _wrong(place, f"{key} must be a number from {low:g} to {high:g}")
    return value


def _span(settings: Mapping[str, Any], key: str, default: float, place: str) -> float:
    if key not in settings:
        return default
    try:
        return check_span(settings[key], 1.0, 86_400.0, field=key, code="SPAN")
    except BadInput as error:
        raise _wrong(place, f"{key}: {error.message}") from None


def _words(settings: Mapping[str, Any], key: str, place: str) -> tuple[str, ...]:
    value = settings.get(key, [])
    if not isinstance(value, list) or not all(
        isinstance(one, str) and "\0" not in one for one in value
    ):
        raise _wrong(place, f"{key} must be a list of strings", 'such as ["my-agent", "{prompt}"]')
    return tuple(value)


def _variables(settings: Mapping[str, Any], place: str) -> tuple[str, ...]:
    names = _words(settings, "env", place)
    for name in names:
        _check_variable(name, place)
    return names


def _values(settings: Mapping[str, Any], place: str) -> tuple[tuple[str, str], ...]:
    value = settings.get("set", {})
    if not isinstance(value, dict) or not all(isinstance(one, str) for one in value.values()):
        raise _wrong(place, "set must be a table of strings", 'such as { LANG = "C.UTF-8" }')
    for name in value:
        _check_variable(name, place)
    return tuple(value.items())


def _check_variable(name: str, place: str) -> None:
    if not name or "=" in name or "\0" in name:
        raise _wrong(place, f"{quote(name)} is not the name of a variable")
    if name.startswith(FORBIDDEN):
        raise _wrong(place, f"{name} decides which programs run, so a role cannot pass it on")
