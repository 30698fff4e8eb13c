"""The commit of a transaction: what its message says, and who signs it."""

from __future__ import annotations

import os

from dibs.core.claims.ledger import headlines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.core.claims.ledger import Event

NOBODY = "dibs"
#: How many further headlines the body of a message has.
_MORE = 50


def render_commit(tree: str, parent: str, told: Sequence[Event], wall: float) -> bytes:
    """Return a commit object.

    Two rivals who write the same change to the same state must not make the same commit: the second push
    would find it there already, and both would believe that they won. So each has a nonce.
    """
    name = _name(told[0].agent) if told else NOBODY
    signed = f"{name} <{name.replace(' ', '.')}@dibs.invalid> {int(wall)} +0000"
    lines = [f"tree {tree}", *([f"parent {parent}"] if parent else [])]
    lines += [f"author {signed}", f"committer {signed}", "", message(told, os.urandom(12).hex())]
    return "\n".join(lines).encode("utf-8", "backslashreplace")


def message(told: Sequence[Event], nonce: str) -> str:
    """Return the message: headlines, which cannot be taken for trailers, then our own trailer."""
    first, *rest = headlines(told) or ["update the state"]
    parts = [first]
    if rest:
        # An indented line is never a trailer.
        more = [f"  {line}" for line in rest[:_MORE]]
        parts.append("\n".join(more))
    parts.append(f"Dibs-Nonce: {nonce}")
    return "\n\n".join(parts) + "\n"


def _name(agent: str) -> str:
    """Return an agent's id as git takes a name: no angle brackets, no control characters."""
    kept = "".join(char if char.isprintable() and char not in "<>" else " " for char in agent)
    return " ".join(kept.split()).strip(".,:;\"'\\ ")[:64] or NOBODY
