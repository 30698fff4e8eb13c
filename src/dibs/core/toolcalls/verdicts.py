"""Answers to tool calls that are blocked or need a warning; a call without either does not load this."""

from __future__ import annotations

from dibs.core.toolcalls.messages import half_done, kept, note, refusal
from dibs.core.toolcalls.policy import DeniedPath
from dibs.core.toolcalls.values import PASSED, EventKind, How, Verdict, Word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dibs.core.claims.rules import LeftWork
    from dibs.core.toolcalls.values import HookEvent


def blocked(
    heard: HookEvent, agent: str, refused: Sequence[DeniedPath], draw: Callable[[], str]
) -> Verdict:
    """Block a call because of the paths that it may not touch."""
    only_reads = all(touch.how == How.READ for touch in heard.touches)
    what = "command" if heard.command else "read" if only_reads else "edit"
    what = "call" if heard.watch else what
    return Verdict(Word.DENY, refusal(refused, draw, what), note(agent, refused), reader=agent)


def stopped_agent(heard: HookEvent, message: str, hint: str, draw: Callable[[], str]) -> Verdict:
    """Block every tool of a stopped agent, and say so when its session starts; ignore its other events."""
    starts = heard.moment == EventKind.STARTED
    if heard.moment != EventKind.BEFORE and not starts:
        return PASSED
    reason = message.partition(": ")[2]
    text = refusal(
        [DeniedPath(".", "stopped", reason=reason)], draw, "session" if starts else "call"
    )
    text = f"{text}\n{hint[:1].upper()}{hint[1:]}"
    return Verdict(Word.TELL if starts else Word.DENY, text, f"dibs: {message}; {hint}")


def refused_event(heard: HookEvent, message: str, hint: str) -> Verdict:
    """Refuse an event that its own session's process did not send."""
    said = f"blocked: {message} (NOT_YOU); {hint}"
    if heard.moment != EventKind.BEFORE:
        return PASSED._replace(note=f"dibs: {said}")
    return Verdict(Word.DENY, said, f"dibs: {said}")


def unfinished(agent: str, root: str, left: Iterable[LeftWork], draw: Callable[[], str]) -> Verdict:
    """Warn an agent in working tree ``root`` about unfinished work in its new claims."""
    told = [(one.path, one.agent, one.about, one.root if one.root != root else "") for one in left]
    return Verdict(Word.TELL, half_done(told, draw), reader=agent)


def still_held(agent: str, paths: Sequence[str], draw: Callable[[], str]) -> Verdict:
    """Report at the end of a turn what an agent still holds."""
    return Verdict(Word.TELL, kept(paths, draw), reader=agent)
