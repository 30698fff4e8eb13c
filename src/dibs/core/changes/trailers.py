"""Commit messages and the trailers that Dibs adds to them. Pure.

A trailer is a line ``Name: value`` in the last paragraph of a message. Trailers that start with ``Dibs-``
name the claims behind a commit. A message that contains its own is refused, in any case or spacing.
"""

from __future__ import annotations

from dibs.core.text.names import printable
from dibs.errors import BadInput
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.core.claims.rules import Claim

AGENT, CLAIM, TOKEN, TASK = "Dibs-Agent", "Dibs-Claim", "Dibs-Token", "Dibs-Task"
#: Another agent whose uncommitted changes the commit includes.
INHERITED = "Dibs-Inherited"

MAX_MESSAGE = 1024 * 1024
_PREFIX = "dibs-"
#: Characters that end a line for Python but not for git; one of them could hide or fake a trailer.
_STRANGE_ENDS = frozenset("\v\f\x1c\x1d\x1e\x85\u2028\u2029")
_ALLOWED_CONTROLS = frozenset("\n\t")
#: Possible separators of a trailer, including those that ``trailer.separators`` may configure.
_SEPARATORS = ":=#"


class Signed(Record):
    """The contents of a commit's trailers."""

    agent: str
    claims: tuple[str, ...]
    tokens: tuple[int, ...]
    tasks: tuple[str, ...]


def check_message(text: str) -> str:
    """Return a message as git stores it; raise ``BadInput`` (``MESSAGE``) if it is not valid.

    Trailing spaces, blank lines around the message, and repeated blank lines are removed.
    """
    if "\0" in text:
        raise _bad("the message contains a NUL byte")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise _bad("the message is not valid UTF-8") from None
    if size > MAX_MESSAGE:
        raise _bad(f"the message is longer than {MAX_MESSAGE} bytes")
    clean = cleaned(text)
    if not clean:
        raise _bad("the message is empty", hint='describe the change: -m "fix login"')
    for character in clean:
        odd = character < " " or "\x7f" <= character <= "\x9f" or character in _STRANGE_ENDS
        if odd and character not in _ALLOWED_CONTROLS:
            raise _bad(f"the message contains a control character ({character!a})")
    forged = next(filter(_is_ours, clean.split("\n")), None)
    if forged is not None:
        raise _bad(
            f"the message contains a trailer that only Dibs may write: {forged.strip()[:60]!a}",
            hint="remove that line; Dibs adds its own trailers",
        )
    return clean


def _bad(message: str, hint: str = "") -> BadInput:
    return BadInput(message, code="MESSAGE", field="message", hint=hint)


def _is_ours(line: str) -> bool:
    """Return whether a line looks like a Dibs trailer, in any spelling."""
    start = line.lstrip(" \t>|*-").lower()
    if not start.startswith(_PREFIX):
        return False
    name = start[: min((at for at in map(start.find, _SEPARATORS) if at >= 0), default=0)]
    return bool(name) and all(c.isalnum() or c in "- \t" for c in name)


def cleaned(text: str) -> str:
    """Return ``text`` as git cleans up a message, without a final newline."""
    lines: list[str] = []
    for line in text.replace("\r\n", "\n").split("\n"):
        bare = line.rstrip(" \t\r")
        if bare or (lines and lines[-1]):
            lines.append(bare)
    return "\n".join(lines).strip("\n")


def paragraphs(parts: Iterable[str]) -> str:
    """Join the texts of several ``-m`` options as paragraphs."""
    return "\n\n".join(cleaned(part) for part in parts if part.strip())


def signed(
    message: str, agent: str, claims: Iterable[Claim], task: str = "", authors: Iterable[str] = ()
) -> str:
    """Return a checked message with trailers that name the agent and claims behind the commit.

    ``authors`` are other agents whose uncommitted changes it includes. A person has no ``agent``.
    """
    held = list(claims)
    tokens = sorted({claim.token for claim in held})
    tasks = (task, *(claim.task for claim in held))
    rows = [f"{AGENT}: {agent}"] if agent else []
    rows += [f"{CLAIM}: {name}" for name in dict.fromkeys(claim.id for claim in held)]
    rows += [f"{TOKEN}: {token}" for token in tokens]
    rows += [f"{TASK}: {name}" for name in dict.fromkeys(map(_one_line, tasks)) if name]
    rows += [f"{INHERITED}: {name}" for name in sorted(set(map(_one_line, authors)))]
    gap = "\n" if ends_in_trailers(message) else "\n\n"
    return message + gap + "\n".join(rows) + "\n"


def _one_line(text: str) -> str:
    return printable(" ".join(text.split()))


def ends_in_trailers(message: str) -> bool:
    """Return whether the last paragraph of a message consists of trailers and is not the only one."""
    head, gap, last = message.rpartition("\n\n")
    return bool(gap and head and last) and all(
        _is_trailer(line) or line[:1] in {" ", "\t"} for line in last.split("\n")
    )


def _is_trailer(line: str) -> bool:
    name, colon, value = line.partition(":")
    plain = bool(name) and all(c.isascii() and (c.isalnum() or c == "-") for c in name)
    return bool(colon) and plain and value[:1] in {"", " ", "\t"}


def authors_in(message: str) -> tuple[str, ...]:
    """Return the other agents whose uncommitted changes a commit includes, according to its trailers."""
    return tuple(_trailers(message).get(INHERITED, ()))


def _trailers(message: str) -> dict[str, list[str]]:
    last = message.rstrip("\n").rpartition("\n\n")[2]
    found: dict[str, list[str]] = {}
    for line in last.split("\n"):
        name, colon, value = line.partition(": ")
        if colon and name in {AGENT, CLAIM, TOKEN, TASK, INHERITED}:
            found.setdefault(name, []).append(value)
    return found


def read_signed(message: str) -> Signed | None:
    """Return the contents of a commit's Dibs trailers, or None if it has none."""
    found = _trailers(message)
    if len(found.get(AGENT, ())) != 1:
        return None
    tokens = tuple(int(t) for t in found.get(TOKEN, ()) if t.isascii() and t.isdigit())
    return Signed(found[AGENT][0], tuple(found.get(CLAIM, ())), tokens, tuple(found.get(TASK, ())))
