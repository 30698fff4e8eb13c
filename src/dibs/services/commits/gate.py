"""The gate: a ref moves only while the claims behind it are in force, and the ledger has what landed.

The store (claims, ledger) and git (refs) have no transaction in common. So the transaction that checks
the claims also writes an intent. Then one transaction of git moves the ref from where it was seen, if
``refs/dibs/gate`` (the fence) has the value that the intent expects. Then the intent becomes a ledger entry.
A process that dies in between leaves its intent to the next one, which moves the fence, so that the dead one
can never land, and looks at the ref: if it has the new commit, the intent is finished, else dropped.
Processes of one clone take turns by a lock, but safety does not depend on it.
"""

from __future__ import annotations

import contextlib
import os
import time

from dibs.errors import DibsError, Fenced, Unavailable, Unknown
from dibs.git.refs import value_of
from dibs.git.untrusted import SafeGitPool
from dibs.local.locks import FileLock
from dibs.local.repository import clone_id
from dibs.services.commits.fence import FENCE, has_landed, raise_fence, unmoved
from dibs.services.state import commits as intents
from dibs.services.state.commits import Intent
from dibs.services.state.presence import arrive
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from dibs.core.claims.agents import Caller
    from dibs.core.claims.rules import Claim
    from dibs.git.calls import GitCalls
    from dibs.local.repository import Repository
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

#: How long a process waits for its turn before it goes on without.
TURN = 5.0
#: How often a passage is tried when the fence moved under it.
TRIES = 8


class Passage(Record):
    """What is to pass the gate: a ref goes from one commit to another."""

    #: ``commit`` or ``merge``.
    kind: str
    #: ``refs/heads/x``, or ``HEAD`` when it is detached.
    ref: str
    #: Where the ref was seen; empty for a branch without a commit.
    old: str
    new: str
    #: The top of the working tree whose index follows; empty for none.
    tree: str
    paths: tuple[str, ...]
    summary: str
    #: What the ledger's entry says besides.
    details: dict[str, Any]


class Landed(Record):
    """The ref has moved; ``seq`` is the ledger's entry, 0 where the store could not be told yet."""

    seq: int
    claims: tuple[Claim, ...]
    #: Whether a claim ran out in the moment in which the ref moved.
    late: bool = False


class RefMoved(Exception):
    """Somebody else moved the ref meanwhile; nothing of the passage has happened."""


class _Begun(Record):
    intent: Intent
    fence: str
    claims: tuple[Claim, ...]
    #: The last moment, on this machine's clock, at which the claims surely are in force.
    until: float


def reach(step: str) -> None:
    """Do nothing; a test's double stops here, as a crash would."""


def machine_clock() -> float:
    """Return seconds that pass while this machine sleeps, too."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot is None else time.clock_gettime(boot)


def nothing(*_: object) -> None:
    """Do nothing."""


class Gate:
    """Lets refs of one clone move, one after the other."""

    def __init__(
        self,
        store: Store,
        repository: Repository,
        follower: Callable[[str], Callable[[GitCalls, Intent], str]],
    ) -> None:
        """``follower`` returns for each kind what lets a working tree follow in place of a dead process.

        It gets the intent, and returns why it cannot be done now, an empty text when it is done.
        """
        self._follower = follower
        self._store = store
        self._repository = repository
        #: How all calls of a passage start git.
        self.guard = SafeGitPool(repository)
        self._turns = 0
        self._clone = ""

    def _git(self, tree: str = "") -> GitCalls:
        place = tree if tree and os.path.isdir(tree) else self._repository.root
        return self.guard.calls(place)

    @property
    def clone(self) -> str:
        """The id of this clone: on a shared store, refs are still each clone's own."""
        if not self._clone:
            self._clone = clone_id(self._repository.state)
        return self._clone

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Be the one process of this clone at the gate, or go on without after a while; may be nested."""
        if self._turns:
            yield
            return
        os.makedirs(self._repository.state, mode=0o700, exist_ok=True)
        lock = FileLock(os.path.join(self._repository.state, "gate.lock"))
        lock.take(TURN)
        self._turns += 1
        try:
            yield
        finally:
            self._turns -= 1
            lock.release()

    def land(
        self,
        caller: Caller,
        passage: Passage,
        check: Callable[[Rows], Sequence[Claim]],
        *,
        follow: Callable[[], None] = nothing,
        record: Callable[[Rows], None] = nothing,
    ) -> Landed:
        """Move the ref, if ``check`` agrees in the transaction that writes the intent.

        ``check`` returns the claims that the passage hangs on, or raises. ``follow`` runs when the ref has
        moved; a recovery calls the kind's follower in its place. ``record`` adds to the last
        transaction.

        Raises:
            Moved: the ref is not at ``passage.old`` any more.
            Fenced: the claims may have run out on the way.
            Unavailable: git or the store cannot now; nothing has happened.
        """
        with self.turn():
            for _ in range(TRIES):
                begun = self._begin(caller, passage, check)
                reach("intent")
                try:
                    moved = self._move(begun)
                except RefMoved:
                    self._store.look(check)  # who has lost its claims hears that first
                    raise
                if moved:
                    reach("moved")
                    try:
                        follow()
                    except Unavailable:  # the intent stands, and the next one at the gate does it
                        return Landed(0, begun.claims)
                    reach("followed")
                    return self._finish(begun, check, record)
        raise Unavailable("the gate was moved again and again by others", code="GIT_FAILED")

    # -- before the ref

    def _begin(
        self, caller: Caller, passage: Passage, check: Callable[[Rows], Sequence[Claim]]
    ) -> _Begun:
        """Write the intent, once nothing that others left is in the way."""
        name, clone = os.urandom(8).hex(), self.clone

        def step(rows: Rows) -> _Begun | list[Intent]:
            left = [
                i for i in intents.intents(rows, clone) if not i.landed or i.tree == passage.tree
            ]
            if left:
                return left
            beat, fence = arrive(rows, caller), intents.fence_row(rows, clone)
            claims = tuple(check(rows))  # behind the fence: what it sees gone was gone before it
            intent = Intent(
                **passage._asdict(),
                id=name,
                agent=caller.id,
                role=beat.role,
                claims=tuple(claim.id for claim in claims),
                tokens=tuple(sorted({claim.token for claim in claims})),
                patterns=tuple(claim.pattern for claim in claims),
                at=rows.now,
            )
            intents.put_intent(rows, clone, intent)
            lasts = min(
                (min(c.ttl, c.hard - rows.now) for c in claims), default=self._store.config.ttl
            )
            return _Begun(intent, fence, claims, started + lasts / 2)

        for _ in range(TRIES):
            started = machine_clock()
            answer = self._store.apply(step)
            if isinstance(answer, _Begun):
                return answer
            self._settle(answer)
        raise Unavailable("commits that others began could not be settled", code="GIT_FAILED")

    def _move(self, begun: _Begun) -> bool:
        """Move the ref; return whether it moved, False to begin anew."""
        intent = begun.intent
        if machine_clock() > begun.until:
            self._drop(intent)
            raise Fenced(
                "this process was held up for so long that your claims may have run out",
                hint="your changes are kept; claim again, look at the files, and commit again",
            )
        reach("moving")
        zero = "0" * len(intent.new)
        orders = (
            f"update {intent.ref}\0{intent.new}\0{intent.old or zero}\0",
            f"verify {FENCE}\0{begun.fence or zero}\0",
        )
        git = self._git(intent.tree)
        reason = f"dibs {intent.kind}: {intent.summary}"
        why = ""
        try:
            said = git.run(
                "update-ref", "--stdin", "-z", "-m", reason, given=os.fsencode("".join(orders))
            )
            if not said.code:
                return True
            why = said.err
        except Unavailable as late:  # it may have moved all the same
            why = late.message
        return self._unmoved(git, begun, why)

    def _unmoved(self, git: GitCalls, begun: _Begun, why: str) -> bool:
        """Find out why the ref did not move: by itself, by the fence, or not at all."""
        intent = begun.intent
        if has_landed(git, intent.ref, intent.new):
            return True
        self._drop(intent)
        if value_of(git, intent.ref) != intent.old:
            raise RefMoved(intent.ref)
        fence = value_of(git, FENCE)
        if fence != begun.fence:
            self._store.apply(lambda rows: intents.put_fence_row(rows, self.clone, fence))
            return False
        raise unmoved(why)

    def _drop(self, intent: Intent) -> None:
        self._store.apply(lambda rows: intents.drop_intent(rows, self.clone, intent.id))

    # -- after the ref

    def _finish(
        self,
        begun: _Begun,
        check: Callable[[Rows], Sequence[Claim]],
        record: Callable[[Rows], None],
    ) -> Landed:
        intent, claims = begun.intent, begun.claims

        def step(rows: Rows) -> Landed:
            seq, late = 0, _is_late(rows, check)
            if not intents.is_told(rows, intent):  # else somebody took us for dead, and has told it
                seq = intents.finish(rows, self.clone, intent, late=late)
            record(rows)
            return Landed(seq or rows.newest, claims, late)

        try:
            return self._store.apply(step)
        except (Unavailable, Unknown):
            return Landed(0, claims)  # the intent stands; the next one at the gate tells the ledger

    # -- what others left

    def begun(self) -> list[tuple[Intent, float]]:
        """Return what has been begun at this gate and is not settled, and for how many seconds."""

        def step(rows: Rows) -> list[tuple[Intent, float]]:
            return [(intent, rows.now - intent.at) for intent in intents.intents(rows, self.clone)]

        return self._store.look(step)

    def recover(self) -> list[str]:
        """Settle what processes that died have left at the gate; say what was done, a line each."""
        with self.turn():
            left = self._store.look(lambda rows: intents.intents(rows, self.clone))
            return self._settle(left) if left else []

    def _settle(self, left: Sequence[Intent]) -> list[str]:
        """Finish each intent whose ref has moved, drop each other one; none of them can land any more."""
        fence = self._raise_fence()
        reach("fenced")
        return [line for line in (self._decide(intent, fence) for intent in left) if line]

    def _decide(self, intent: Intent, fence: str) -> str:
        git = self._git(intent.tree)
        moved = intent.landed or has_landed(git, intent.ref, intent.new)
        followed = ""
        if moved and intent.tree and os.path.isdir(intent.tree):
            followed = self._follower(intent.kind)(git, intent)
        reach("settling")

        def step(rows: Rows) -> str:
            intents.put_fence_row(rows, self.clone, fence)
            if intents.get_intent(rows, self.clone, intent.id) is None:
                return ""
            if followed:
                intents.put_intent(rows, self.clone, intent._replace(landed=True))
                return f"{intent.kind} {intent.new[:10]} of {intent.agent} waits: {followed}"
            if moved:
                intents.finish(rows, self.clone, intent)
                return f"{intent.kind} {intent.new[:10]} of {intent.agent} had landed: finished"
            intents.drop_intent(rows, self.clone, intent.id)
            return f"{intent.kind} {intent.new[:10]} of {intent.agent} had not landed: dropped"

        line = self._store.apply(step)
        if followed and intent.tree == self._repository.root:
            raise Unavailable(
                followed,
                code="GIT_LOCKED",
                hint="let the other git command end, or see why it does not",
            )
        return line

    def bar(self) -> None:
        """Let nobody land who has begun before now."""
        fence = self._raise_fence()
        self._store.apply(lambda rows: intents.put_fence_row(rows, self.clone, fence))

    def _raise_fence(self) -> str:
        return raise_fence(self._git(), self.clone, self._repository.common)


def _is_late(rows: Rows, check: Callable[[Rows], Sequence[Claim]]) -> bool:
    try:
        check(rows)
    except DibsError:
        return True
    return False
