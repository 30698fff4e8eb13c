"""Decisions: recorded directly, or asked for and then decided by someone entitled to, or by a deadline.

Each use case is one transaction that writes the decision and its ledger entry and sends notices: to those who
may decide when it is asked for, and to its asker when it is decided.
"""

from __future__ import annotations

from dibs.core.claims.agents import HUMAN, check_speaker
from dibs.core.claims.ledger import Kind
from dibs.core.claims.rules import check_text
from dibs.core.talk import decision_rules
from dibs.core.talk.decision_rules import DecisionPolicy, Voter
from dibs.core.talk.decisions import CONFLICT, Comment, Decision, Outcome
from dibs.core.text.durations import show_span
from dibs.errors import BadInput
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
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

    CarryOut = Callable[[Rows, Caller, Decision, bool, str], Decision]


class Decisions:
    """Use cases of decisions; ``written`` are the settings of the project's own file.

    ``carry_out`` applies the choice in a conflict over claims, in the transaction that records it.
    """

    def __init__(self, store: Store, written: Loaded, carry_out: CarryOut) -> None:
        self._store = store
        self._carry_out = carry_out
        self._policy = policy_of(written, store.config)

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
        """Record a decision, or ask ``decider`` if it needs confirmation."""
        name = decision_rules.check_title(title)
        words = check_text(rationale.strip(), "rationale", decision_rules.MAX_RATIONALE)
        kind = decision_rules.check_category(category)
        span = None if deadline is None else decision_rules.check_deadline(deadline)
        draft = Decision("", 0.0, caller.id, "", name, words, kind, Outcome.RECORDED)
        asks = confirm or kind in self._policy.confirm

        def action(rows: Rows) -> list[str]:
            check_speaker(caller)
            role = arrive(rows, caller).role
            made = draft._replace(at=rows.now, role=role)
            if asks:
                made = self._pending(rows, made, decider, span)
            return [(decision_effects.ask if asks else decision_effects.record)(rows, made).id]

        fingerprint = "\n".join((
            "decide", kind, decider, str(confirm), str(span), name, words,
        ))  # fmt: skip

        def step(rows: Rows) -> Decision:
            (made,) = once(rows, caller.id, request_id, fingerprint, lambda: action(rows))
            return _known(rows, made)

        return self._store.apply(step)

    def _pending(self, rows: Rows, made: Decision, decider: str, span: float | None) -> Decision:
        """Return a draft as a pending decision under the current policy."""
        check_room(rows, made.asker)
        known = {agent.id for agent in rows.agents()}
        who = decision_rules.check_decider(decider, made.asker, known)
        terms = decision_rules.terms(made.category, rows.now, self._policy, span)
        return made._replace(
            outcome=Outcome.PENDING, decider=who, silence=terms.silence,
            deadline=terms.deadline, data={"policy": terms.why},
        )  # fmt: skip

    def all(self, *, pending: bool = False, category: str = "") -> list[Decision]:
        """Return decisions, oldest first, optionally only pending ones or one category."""
        kind = (
            decision_rules.check_category(category) if category not in {"", CONFLICT} else category
        )
        self._store.settle()

        def step(rows: Rows) -> list[Decision]:
            found = waiting(rows) if pending else decisions(rows)
            return [decision for decision in found if kind in {"", decision.category}]

        return self._store.look(step)

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
            if decision.category == CONFLICT:
                done = self._carry_out(rows, caller, done, outcome == Outcome.CONFIRMED, words)
            return decision_effects.close(rows, decision, done, voter.role)

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
            return decision_effects.close(rows, decision, done, voter.role)

        return self._each(caller, [id_], withdrawn)[0]

    def _each(
        self,
        caller: Caller,
        ids: Sequence[str],
        act: Callable[[Rows, Decision, Voter], Decision],
    ) -> list[Decision]:
        """Act on decisions in one transaction, after applying deadlines that have passed."""
        known = list(dict.fromkeys(map(decision_rules.check_id, ids)))

        def step(rows: Rows) -> list[Decision] | None:
            found = [_known(rows, id_) for id_ in known]
            passed = [one.id for one in found if decision_rules.has_passed(one, rows.now)]
            for id_ in passed:  # a deadline passed in between
                fall_silent(self._store, rows, id_)
            if passed:
                return None
            check_speaker(caller)
            voter = Voter(caller.id, caller.human, arrive(rows, caller).role)
            return [act(rows, decision, voter) for decision in found]

        while True:
            answer = self._store.apply(step)
            if answer is not None:
                return answer

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


def policy_of(written: Loaded, asked: Config) -> DecisionPolicy:
    """Return the policy of the project's file; the caller's own settings can only make it stricter.

    Agents can often set their own environment variables.
    """
    file = written.config
    place = written.origins.get("decide_allow", "")
    return DecisionPolicy(
        confirm=(*file.decide_confirm, *asked.decide_confirm),
        deny=(*file.decide_deny, *asked.decide_deny),
        allow=file.decide_allow if place.startswith(decision_rules.PROJECT_FILE) else (),
        allow_place=place,
        unproven=(*file.decide_allow, *asked.decide_allow),
        deadline=max(file.decide_deadline, asked.decide_deadline),
    )


def fall_silent(_: Store, rows: Rows, id_: str) -> None:
    """Decide a pending decision whose deadline has passed."""
    decision = get_decision(rows, id_)
    if decision is None or decision.outcome != Outcome.PENDING or not decision.deadline:
        return
    waited = show_span(round(decision.deadline - decision.at))
    outcome = decision_rules.by_silence(decision)
    done = decision_effects.decided(rows, decision, outcome, "", f"nobody decided within {waited}")
    decision_effects.close(rows, decision, done, "")


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
