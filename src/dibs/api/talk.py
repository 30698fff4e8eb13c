"""Communication in Python: messages, conflicts, decisions, delegation, and briefings.

>>> from dibs import Dibs
>>> alice = Dibs.open(agent="alice", engine="memory:")
>>> bob = alice.as_agent("bob")
>>> bob.beat()
>>> message = alice.say("bob", "the parser is yours now")
>>> [letter.message.text for letter in bob.inbox()]
['the parser is yours now']

A briefing counts as delivered when its block ends without an error; otherwise it is delivered again:

>>> with bob.brief() as briefing:
...     print("the parser is yours now" in briefing.text)
True
>>> bool(bob.brief())
False
>>> alice.close()
"""

from __future__ import annotations

from dibs.core.text.arguments import check_count, check_string, check_strings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from dibs.core.claims.agents import Caller
    from dibs.core.claims.rules import Ask
    from dibs.core.talk.decisions import Decision
    from dibs.core.talk.mail import Message
    from dibs.project.project import Project
    from dibs.services.board.delegation import Delegated, Repeated
    from dibs.services.briefing.service import Briefings, Delivery
    from dibs.services.talk.mail import Letter


class Briefing:
    """A briefing, as a context manager: it counts as delivered if the block ends without an error.

    Without a block, call ``delivered`` once the text has reached the agent. Until then, the same briefing
    with the same number is returned again. It is false, and its text is empty, if nothing is new.
    """

    def __init__(self, briefings: Briefings, caller: Caller, delivery: Delivery | None) -> None:
        self._briefings = briefings
        self._caller = caller
        self.text: str = delivery.text + delivery.whole if delivery else ""
        #: The number of this delivery; 0 if it is not counted.
        self.number: int = delivery.number if delivery is not None else 0
        #: The ids of the messages in it.
        self.mail: tuple[str, ...] = tuple(delivery.mail) if delivery is not None else ()

    def __bool__(self) -> bool:
        return bool(self.text)

    def __enter__(self) -> Briefing:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.delivered()

    def delivered(self) -> None:
        """Mark the briefing as delivered; calling it again has no effect."""
        if self.number:
            self._briefings.delivered(self._caller, self.number)


class Talk:
    """The part of ``Dibs`` with which agents communicate."""

    project: Project
    caller: Caller

    # -- messages

    def say(
        self,
        to: str,
        text: str,
        *,
        reply_to: str = "",
        request_id: str = "",
    ) -> Message:
        """Send a message to an agent, a role, a group, ``human``, or ``all``."""
        return self.project.mail.say(
            self.caller, check_string(to, "to"), check_string(text, "text"),
            reply_to=check_string(reply_to, "reply_to"), request_id=check_string(request_id, "request_id"),
        )  # fmt: skip

    def inbox(self, *, everything: bool = False, sent: bool = False) -> list[Letter]:
        """Return unread messages, or ``everything``, and mark them as read."""
        letters = self.project.mail.inbox(self.caller, everything=everything, sent=sent)
        if letters and not sent:
            self.project.mail.read(self.caller, [letter.message.id for letter in letters])
        return letters

    # -- conflicts

    def answer(
        self,
        said: str,
        pattern: str = "",
        *,
        message: str = "",
        note: str = "",
        within: float | str | None = None,
        to: str = "",
    ) -> list[Ask]:
        """Reply to release requests that overlap ``pattern``, or to one by its ``message``.

        ``yes`` releases the claim, ``later`` promises to ``within`` a time, and ``no`` keeps it.
        """
        number = check_string(message, "message")
        named = check_string(pattern, "pattern")
        return self.project.answers.answer(
            self.caller, check_string(said, "said"), message=number,
            pattern=None if number and not named else self.project.tree.resolve(named),
            note=check_string(note, "note"), within=within, to=check_string(to, "to"),
        )  # fmt: skip

    def escalate(self, *patterns: str, note: str = "") -> list[Decision]:
        """Ask a human to decide a conflict: revoke the claim, or refuse the request."""
        resolved = [self.project.tree.resolve(text) for text in check_strings(patterns, "pattern")]
        return self.project.escalations.escalate(
            self.caller, resolved, note=check_string(note, "note")
        )

    # -- decisions

    def decide(
        self,
        title: str,
        *,
        rationale: str = "",
        confirm: bool = False,
        decider: str = "human",
    ) -> Decision:
        """Record a decision, or ask for one with ``confirm``."""
        return self.project.decisions.new(
            self.caller, check_string(title, "title"), rationale=check_string(rationale, "rationale"),
            confirm=confirm, decider=check_string(decider, "decider"),
        )  # fmt: skip

    def decisions(self, *, pending: bool = False) -> list[Decision]:
        """Return all decisions, or only pending ones."""
        return self.project.decisions.all(pending=pending)

    def confirm(self, decision: str, *, reason: str = "") -> Decision:
        """Confirm a pending decision; for a conflict, this revokes the claim."""
        return self.project.decisions.confirm(
            self.caller, check_string(decision, "decision"), check_string(reason, "reason")
        )

    def reject(self, decision: str, *, reason: str) -> Decision:
        """Reject a pending decision."""
        return self.project.decisions.reject(
            self.caller, check_string(decision, "decision"), check_string(reason, "reason")
        )

    # -- delegation

    def delegate(
        self,
        to: str,
        title: str,
        *,
        context: str = "",
        artefacts: Sequence[str] = (),
        anyway: bool = False,
        strict: bool = False,
        request_id: str = "",
    ) -> Delegated | Repeated:
        """Create a task for an agent or a role and notify it; ``alike`` of the result is similar work.

        With ``strict``, similar work means that nothing is sent, and the result is ``Repeated``;
        ``anyway`` overrides it.
        """
        return self.project.delegation.delegate(
            self.caller, check_string(to, "to"), check_string(title, "title"),
            context=check_string(context, "context"),
            artefacts=check_strings(artefacts, "artefacts"), strict=strict and not anyway,
            request_id=check_string(request_id, "request_id"),
        )  # fmt: skip

    # -- briefings

    def brief(self, *, full: bool = False, tokens: int = 0) -> Briefing:
        """Return what is new for this agent, or everything with ``full``."""
        from dibs.core.briefing.page import check_budget

        briefings = self.project.briefings
        budget = check_budget(check_count(tokens, "tokens")) if tokens else 0
        return Briefing(
            briefings, self.caller, briefings.prepare(self.caller, full=full, budget=budget)
        )
