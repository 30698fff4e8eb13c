"""Decisions: recorded, or asked for and then decided by somebody who may, or by a deadline.

Each is one transaction that writes the decision, tells the ledger, and tells whom it concerns by mail: those
who may decide when it is asked for, and its asker when it is decided.
"""

from __future__ import annotations

from dibs.core.claims.agents import HUMAN
from dibs.core.claims.ledger import Kind
from dibs.core.claims.rules import check_text
from dibs.core.talk import decision_rules
from dibs.core.talk.decision_rules import Policy, Voter
from dibs.core.talk.decisions import CONFLICT, Comment, Decision, Outcome
from dibs.core.text.durations import show_span
from dibs.errors import BadInput
from dibs.services.state import deadlines
from dibs.services.state.decisions import decisions, get_decision, put_decision
from dibs.services.state.decisions import pending as waiting
from dibs.services.state.idempotency import once
from dibs.services.state.presence import arrive
from dibs.services.talk import decision_effects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dibs.config.load import Config, Loaded
    from dibs.core.claims.agents import Caller
    from dibs.services.state.rows import Book
    from dibs.services.state.store import Desk


class Decisions:
    """The use cases of decisions; ``written`` is what the project's own file says of them."""

    def __init__(self, desk: Desk, written: Loaded) -> None:
        self._desk = desk
        self._policy = policy_of(written, desk.config)

    def new(
        self,
        caller: Caller,
        title: str,
        *,
        rationale: str = "",
        category: str = "general",
        confirm: bool = False,
        decider: str = HUMAN,
        deadline: object = None,
        request_id: str = "",
    ) -> Decision:
        """Record a decision; where somebody is to confirm it, ask whoever ``decider`` names."""
        name = decision_rules.check_title(title)
        words = check_text(rationale.strip(), "rationale", decision_rules.MAX_RATIONALE)
        kind = decision_rules.check_category(category)
        span = None if deadline is None else decision_rules.check_deadline(deadline)
        draft = Decision("", 0.0, caller.id, "", name, words, kind, Outcome.RECORDED)
        asks = confirm or kind in self._policy.confirm

        def action(book: Book) -> list[str]:
            role = arrive(book, caller).role
            made = draft._replace(at=book.now, role=role)
            if asks:
                made = self._pending(book, made, decider, span)
            return [(decision_effects.ask if asks else decision_effects.record)(book, made).id]

        fingerprint = "\n".join((
            "decide", kind, decider, str(confirm), str(span), name, words,
        ))  # fmt: skip

        def step(book: Book) -> Decision:
            (made,) = once(book, caller.id, request_id, fingerprint, lambda: action(book))
            return _known(book, made)

        return self._desk.apply(step)

    def _pending(self, book: Book, made: Decision, decider: str, span: float | None) -> Decision:
        """Return a draft as one that waits, under the policy that holds now."""
        check_room(book, made.asker)
        known = {agent.id for agent in book.agents()}
        who = decision_rules.check_decider(decider, made.asker, known)
        terms = decision_rules.terms(made.category, book.now, self._policy, span)
        return made._replace(
            outcome=Outcome.PENDING, decider=who, silence=terms.silence,
            deadline=terms.deadline, data={"policy": terms.why},
        )  # fmt: skip

    def all(self, *, pending: bool = False, category: str = "") -> list[Decision]:
        """Return decisions, the oldest first: all, or those that wait, or those of a category."""
        kind = (
            decision_rules.check_category(category) if category not in {"", CONFLICT} else category
        )
        settle(self._desk)

        def step(book: Book) -> list[Decision]:
            found = waiting(book) if pending else decisions(book)
            return [decision for decision in found if kind in {"", decision.category}]

        return self._desk.look(step)

    def show(self, id_: str) -> Decision:
        """Return one decision."""
        known = decision_rules.check_id(id_)
        settle(self._desk)
        return self._desk.look(lambda book: _known(book, known))

    def confirm(self, caller: Caller, id_: str, reason: str = "") -> Decision:
        """Confirm what waits; for those who may decide it."""
        return self.decide(caller, [id_], Outcome.CONFIRMED, reason)[0]

    def reject(self, caller: Caller, id_: str, reason: str) -> Decision:
        """Reject what waits, and say why; for those who may decide it."""
        return self.decide(caller, [id_], Outcome.REJECTED, reason)[0]

    def decide(
        self, caller: Caller, ids: Sequence[str], outcome: str, reason: str = ""
    ) -> list[Decision]:
        """Confirm or reject decisions, all or none; a repeat by the same voter changes nothing."""
        if outcome == Outcome.REJECTED and not reason.strip():
            raise BadInput("say why: --reason is needed", code="REASON", field="reason")
        words = check_text(reason.strip(), "reason")

        def decided(book: Book, decision: Decision, voter: Voter) -> Decision:
            if (decision.outcome, decision.decided_by) == (outcome, voter.id):
                return decision
            decision_rules.check_pending(decision)
            decision_rules.check_voter(
                decision, voter, decision_effects.above(book, decision.asker)
            )
            done = decision_effects.decided(book, decision, outcome, voter.id, words)
            if decision.category == CONFLICT:
                from dibs.services.claims.escalation import carry_out

                done = carry_out(book, caller, done, outcome == Outcome.CONFIRMED, words)
            return decision_effects.close(book, decision, done, voter.role)

        return self._each(caller, ids, decided)

    def check_conflicts(self, ids: Sequence[str]) -> None:
        """Refuse to revoke or refuse what is no conflict."""
        known = [decision_rules.check_id(id_) for id_ in ids]

        def step(book: Book) -> None:
            for id_ in known:
                decision_rules.check_conflict(_known(book, id_))

        self._desk.look(step)

    def withdraw(self, caller: Caller, id_: str, reason: str = "") -> Decision:
        """Take back what the caller asked for; it need not be decided any more."""
        words = check_text(reason.strip(), "reason")

        def withdrawn(book: Book, decision: Decision, voter: Voter) -> Decision:
            if (decision.outcome, decision.decided_by) == (Outcome.SETTLED, voter.id):
                return decision
            decision_rules.check_pending(decision)
            decision_rules.check_asker(decision, voter)
            done = decision_effects.decided(
                book, decision, Outcome.SETTLED, voter.id, words or "taken back"
            )
            return decision_effects.close(book, decision, done, voter.role)

        return self._each(caller, [id_], withdrawn)[0]

    def _each(
        self,
        caller: Caller,
        ids: Sequence[str],
        act: Callable[[Book, Decision, Voter], Decision],
    ) -> list[Decision]:
        """Act on decisions in one transaction, after silence has decided what it had to."""
        known = list(dict.fromkeys(map(decision_rules.check_id, ids)))

        def step(book: Book) -> list[Decision] | None:
            found = [_known(book, id_) for id_ in known]
            passed = [one.id for one in found if decision_rules.has_passed(one, book.now)]
            for id_ in passed:  # a deadline came between the two
                fall_silent(self._desk, book, id_)
            if passed:
                return None
            voter = Voter(caller.id, caller.human, arrive(book, caller).role)
            return [act(book, decision, voter) for decision in found]

        while True:
            deadlines.settle(self._desk)
            answer = self._desk.apply(step)
            if answer is not None:
                return answer

    def comment(self, caller: Caller, id_: str, text: str) -> Decision:
        """Say something on a decision; its asker is told, or those who may decide if the asker speaks."""
        known = decision_rules.check_id(id_)
        if not text.strip():
            raise BadInput("a comment needs words", code="COMMENT", field="text")
        words = check_text(text.strip(), "comment", decision_rules.MAX_RATIONALE)

        def step(book: Book) -> Decision:
            decision = _known(book, known)
            if len(decision.comments) >= decision_rules.MAX_COMMENTS:
                message = f"{known} has {decision_rules.MAX_COMMENTS} comments, and there is no room for more"
                raise BadInput(message, code="LIMIT", field="text")
            role = arrive(book, caller).role
            said = Comment(book.now, caller.id, role, words)
            decision = decision._replace(comments=(*decision.comments, said))
            put_decision(book, decision)
            summary = f"{caller.id} on {known}: {words}"
            book.emit(caller.id, role, Kind.DECISION_COMMENTED, summary, decision=known)
            decision_effects.tell_comment(book, decision, said)
            return decision

        return self._desk.apply(step)


def policy_of(written: Loaded, asked: Config) -> Policy:
    """Return the policy of the project's file, which the settings of whoever asks make stricter only.

    A variable is set by whoever starts an agent, and often by the agent itself.
    """
    file = written.config
    place = written.origins.get("decide_allow", "")
    return Policy(
        confirm=(*file.decide_confirm, *asked.decide_confirm),
        deny=(*file.decide_deny, *asked.decide_deny),
        allow=file.decide_allow if place.startswith(decision_rules.PROJECT_FILE) else (),
        allow_place=place,
        unproven=(*file.decide_allow, *asked.decide_allow),
        deadline=max(file.decide_deadline, asked.decide_deadline),
    )


def fall_silent(_: Desk, book: Book, id_: str) -> None:
    """Let silence decide what it was asked about, at its deadline."""
    decision = get_decision(book, id_)
    if decision is None or decision.outcome != Outcome.PENDING or not decision.deadline:
        return
    waited = show_span(round(decision.deadline - decision.at))
    outcome = decision_rules.by_silence(decision)
    done = decision_effects.decided(book, decision, outcome, "", f"nobody decided within {waited}")
    decision_effects.close(book, decision, done, "")


def settle(desk: Desk) -> None:
    """Carry out what is due, and close what became needless, as far as anything can be written."""
    from dibs.errors import Unavailable, Unknown

    try:
        deadlines.settle(desk)
        if desk.look(_needless) and desk.engine.as_of is None:
            desk.apply(_close_needless)
    except (Unavailable, Unknown):
        return


def _needless(book: Book) -> list[Decision]:
    """Return the conflicts that wait for a human, and are over."""
    conflicts = [decision for decision in waiting(book) if decision.category == CONFLICT]
    if not conflicts:
        return []
    from dibs.services.claims.escalation import still_open

    return [decision for decision in conflicts if not still_open(book, decision)]


def _close_needless(book: Book) -> None:
    for decision in _needless(book):
        done = decision_effects.decided(book, decision, Outcome.SETTLED, "", "the conflict is over")
        decision_effects.close(book, decision, done, "")


def _known(book: Book, id_: str) -> Decision:
    found = get_decision(book, id_)
    if found is None:
        raise decision_rules.no_decision(id_)
    return found


def check_room(book: Book, asker: str) -> None:
    """Refuse one more decision that waits, where too many do."""
    askers = [decision.asker for decision in waiting(book)]
    if (
        len(askers) >= decision_rules.MAX_OPEN
        or askers.count(asker) >= decision_rules.MAX_OPEN_OF_AGENT
    ):
        raise BadInput(
            f"{len(askers)} decisions wait already, {askers.count(asker)} of them for {asker}",
            code="LIMIT",
            hint="let some be decided, or `dibs decide withdraw` them",
        )
