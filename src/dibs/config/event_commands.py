"""The commands in ``dibs.toml`` that run when an event happens: tables ``[[on]]``.

A setting is hashable and survives the cache of the settings, so each table becomes a JSON text.
"""

from __future__ import annotations

from dibs.core.claims.ledger import Kind
from dibs.core.text.durations import check_span
from dibs.core.text.names import closest, quote
from dibs.errors import BadInput
from dibs.startup.quickjson import encoder, loads
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: The limits of a table, and its defaults.
MOST_COMMANDS, MOST_WORDS, LONGEST_WORD = 50, 100, 4_000
TIMEOUT, TIMEOUT_MAX, RETRIES, RETRIES_MAX = 300.0, 86_400.0, 2, 10
KEYS = ("event", "command", "timeout", "retries")
_EXAMPLE = 'event = "commit" and command = ["make", "lint"]'
#: ``dibs log`` shows the kinds ``lock_…`` as ``claim_…``, and people write what they see.
_SHOWN, _STORED = "claim_", "lock_"

_encode = encoder()


class EventCommand(Record):
    """A command that runs when an event happens."""

    event: str
    command: tuple[str, ...]
    #: How long it may run, in seconds.
    timeout: float = TIMEOUT
    #: How often it runs again after a failure.
    retries: int = RETRIES


def event_commands(value: object) -> tuple[str, ...]:
    """Parse the tables ``[[on]]``; in a variable, they are a JSON text."""
    if isinstance(value, str):
        try:
            value = loads(value)
        except ValueError:
            value = None
    if not isinstance(value, list | tuple) or not all(isinstance(one, dict) for one in value):
        raise BadInput(f"write it in dibs.toml as [[on]] with {_EXAMPLE}")
    if len(value) > MOST_COMMANDS:
        raise BadInput(f"there are {len(value)} tables [[on]]; the most is {MOST_COMMANDS}")
    return tuple(dict.fromkeys(_encode(_parsed(one)._asdict()) for one in value))


def decoded(text: str) -> EventCommand:
    """Return the command in a parsed setting."""
    record: dict[str, Any] = loads(text)
    return EventCommand(**{**record, "command": tuple(record["command"])})


def _parsed(table: dict[str, Any]) -> EventCommand:
    span = check_span(
        table.get("timeout", TIMEOUT), 1.0, TIMEOUT_MAX, field="timeout", code=BadInput.code
    )
    return EventCommand(
        _event(table.get("event")), _words(table.get("command")), span, _retries(table)
    )


def _event(value: object) -> str:
    kinds = tuple(Kind)
    given = value if isinstance(value, str) else ""
    if given.startswith(_SHOWN):
        given = _STORED + given.removeprefix(_SHOWN)
    given = given.replace(":", "_", 1)
    if given in kinds:
        return given
    meant = closest(given, kinds) if given else ""
    hint = f"did you mean '{meant}'?" if meant else "docs/reference/ledger.md lists the events"
    raise BadInput(f"event must be a kind of ledger entry, not {quote(value)}", hint=hint)


def _words(value: object) -> tuple[str, ...]:
    """Parse a command, which is not run through a shell, so it cannot be one text."""
    if isinstance(value, list | tuple) and 0 < len(value) <= MOST_WORDS:
        words = tuple(word for word in value if isinstance(word, str) and _is_word(word))
        if len(words) == len(value) and words[0]:
            return words
    raise BadInput(
        f'command must be a list of words such as ["make", "lint"], not {quote(value)}',
        hint='for a shell, write it out: ["sh", "-c", "..."]',
    )


def _is_word(word: str) -> bool:
    return len(word) <= LONGEST_WORD and "\0" not in word


def _retries(table: dict[str, Any]) -> int:
    given = table.get("retries", RETRIES)
    if type(given) is int and 0 <= given <= RETRIES_MAX:
        return given
    raise BadInput(f"retries must be a whole number from 0 to {RETRIES_MAX}, not {quote(given)}")
