"""Decisions: recorded directly, or asked for and then decided by someone entitled to.

Each use case is one transaction that writes the decision and its ledger entry and sends notices: to those who
may decide when it is asked for, and to its asker when it is decided.
"""

from __future__ import annotations

from dibs.core.claims.agents import HUMAN, check_speaker
from dibs.core.claims.ledger import Kind
from dibs.core.claims.rules import check_text
from dibs.core.talk import decision_rules
from dibs.core.talk.decision_rules import Voter
from dibs.core.talk.decisions import Comment, Decision, Outcome
from dibs.errors import BadInput
from dibs.services.state.decisions import decisions, get_decision, put_decision
from dibs.services.state.decisions import pending as waiting
from dibs.services.state.idempotency import once
from dibs.services.state.presence import arrive
from dibs.services.talk import decision_effects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dibs.core.claims.agents import Caller
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

    CarryOut = Callable[[Rows, Caller, Decision, bool, str], Decision]


class Decisions:
    """Use cases of decisions.

    ``carry_out`` applies the choice in a conflict over claims, in the transaction that records it.
    """

    def __init__(self, store: Store, carry_out: CarryOut) -> None:
        self._store = store
        self._carry_out = carry_out

    def new(
        self,
        caller: Caller,
        title: str,
        *,
        rationale: str = "",
        confirm: bool = False,
        decider: str = HUMAN,
        request_id: str = "",
    ) -> Decision:
        """Record a decision, or ask ``decider`` if it needs confirmation."""
        name = decision_rules.check_title(title)
        words = check_text(rationale.strip(), "rationale", decision_rules.MAX_RATIONALE)
        draft = Decision("", 0.0, caller.id, "", name, words, Outcome.RECORDED)

        def action(rows: Rows) -> list[str]:
            check_speaker(caller)
            role = arrive(rows, caller).role
            made = draft._replace(at=rows.now, role=role)
            if not confirm:
                return [decision_effects.record(rows, made).id]
            return [decision_effects.ask(rows, _pending(rows, made, decider)).id]

        fingerprint = "\n".join(("decide", decider, str(confirm), name, words))

        def step(rows: Rows) -> Decision:
            (made,) = once(rows, caller.id, request_id, fingerprint, lambda: action(rows))
            return _known(rows, made)

        return self._store.apply(step)

    def all(self, *, pending: bool = False) -> list[Decision]:
        """Return decisions, oldest first, optionally only pending ones."""
        self._store.settle()
        return self._store.look(lambda rows: list((waiting if pending else decisions)(rows)))

    def show(self, id_: str) -> Decision:
        """Return one decision."""
        known = decision_rules.check_id(id_)
        self._store.settle()
        return self._store.look(lambda rows: _known(rows, known))

    def confirm(self, caller: Caller, id_: str, reason: str = "") -> Decision:
        """Confirm a pending decision."""
        return self.decide(caller, [id_], Outcome.CONFIRMED, reason)[0]

    def reject(self, caller: Caller, id_: str, reason: str) -> Decision:
        """Reject a pending decision with a reason."""
        return self.decide(caller, [id_], Outcome.REJECTED, reason)[0]

    def decide(
        self,
        caller: Caller,
        ids: Sequence[str],
        outcome: str,
        reason: str = "",
        *,
        conflict: bool = False,
    ) -> list[Decision]:
        """Confirm or reject decisions, all or nothing; a repeat by the same voter changes nothing.

        With ``conflict``, refuse those that are not conflicts over claims.
        """
        if conflict:
            self._check_conflicts(ids)
        if outcome == Outcome.REJECTED and not reason.strip():
            raise BadInput("a rejection needs a --reason", code="REASON", field="reason")
        words = check_text(reason.strip(), "reason")

        def decided(rows: Rows, decision: Decision, voter: Voter) -> Decision:
            if (decision.outcome, decision.decided_by) == (outcome, voter.id):
                return decision
            decision_rules.check_pending(decision)
            decision_rules.check_voter(
                decision, voter, decision_effects.above(rows, decision.asker)
            )
            done = decision_effects.decided(rows, decision, outcome, voter.id, words)
            if decision.conflict:
                done = self._carry_out(rows, caller, done, outcome == Outcome.CONFIRMED, words)
            return decision_effects.close(rows, done, voter.role)

        return self._each(caller, ids, decided)

    def _check_conflicts(self, ids: Sequence[str]) -> None:
        """Refuse decisions that are not conflicts."""
        known = [decision_rules.check_id(id_) for id_ in ids]

        def step(rows: Rows) -> None:
            for id_ in known:
                decision_rules.check_conflict(_known(rows, id_))

        self._store.look(step)

    def withdraw(self, caller: Caller, id_: str, reason: str = "") -> Decision:
        """Withdraw the caller's own request."""
        words = check_text(reason.strip(), "reason")

        def withdrawn(rows: Rows, decision: Decision, voter: Voter) -> Decision:
            if (decision.outcome, decision.decided_by) == (Outcome.SETTLED, voter.id):
                return decision
            decision_rules.check_pending(decision)
            decision_rules.check_asker(decision, voter)
            done = decision_effects.decided(
                rows, decision, Outcome.SETTLED, voter.id, words or "withdrawn"
            )
            return decision_effects.close(rows, done, voter.role)

        return self._each(caller, [id_], withdrawn)[0]

    def _each(
        self,
        caller: Caller,
        ids: Sequence[str],
        act: Callable[[Rows, Decision, Voter], Decision],
    ) -> list[Decision]:
        """Act on decisions in one transaction."""
        known = list(dict.fromkeys(map(decision_rules.check_id, ids)))

        def step(rows: Rows) -> list[Decision]:
            found = [_known(rows, id_) for id_ in known]
            check_speaker(caller)
            voter = Voter(caller.id, caller.human, arrive(rows, caller).role)
            return [act(rows, decision, voter) for decision in found]

        return self._store.apply(step)

    def comment(self, caller: Caller, id_: str, text: str) -> Decision:
        """Comment on a decision; notify its asker, or the deciders if the asker comments."""
        known = decision_rules.check_id(id_)
        if not text.strip():
            raise BadInput("the comment is empty", code="COMMENT", field="text")
        words = check_text(text.strip(), "comment", decision_rules.MAX_RATIONALE)

        def step(rows: Rows) -> Decision:
            decision = _known(rows, known)
            if len(decision.comments) >= decision_rules.MAX_COMMENTS:
                message = f"{known} already has {decision_rules.MAX_COMMENTS} comments, the maximum"
                raise BadInput(message, code="LIMIT", field="text")
            check_speaker(caller)
            role = arrive(rows, caller).role
            said = Comment(rows.now, caller.id, role, words)
            decision = decision._replace(comments=(*decision.comments, said))
            put_decision(rows, decision)
            summary = f"{caller.id} commented on {known}: {words}"
            rows.emit(caller.id, role, Kind.DECISION_COMMENTED, summary, decision=known)
            decision_effects.tell_comment(rows, decision, said)
            return decision

        return self._store.apply(step)


def _pending(rows: Rows, made: Decision, decider: str) -> Decision:
    """Return a draft as a pending decision."""
    check_room(rows, made.asker)
    known = {agent.id for agent in rows.agents()}
    who = decision_rules.check_decider(decider, made.asker, known)
    return made._replace(outcome=Outcome.PENDING, decider=who)


def _known(rows: Rows, id_: str) -> Decision:
    found = get_decision(rows, id_)
    if found is None:
        raise decision_rules.no_decision(id_)
    return found


def check_room(rows: Rows, asker: str) -> None:
    """Refuse another pending decision if there are too many."""
    askers = [decision.asker for decision in waiting(rows)]
    if (
        len(askers) >= decision_rules.MAX_OPEN
        or askers.count(asker) >= decision_rules.MAX_OPEN_OF_AGENT
    ):
        raise BadInput(
            f"{len(askers)} decisions are pending, {askers.count(asker)} of them from {asker}",
            code="LIMIT",
            hint="wait for some of them, or withdraw one with `dibs decide withdraw ID`",
        )
