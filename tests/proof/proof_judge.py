"""Follow a history step by step, and compare every result and every listing with the oracle."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

from proof_ledger import check_ledger
from proof_oracle import (
    MAX_HOLD,
    POOL,
    TTL,
    WAITER_TTL,
    Hold,
    Oracle,
    Place,
    name,
    names,
    overlap,
    rivals,
)
from proof_world import AGENTS, PATIENCE, Raised, Step, World

from dibs.core.claims.agents import Caller
from dibs.core.claims.rules import Denied, Granted, Queued
from dibs.core.patterns.pattern import parse

if TYPE_CHECKING:
    from dibs.core.claims.ledger import Entry
    from dibs.core.claims.rules import Claim

FENCED = Raised("Fenced", "FENCED")
NEVER = float("inf")
#: The most conflicts that one denial names.
SHOWN = 20


class Judge:
    """A world and its oracle."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.oracle = Oracle(world.clock.now)
        self.newest = self.steps = 0
        self.rows: dict[str, str] = {}

    def follow(self, step: Step) -> None:
        """Do ``step`` and check everything that is visible afterwards."""
        step = self.world.aim(step)
        self.steps += 1
        before, circle = self.rows, self.oracle.in_a_circle()
        open_before = self.oracle.turns()
        answer = self.world.do(step)
        self.rows = self.world.rows()
        getattr(self, f"_judge_{step.do}", self._judge_simple)(step, answer)
        if isinstance(answer, Raised):
            assert self.rows == before, "a call that fails changes nothing"
        entries = self.world.ledger(self.newest)
        self.newest = check_ledger(entries, before, self.rows, self.newest)
        self._check_turns(step, answer, entries, open_before)
        self._check_listings()
        self._check_swept(step, answer)
        if step.do in {"claim", "transfer"}:
            # A loss can create one: an agent that loses what it also waits for is then behind
            # earlier waiters.
            assert self.oracle.in_a_circle() <= circle, "no request closes a cycle of waiters"

    # -- results

    def _judge_claim(self, step: Step, answer: Any) -> None:
        oracle, agent, asked = self.oracle, step.agent, names(step.texts)
        if self._refuses_stopped(agent, answer):
            return
        oracle.arrive(agent)
        holds, places = oracle.blockers(agent, asked, step.mode)
        own = oracle.own_place(agent, asked, step.mode)
        if not holds and not places:
            assert isinstance(answer, Granted), f"nothing conflicts with {step}"
            self._grant(step, asked, answer, own)
        elif step.how == "now":
            assert isinstance(answer, Denied), f"{holds or places} conflicts"
            assert (answer.why, answer.cycle) == ("held", ())
        elif oracle.circles_back(agent, oracle.waits_for(agent, asked, step.mode)):
            assert isinstance(answer, Denied)
            assert answer.why == "deadlock"
            self._check_circle(agent, asked, step.mode, answer)
            if own:
                del oracle.places[own.number]
        else:
            self._queue(step, asked, answer, own)
        if isinstance(answer, Denied | Queued):
            self._check_conflicts(agent, step.mode, answer.conflicts, holds, places)
        if step.twice and not isinstance(answer, Queued) and step.how in ("now", "queue"):
            entries = self.world.ledger(self.newest)
            assert self.world.again(step) == answer, "a repeat gets the same result"
            assert self.world.rows() == self.rows, "a repeat changes nothing"
            assert self.world.ledger(self.newest) == entries, "a repeat is not notified again"

    def _grant(
        self, step: Step, asked: tuple[str, ...], answer: Granted, own: Place | None
    ) -> None:
        oracle, now = self.oracle, self.oracle.now
        ttl = step.ttl or TTL
        fresh = [one for one in asked if not oracle.holds_enough(step.agent, one, step.mode)]
        tokens = {c.token for c in answer.claims if name(c.pattern) in fresh}
        assert len(tokens) == (1 if fresh else 0), "one grant has one token"
        for token in tokens:
            self._new_token(token)
        for one in asked:
            if one in fresh:
                hold = Hold(step.agent, one, step.mode, answer.token, ttl, now, now + MAX_HOLD)
                oracle.lost.pop((step.agent, one), None)
            else:
                hold = oracle.holds[step.agent, one]._replace(ttl=ttl, hard=now + MAX_HOLD)
            oracle.holds[step.agent, one] = hold
        assert tuple(_hold(claim) for claim in answer.claims) == tuple(
            oracle.holds[step.agent, one] for one in asked
        ), "a grant covers everything requested"
        assert answer.expires == tuple(
            oracle.hold_ends(oracle.holds[step.agent, one]) for one in asked
        )
        if own:
            del oracle.places[own.number]

    def _queue(self, step: Step, asked: tuple[str, ...], answer: Any, own: Place | None) -> None:
        oracle, now = self.oracle, self.oracle.now
        if step.how == "moment":
            assert isinstance(answer, Denied)
            assert answer.why == "timeout"
            if own:
                del oracle.places[own.number]
            return
        standing = step.how == "queue"
        if standing:
            assert isinstance(answer, Queued)
        else:
            assert answer == "killed"
        number = own.number if own else self._newest_ticket(step.agent)
        assert own or all(number > other for other in oracle.places), "a ticket is the last in line"
        assert not standing or answer.ticket.number == number
        until = now + MAX_HOLD if standing else own.until if own else now + PATIENCE
        lasts = TTL if standing else WAITER_TTL
        oracle.places[number] = Place(
            number, step.agent, own.names if own else asked, step.mode, now, lasts, until, standing
        )

    def _newest_ticket(self, agent: str) -> int:
        tickets = [json.loads(v) for key, v in self.rows.items() if key.startswith("wait/")]
        return max(ticket["number"] for ticket in tickets if ticket["agent"] == agent)

    def _check_circle(self, agent: str, asked: tuple[str, ...], mode: str, answer: Denied) -> None:
        """Check that every edge of the cycle that a refusal names is real."""
        cycle = answer.cycle
        assert cycle[0].agent == agent
        assert cycle[-1].holder == agent
        assert all(a.holder == b.agent for a, b in itertools.pairwise(cycle))
        first = cycle[0]
        assert name(first.pattern) in asked
        assert first.holder in self.oracle.waits_for(agent, asked, mode)
        for edge in cycle[1:]:
            assert any(
                place.agent == edge.agent
                and name(edge.pattern) in place.names
                and edge.holder in self.oracle.waits_for(edge.agent, place.names, place.mode)
                for place in self.oracle.places.values()
            ), f"{edge} is not a wait"

    def _check_conflicts(
        self, agent: str, mode: str, conflicts: Any, holds: list[Hold], places: list[Place]
    ) -> None:
        for conflict in conflicts:
            assert conflict.holder != agent
            assert rivals(mode, conflict.mode)
            assert overlap(conflict.pattern, conflict.held)
        found = {(c.holder, c.ticket or name(c.held)) for c in conflicts}
        wanted = {(h.agent, h.name) for h in holds} | {(p.agent, p.number) for p in places}
        enough = found <= wanted and len(conflicts) == SHOWN
        assert enough or found == wanted, "a denial names the conflicts, and nothing else"

    def _judge_renew(self, step: Step, answer: Any) -> None:
        chosen = self._chosen(step, answer)
        if chosen is None:
            return
        oracle, agent = self.oracle, step.agent
        oracle.arrive(agent)
        if step.texts or step.ttl:
            for hold in chosen:
                oracle.holds[agent, hold.name] = hold._replace(
                    ttl=step.ttl or hold.ttl, hard=oracle.now + MAX_HOLD
                )
        assert {_hold(claim) for claim in answer.claims} == set(oracle.of(agent))
        ends = {name(c.pattern): e for c, e in zip(answer.claims, answer.expires, strict=True)}
        assert ends == {hold.name: oracle.hold_ends(hold) for hold in oracle.of(agent)}
        news = {key for key, told in oracle.lost.items() if key[0] == agent and not told}
        assert {(agent, name(lost.pattern)) for lost in answer.lost} == news
        oracle.lost.update(dict.fromkeys(news, True))

    def _judge_release(self, step: Step, answer: Any) -> None:
        chosen = self._chosen(step, answer)
        if chosen is None:
            return
        self.oracle.arrive(step.agent)
        assert {_hold(claim) for claim in answer} == set(chosen)
        for hold in chosen:
            self.oracle.drop(hold)

    def _judge_transfer(self, step: Step, answer: Any) -> None:
        oracle, to = self.oracle, step.to
        if self._refuses_stopped(step.agent, answer):
            return
        chosen, refusal = self._select(step)
        refusal = refusal or self._bad_handover(step, chosen)
        if refusal:
            assert answer == refusal
            return
        oracle.arrive(step.agent)
        (token,) = {claim.token for claim in answer}
        self._new_token(token)
        for hold in chosen:
            oracle.lose(hold, told=True)
            oracle.holds[to, hold.name] = hold._replace(agent=to, token=token, since=oracle.now)
            oracle.lost.pop((to, hold.name), None)
        assert {_hold(claim) for claim in answer} == {
            oracle.holds[to, hold.name] for hold in chosen
        }

    def _bad_handover(self, step: Step, chosen: list[Hold]) -> Raised | None:
        oracle, to = self.oracle, step.to
        arriving = to == step.agent
        if to not in oracle.seen and not arriving:
            return Raised("NotFound", "NO_AGENT")
        if arriving:
            return Raised("BadInput", "AGENT_SAME")
        for kept in oracle.of(step.agent):
            for given in chosen if kept not in chosen else []:
                if rivals(kept.mode, given.mode) and overlap(kept.name, given.name):
                    return Raised("BadInput", "TRANSFER_OVERLAP")
        holds = dict(oracle.holds)
        for hold in chosen:
            del oracle.holds[hold.agent, hold.name]
            oracle.holds[to, hold.name] = hold._replace(agent=to)
        closes = bool(oracle.in_a_circle() & {to, step.agent})
        oracle.holds = holds
        return Raised("NotAllowed", "DEADLOCK") if closes else None

    def _judge_ask(self, step: Step, answer: Any) -> None:
        if self._refuses_stopped(step.agent, answer):
            return
        self.oracle.arrive(step.agent)
        asked = {
            (hold.agent, hold.name)
            for hold in self.oracle.holds.values()
            if hold.agent != step.agent and any(overlap(t, hold.name) for t in step.texts)
        }
        assert {(ask.holder, name(ask.pattern)) for ask in answer} == asked
        for key in asked:
            self.oracle.asks.setdefault(key, set()).add(step.agent)

    def _judge_revoke(self, step: Step, answer: Any) -> None:
        gone = [h for h in self.oracle.holds.values() if overlap(step.texts[0], h.name)]
        assert {_hold(claim) for claim in answer} == set(gone)
        for hold in gone:
            self.oracle.lose(hold, told=False)

    def _judge_leave(self, step: Step, answer: Any) -> None:
        if step.agent not in self.oracle.seen:
            assert answer == Raised("NotFound", "NO_AGENT")
            return
        assert {_hold(claim) for claim in answer} == set(self.oracle.of(step.agent))
        self.oracle.end(step.agent)

    def _judge_stop(self, step: Step, answer: Any) -> None:
        if step.agent in self.oracle.seen:
            assert answer == [step.agent]
            self.oracle.end(step.agent)
            self.oracle.stopped.add(step.agent)
        else:
            assert answer in ([], Raised("NotFound", "NO_AGENT"))

    def _judge_join(self, step: Step, answer: Any) -> None:
        assert answer.id == step.agent
        self.oracle.stopped.discard(step.agent)
        self.oracle.arrive(step.agent)

    def _judge_beat(self, step: Step, answer: Any) -> None:
        if not self._refuses_stopped(step.agent, answer):
            self.oracle.arrive(step.agent)

    def _judge_simple(self, step: Step, answer: Any) -> None:
        del step, answer
        self.oracle.move_to(self.world.clock.now)

    def _refuses_stopped(self, agent: str, answer: Any) -> bool:
        stopped = agent in self.oracle.stopped
        assert stopped == (answer == Raised("NotAllowed", "AGENT_STOPPED"))
        return stopped

    def _chosen(self, step: Step, answer: Any) -> list[Hold] | None:
        """Return the claims that an owner's call selects; none if it must be refused, and was."""
        if self._refuses_stopped(step.agent, answer):
            return None
        chosen, refusal = self._select(step)
        assert (answer if isinstance(answer, Raised) else None) == refusal, f"{step}"
        return None if refusal else chosen

    def _select(self, step: Step) -> tuple[list[Hold], Raised | None]:
        """Return the selected claims, or how the call must be refused."""
        oracle, agent = self.oracle, step.agent
        token = oracle.token(step)
        chosen: dict[str, Hold] = {}
        for text in step.texts:
            mine = [hold for hold in oracle.meant(agent, text) if token in (0, hold.token)]
            if not mine:
                return [], self._refusal(agent, text, token)
            chosen.update({hold.name: hold for hold in mine})
        if not step.texts:
            chosen = {h.name: h for h in oracle.of(agent) if token in (0, h.token)}
            if token and not chosen:
                return [], FENCED
        return list(chosen.values()), None

    def _refusal(self, agent: str, text: str, token: int) -> Raised:
        others = any(h.agent != agent and overlap(text, h.name) for h in self.oracle.holds.values())
        mine = self.oracle.meant(agent, text)
        if mine or token or others or self.oracle.lost_by(agent, text):
            return FENCED
        return Raised("NotFound", "NOT_HELD")

    def _new_token(self, token: int) -> None:
        assert token > self.oracle.newest_token, "tokens only grow"
        self.oracle.newest_token = token

    # -- turns

    def _check_turns(
        self, step: Step, answer: Any, entries: list[Entry], open_before: set[int]
    ) -> None:
        """Check who was notified of its turn, and from when its time counts.

        The step that removes the last obstacle says so. If the obstacle expired by itself, the next
        request that meets the ticket does; other steps may.
        """
        oracle, free = self.oracle, self.oracle.turns()
        met = {c.ticket for c in getattr(answer, "conflicts", ()) if c.ticket}
        due = met & free
        if step.do not in ("advance", "advance_to_end"):
            due |= free - open_before
        given = {
            record["number"]: record["collect_by"]
            for record in (json.loads(v) for k, v in self.rows.items() if k.startswith("wait/"))
            if record.get("collect_by")
        }
        for number, place in oracle.places.items():
            if place.collect_by < NEVER:
                assert given.get(number) == place.collect_by, "a turn's time does not change"
            elif number in given:
                assert number in free, "nobody gets a turn while something is in its way"
                assert given[number] == oracle.now + WAITER_TTL
                assert self._was_told(place, entries), "nobody loses a place unnoticed"
                oracle.places[number] = place._replace(collect_by=given[number])
            else:
                assert number not in due, f"{place} was not told that its turn has come"

    def _was_told(self, place: Place, entries: list[Entry]) -> bool:
        """Return whether ``entries`` have the turn, with a message that its agent has not read."""
        return any(
            entry.kind == "lock_turn"
            and entry.details["ticket"] == place.number
            and any(key.startswith(f"unread/{place.agent}/{entry.seq:016d}.") for key in self.rows)
            for entry in entries
        )

    # -- what readers see

    def _check_listings(self) -> None:
        oracle, claims = self.oracle, self.world.claims
        held, waiting = claims.all()
        assert {_hold(h.claim) for h in held} == set(oracle.holds.values())
        assert len(held) == len(oracle.holds), "a claim is listed once"
        for one in held:
            hold = _hold(one.claim)
            assert one.expires_at == oracle.hold_ends(hold)
            asked = oracle.asks.get((hold.agent, hold.name), set())
            assert {ask.asker for ask in one.asks} == asked
            for other in held:
                apart = one.claim.agent == other.claim.agent or not overlap(
                    one.claim.pattern, other.claim.pattern
                )
                assert apart or not rivals(one.claim.mode, other.claim.mode), "no two overlap"
        assert [w.ticket.number for w in waiting] == sorted(oracle.places)
        for waiter in waiting:
            place = oracle.places[waiter.ticket.number]
            assert names(waiter.ticket.patterns) == place.names
            assert waiter.gives_up_in == oracle.place_ends(place) - oracle.now
        texts = sorted(POOL)
        self._check_reader_of(texts[self.steps % len(texts)])

    def _check_reader_of(self, text: str) -> None:
        oracle = self.oracle
        held, waiting = self.world.claims.overlapping(parse(text))
        assert {_hold(h.claim) for h in held} == {
            h for h in oracle.holds.values() if overlap(text, h.name)
        }
        assert {w.ticket.number for w in waiting} == {
            p.number for p in oracle.places.values() if any(overlap(text, n) for n in p.names)
        }
        for agent in (AGENTS[self.steps % len(AGENTS)], "nobody"):
            found = self.world.claims.check(Caller(agent), [parse(text)])
            holds, places = oracle.blockers(agent, names((text,)), "exclusive")
            self._check_conflicts(agent, "exclusive", found, holds, places)

    def _check_swept(self, step: Step, answer: Any) -> None:
        """Check that a call leaves no expired claim of its agent, and none that was in its way."""
        if isinstance(answer, Raised) or step.do not in ("claim", "renew", "release", "beat"):
            return
        for key, value in self.rows.items():
            if not key.startswith(("wait/", "at/", "in/")):
                continue
            record = json.loads(value)
            if key.startswith("wait/") and step.do == "claim":
                known = record["number"] in self.oracle.places
                touched = any(overlap(p, t) for p in record["patterns"] for t in step.texts)
                assert known or not touched, f"{record} expired and still exists"
            if "token" in record:
                known = (record["agent"], name(record["pattern"])) in self.oracle.holds
                touched = record["agent"] == step.agent or (
                    step.do == "claim"
                    and rivals(step.mode, record["mode"])
                    and any(overlap(record["pattern"], t) for t in step.texts)
                )
                assert known or not touched, f"{record} expired and still exists"


def _hold(claim: Claim) -> Hold:
    return Hold(
        claim.agent,
        name(claim.pattern),
        claim.mode,
        claim.token,
        claim.ttl,
        claim.since,
        claim.hard,
    )
