"""Names that tasks get which are not named by anybody: from the moment, the agent, and what they are about.

Pure.
"""

from __future__ import annotations

import time
from hashlib import sha256
from unicodedata import normalize

from dibs.core.text.names import AGENT_ID_MAX, is_agent_id

#: How long the part of an id is that comes from a title, and the part that comes from an agent.
SLUG_MAX = 50
_AGENT_MAX = 40
#: The last second of the year 9999.
_LAST = 253_402_300_799


def slug(text: str, longest: int = SLUG_MAX) -> str:
    """Return ``text`` as small letters, digits and hyphens; ``task`` if nothing is left of it."""
    plain = normalize("NFKD", text).encode("ascii", "ignore").decode("ascii").lower()
    words = "".join(c if c.isalnum() else " " for c in plain).split()
    short = ""
    for word in words:
        longer = f"{short}-{word}" if short else word
        if len(longer) > longest:
            break
        short = longer
    return short or (words[0][:longest] if words else "task")


def role_word(role: str) -> str:
    """Return the word by which a task is for a role: ``code-reviewer`` for ``Code Reviewer``.

    A role that is one word stays as it is, and so does one of which no word can be made.
    """
    if is_agent_id(role) or not any(c.isalnum() for c in normalize("NFKD", role) if c.isascii()):
        return role
    return slug(role, AGENT_ID_MAX)


def minute(moment: float) -> str:
    """Return a moment as ids begin with it: ``2025-11-23T1430``."""
    return time.strftime("%Y-%m-%dT%H%M", time.gmtime(min(max(moment, 0.0), _LAST)))


def new_id(moment: float, agent: str, about: str) -> str:
    """Return the id of a task that is made now: ``2025-11-23T1430-curator-audit``."""
    return f"{minute(moment)}-{slug(agent or 'any', _AGENT_MAX)}-{slug(about)}"


def handoff_id(source: str, completed: float, agent: str, title: str) -> str:
    """Return the id of the task that follows from another: always the same for the same handoff."""
    mark = sha256(f"{source}\n{agent}\n{title}".encode("utf-8", "replace")).hexdigest()[:6]
    return f"{new_id(completed, agent, title or 'follow-up')}-{mark}"
