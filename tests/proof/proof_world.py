"""One project's services with an engine and a clock that a test moves, and random steps for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hypothesis import strategies as st
from proof_oracle import MAX_HOLD, POOL, STALE, TTL, WAITER_TTL, name
from tests.services.wired import wired

from dibs.config.load import Config
from dibs.core.claims.agents import Agent, Caller
from dibs.core.patterns.filing import Range
from dibs.core.patterns.pattern import parse
from dibs.errors import DibsError
from dibs.services.claims.agents import Agents
from dibs.services.claims.holdings import Holdings
from dibs.services.claims.service import Claims

if TYPE_CHECKING:
    from dibs.core.claims.ledger import Entry
    from dibs.engines.base import Engine
    from dibs.testing import ManualClock

AGENTS = ("a", "b", "c", "d")
HUMAN = Caller("h", "human")
PATIENCE = 20.0


class Step(NamedTuple):
    """One action of one agent."""

    do: str
    agent: str = "a"
    texts: tuple[str, ...] = ()
    mode: str = "exclusive"
    ttl: float | None = None
    how: str = "now"
    token: str = ""
    to: str = "b"
    twice: bool = False
    seconds: float = 0.0
    which: int = 0
    #: Whether the agent names one of its claims, instead of ``texts``.
    aimed: bool = False

    def __repr__(self) -> str:
        said = (f"{k}={v!r}" for k, v in self._asdict().items() if v != _PLAIN[k])
        return f"Step({', '.join(said)})"


_PLAIN = {"do": "", **Step._field_defaults}


class Raised(NamedTuple):
    """A call that failed as expected."""

    kind: str
    code: str


class Killed(BaseException):
    """The calling process is dead."""


class Mortal:
    """An engine whose caller can be killed while it waits."""

    as_of: float | None = None

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.shortest_ttl = engine.shortest_ttl
        self.dies = self.dead = False

    def transact(self, step: Any) -> Any:
        if self.dead:
            raise Killed
        return self.engine.transact(step)

    def view(self, step: Any) -> Any:
        return self.engine.view(step)

    def wait(self, after: int, timeout: float) -> int:
        if self.dies:
            self.dead = True
            raise Killed
        return self.engine.wait(after, timeout)

    def close(self) -> None:
        self.engine.close()


class World:
    """The services of one project."""

    def __init__(self, engine: Engine, clock: ManualClock) -> None:
        self.clock = clock
        self.engine = Mortal(engine)
        config = Config(ttl=TTL, max_hold=MAX_HOLD)
        store = wired(self.engine, config, waiter_ttl=WAITER_TTL)
        self.claims, self.holdings, self.agents = Claims(store), Holdings(store), Agents(store)
        self.requests = 0

    def rows(self) -> dict[str, str]:
        """Return every row of the store."""
        return self.engine.view(lambda txn: dict(txn.scan(Range(""))))

    def ledger(self, after: int = 0) -> list[Entry]:
        """Return the ledger."""
        return self.engine.view(lambda txn: list(txn.events(after)))

    def do(self, step: Step) -> Any:
        """Do one step; an expected error is a result too."""
        try:
            return getattr(self, f"_{step.do}")(step)
        except DibsError as error:
            return Raised(type(error).__name__, error.code)

    def aim(self, step: Step) -> Step:
        """Return ``step`` with one of the agent's own claims in it, if requested."""
        held = self.claims.all(step.agent)[0] if step.aimed else []
        if not held:
            return step
        return step._replace(texts=(held[step.which % len(held)].claim.pattern,))

    def ends(self) -> list[float]:
        """Return the deadlines that readers see."""
        held, waiting = self.claims.all()
        now = self.clock.now
        return sorted({h.expires_at for h in held} | {now + w.gives_up_in for w in waiting})

    def token_of(self, agent: str, texts: tuple[str, ...]) -> int:
        """Return the token of the claim that the first text names, or the newest."""
        claims = [held.claim for held in self.claims.all(agent)[0]]
        meant = [c.token for c in claims if not texts or name(c.pattern) == name(texts[0])]
        return max(meant, default=0)

    def _claim(self, step: Step) -> Any:
        self.requests += 1
        options: dict[str, Any] = {"mode": step.mode, "ttl": step.ttl, "reason": "because"}
        if step.twice:
            options["request_id"] = f"r{self.requests}"
        if step.how == "queue":
            options["queue"] = True
        elif step.how != "now":
            options["wait"] = PATIENCE if step.how == "die" else 0.002
        self.engine.dies = step.how == "die"
        try:
            return self.claims.claim(Caller(step.agent), _parsed(step.texts), **options)
        except Killed:
            return "killed"
        finally:
            self.engine.dies = self.engine.dead = False

    def again(self, step: Step) -> Any:
        """Repeat the newest claim request with the same request id."""
        self.requests -= 1
        return self.do(step)

    def _renew(self, step: Step) -> Any:
        return self.holdings.renew(
            Caller(step.agent), _parsed(step.texts), ttl=step.ttl, token=self._token(step)
        )

    def _release(self, step: Step) -> Any:
        return self.holdings.release(
            Caller(step.agent), _parsed(step.texts), token=self._token(step)
        )

    def _transfer(self, step: Step) -> Any:
        return self.holdings.transfer(
            Caller(step.agent), _parsed(step.texts), to=step.to, token=self._token(step)
        )

    def _ask(self, step: Step) -> Any:
        return self.holdings.ask(Caller(step.agent), _parsed(step.texts), note="please")

    def _revoke(self, step: Step) -> Any:
        return self.holdings.revoke(HUMAN, parse(step.texts[0]), reason="I need it")

    def _leave(self, step: Step) -> Any:
        return self.agents.leave(Caller(step.agent))

    def _stop(self, step: Step) -> Any:
        return self.agents.stop(HUMAN, step.agent, reason="enough")

    def _join(self, step: Step) -> Any:
        return self.agents.join(Agent(step.agent))

    def _beat(self, step: Step) -> Any:
        return self.agents.beat(Caller(step.agent))

    def _sweep(self, _: Step) -> Any:
        return self.agents.sweep()

    def _advance(self, step: Step) -> float:
        self.clock.advance(step.seconds)
        return self.clock.now

    def _advance_to_end(self, step: Step) -> float:
        ends = self.ends()
        if ends:
            at = ends[step.which % len(ends)] + step.seconds
            self.clock.now = max(self.clock.now, at)
        return self.clock.now

    def _token(self, step: Step) -> int:
        if step.token == "right":
            return self.token_of(step.agent, step.texts)
        return STALE if step.token == "stale" else 0


def _parsed(texts: tuple[str, ...]) -> list[Any]:
    return [parse(text) for text in texts]


_agent = st.sampled_from(AGENTS)
_text = st.sampled_from(sorted(POOL))
_some = st.one_of(*(st.tuples(*[_text] * count) for count in (1, 1, 1, 2, 3)))
_any = st.one_of(st.just(()), _some)
_mode = st.sampled_from(("exclusive", "exclusive", "shared"))
_ttl = st.sampled_from((None, None, 5.0, 12.0, 30.0))
_token = st.sampled_from(("", "", "", "right", "stale"))
_how = st.sampled_from(("now", "now", "queue", "queue", "queue", "die", "moment"))


def _step(do: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Step]:
    return st.fixed_dictionaries({"do": st.just(do), **fields}).map(lambda given: Step(**given))


_aim = {"aimed": st.booleans(), "which": st.integers(0, 3)}
_late = st.sampled_from((0.0, 0.0, -1.0, -0.125, 0.125))
_claim = _step(
    "claim", agent=_agent, texts=_some, mode=_mode, ttl=_ttl, how=_how, twice=st.booleans()
)
#: How often each kind of step is taken, in percent; a failing history is shrunk to the first.
_KINDS = (
    (1, _step("sweep")),
    (52, _claim),
    (7, _step("beat", agent=_agent)),
    (8, _step("renew", agent=_agent, texts=_any, ttl=_ttl, token=_token, **_aim)),
    (7, _step("release", agent=_agent, texts=_any, token=_token, **_aim)),
    (8, _step("transfer", agent=_agent, texts=_some, token=_token, to=_agent, **_aim)),
    (3, _step("ask", agent=_agent, texts=_some)),
    (2, _step("revoke", texts=_some)),
    (1, _step("leave", agent=_agent)),
    (1, _step("stop", agent=_agent)),
    (2, _step("join", agent=_agent)),
    (4, _step("advance", seconds=st.sampled_from((1.0, 1.0, 3.0, 10.0, 41.0)))),
    (4, _step("advance_to_end", seconds=_late, which=st.integers(0, 3))),
)
_drawn = st.sampled_from([kind for often, kind in _KINDS for _ in range(often)])
histories = st.lists(_drawn.flatmap(lambda kind: kind), min_size=20, max_size=40)
