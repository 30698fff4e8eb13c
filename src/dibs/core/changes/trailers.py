"""Commit messages and their trailers: what Dibs writes there, and that nobody else writes it.

Pure. A trailer is a line ``Name: value`` in the last paragraph of a message. Those that start with ``Dibs-``
say by whose claims a commit was made; a message that brings its own is refused, whatever its case or spacing.
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

MAX_MESSAGE = 1024 * 1024
_PREFIX = "dibs-"
#: Line ends of Python that are none of git's; one of them could hide a trailer, or show a false one.
_STRANGE_ENDS = frozenset("\v\f\x1c\x1d\x1e\x85\u2028\u2029")
_ALLOWED_CONTROLS = frozenset("\n\t")
#: A trailer's separator; git also takes what ``trailer.separators`` names.
_SEPARATORS = ":=#"


class Signed(Record):
    """What the trailers of a commit say."""

    agent: str
    claims: tuple[str, ...]
    tokens: tuple[int, ...]
    tasks: tuple[str, ...]


def check_message(text: str) -> str:
    """Return a message as git keeps it; raise ``BadInput`` (``MESSAGE``) where it cannot be kept so.

    Spaces at the ends of lines, empty lines around it, and more than one between paragraphs go.
    """
    if "\0" in text:
        raise _bad("the message has a NUL byte")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise _bad("the message is not UTF-8") from None
    if size > MAX_MESSAGE:
        raise _bad(f"the message is longer than {MAX_MESSAGE} bytes")
    clean = cleaned(text)
    if not clean:
        raise _bad("the message is empty", hint="say with -m what the commit does")
    for character in clean:
        odd = character < " " or "\x7f" <= character <= "\x9f" or character in _STRANGE_ENDS
        if odd and character not in _ALLOWED_CONTROLS:
            raise _bad(f"the message has a control character ({character!a})")
    forged = next(filter(_is_ours, clean.split("\n")), None)
    if forged is not None:
        raise _bad(
            f"the message has a line that only Dibs writes: {forged.strip()[:60]!a}",
            hint="leave it out; Dibs adds its own trailers",
        )
    return clean


def _bad(message: str, hint: str = "") -> BadInput:
    return BadInput(message, code="MESSAGE", field="message", hint=hint)


def _is_ours(line: str) -> bool:
    """Tell whether a line reads as a trailer of Dibs, however it is spelled."""
    start = line.lstrip(" \t>|*-").lower()
    if not start.startswith(_PREFIX):
        return False
    name = start[: min((at for at in map(start.find, _SEPARATORS) if at >= 0), default=0)]
    return bool(name) and all(c.isalnum() or c in "- \t" for c in name)


def cleaned(text: str) -> str:
    """Return ``text`` as git cleans up a message that was given to it: without a newline at its end."""
    lines: list[str] = []
    for line in text.replace("\r\n", "\n").split("\n"):
        bare = line.rstrip(" \t\r")
        if bare or (lines and lines[-1]):
            lines.append(bare)
    return "\n".join(lines).strip("\n")


def paragraphs(parts: Iterable[str]) -> str:
    """Join the texts of several ``-m``, each a paragraph."""
    return "\n\n".join(cleaned(part) for part in parts if part.strip())


def signed(message: str, agent: str, claims: Iterable[Claim], task: str = "") -> str:
    """Return a message that was checked, with the trailers that say by whose claims the commit is made."""
    held = list(claims)
    tokens = sorted({claim.token for claim in held})
    tasks = (task, *(claim.task for claim in held))
    rows = [f"{AGENT}: {agent}"]
    rows += [f"{CLAIM}: {name}" for name in dict.fromkeys(claim.id for claim in held)]
    rows += [f"{TOKEN}: {token}" for token in tokens]
    rows += [f"{TASK}: {name}" for name in dict.fromkeys(map(_one_line, tasks)) if name]
    gap = "\n" if ends_in_trailers(message) else "\n\n"
    return message + gap + "\n".join(rows) + "\n"


def _one_line(text: str) -> str:
    return printable(" ".join(text.split()))


def ends_in_trailers(message: str) -> bool:
    """Tell whether the last paragraph of a message, which is not its first, is all trailers."""
    head, gap, last = message.rpartition("\n\n")
    return bool(gap and head and last) and all(
        _is_trailer(line) or line[:1] in {" ", "\t"} for line in last.split("\n")
    )


def _is_trailer(line: str) -> bool:
    name, colon, value = line.partition(":")
    plain = bool(name) and all(c.isascii() and (c.isalnum() or c == "-") for c in name)
    return bool(colon) and plain and value[:1] in {"", " ", "\t"}


def read_signed(message: str) -> Signed | None:
    """Return what the trailers of a commit's message say; nothing where Dibs did not make it."""
    last = message.rstrip("\n").rpartition("\n\n")[2]
    found: dict[str, list[str]] = {}
    for line in last.split("\n"):
        name, colon, value = line.partition(": ")
        if colon and name in {AGENT, CLAIM, TOKEN, TASK}:
            found.setdefault(name, []).append(value)
    if len(found.get(AGENT, ())) != 1:
        return None
    tokens = tuple(int(t) for t in found.get(TOKEN, ()) if t.isascii() and t.isdigit())
    return Signed(found[AGENT][0], tuple(found.get(CLAIM, ())), tokens, tuple(found.get(TASK, ())))
