"""The gate: move a ref only while the claims behind it are valid, and record it in the ledger.

The store (claims, ledger) and git (refs) share no transaction. So the transaction that checks the claims also
writes an intent. Then one git transaction moves the ref from its expected value, if ``refs/dibs/gate`` (the
fence) has the value that the intent expects. Then the intent becomes a ledger entry. If a process dies in
between, the next one finds its intent. It moves the fence, so that the dead process can never land, and looks
at the ref: if it has the new commit, the intent is finished, otherwise dropped. Processes of one clone take
turns with a lock, but safety does not depend on it.
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

#: How long a process waits for its turn before it continues without, in seconds.
TURN = 5.0
#: How often to retry a passage when the fence moves.
TRIES = 8


class Passage(Record):
    """A ref's move from one commit to another, through the gate."""

    #: ``commit`` or ``merge``.
    kind: str
    #: ``refs/heads/x``, or ``HEAD`` when it is detached.
    ref: str
    #: The ref's expected value; empty for a branch without commits.
    old: str
    new: str
    #: The working tree whose index must follow, if any.
    tree: str
    paths: tuple[str, ...]
    summary: str
    #: More details for the ledger entry.
    details: dict[str, Any]


class Landed(Record):
    """The ref has moved; ``seq`` is the ledger entry, or 0 if it is not written yet."""

    seq: int
    claims: tuple[Claim, ...]
    #: Whether a claim expired at the moment the ref moved.
    late: bool = False


class RefMoved(Exception):
    """Someone else moved the ref meanwhile; the passage changed nothing."""


class _Begun(Record):
    intent: Intent
    fence: str
    claims: tuple[Claim, ...]
    #: The last moment, on this machine's clock, at which the claims are certainly valid.
    until: float


def reach(step: str) -> None:
    """Do nothing; tests replace this to simulate a crash at ``step``."""


def machine_clock() -> float:
    """Return seconds on a clock that keeps running while this machine sleeps."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot is None else time.clock_gettime(boot)


def nothing(*_: object) -> None:
    """Do nothing."""


class Gate:
    """Moves refs of one clone, one after the other."""

    def __init__(
        self,
        store: Store,
        repository: Repository,
        follower: Callable[[str], Callable[[GitCalls, Intent], str]],
    ) -> None:
        """``follower`` returns for each kind a function that updates a working tree for a dead process.

        That function takes the intent, and returns why it failed, or an empty text.
        """
        self._follower = follower
        self._store = store
        self._repository = repository
        #: Starts git for all calls of a passage.
        self.guard = SafeGitPool(repository)
        self._turns = 0
        self._clone = ""

    def _git(self, tree: str = "") -> GitCalls:
        place = tree if tree and os.path.isdir(tree) else self._repository.root
        return self.guard.calls(place)

    @property
    def clone(self) -> str:
        """The ID of this clone: clones may share a store, but each has its own refs."""
        if not self._clone:
            self._clone = clone_id(self._repository.state)
        return self._clone

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Be the only process of this clone at the gate, or continue without after a while; may be nested."""
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
        prepare: Callable[[], None] = nothing,
        undo: Callable[[], None] = nothing,
        follow: Callable[[], None] = nothing,
        record: Callable[[Rows], None] = nothing,
    ) -> Landed:
        """Move the ref, if ``check`` agrees in the transaction that writes the intent.

        ``check`` returns the claims that the passage depends on, or raises. ``prepare`` runs before the ref
        moves, and ``undo`` if it does not. ``follow`` runs after the ref has moved; a recovery calls the
        kind's follower instead. ``record`` adds to the last transaction.

        Raises:
            RefMoved: the ref is no longer at ``passage.old``.
            Fenced: the claims may have expired meanwhile.
            Unavailable: git or the store failed; nothing has changed.
        """
        with self.turn():
            for _ in range(TRIES):
                begun = self._begin(caller, passage, check)
                reach("intent")
                prepare()
                reach("published")
                try:
                    moved = self._move(begun)
                except (RefMoved, DibsError) as stopped:
                    undo()
                    if isinstance(stopped, RefMoved):
                        self._store.look(check)  # a lost claim is the more important error
                    raise
                if not moved:
                    undo()
                    continue
                reach("moved")
                try:
                    follow()
                except Unavailable:  # the next process at the gate finishes the intent
                    return Landed(0, begun.claims)
                reach("followed")
                return self._finish(begun, check, record)
        raise Unavailable(
            "other processes kept moving the gate", code="GIT_FAILED", hint="try again"
        )

    # -- before the ref moves

    def _begin(
        self, caller: Caller, passage: Passage, check: Callable[[Rows], Sequence[Claim]]
    ) -> _Begun:
        """Write the intent, after resolving unfinished ones."""
        name, clone = os.urandom(8).hex(), self.clone

        def step(rows: Rows) -> _Begun | list[Intent]:
            left = [
                i for i in intents.intents(rows, clone) if not i.landed or i.tree == passage.tree
            ]
            if left:
                return left
            beat, fence = arrive(rows, caller), intents.fence_row(rows, clone)
            claims = tuple(check(rows))  # after reading the fence, so that a later change moves it
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
        raise Unavailable(
            "cannot resolve commits that other processes left unfinished",
            code="GIT_FAILED",
            hint="run `dibs doctor --fix`",
        )

    def _move(self, begun: _Begun) -> bool:
        """Move the ref; return False if the passage must start again."""
        intent = begun.intent
        if machine_clock() > begun.until:
            self._drop(intent)
            raise Fenced(
                "this process was stopped for so long that your claims may have expired",
                hint="your changes are safe; claim the files again, check them, and commit again",
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
            result = git.run(
                "update-ref", "--stdin", "-z", "-m", reason, given=os.fsencode("".join(orders))
            )
            if not result.code:
                return True
            why = result.err
        except Unavailable as late:  # it may have moved anyway
            why = late.message
        return self._unmoved(git, begun, why)

    def _unmoved(self, git: GitCalls, begun: _Begun, why: str) -> bool:
        """Decide why the ref did not move: return True if it did after all, False if the fence moved."""
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

    # -- after the ref has moved

    def _finish(
        self,
        begun: _Begun,
        check: Callable[[Rows], Sequence[Claim]],
        record: Callable[[Rows], None],
    ) -> Landed:
        intent, claims = begun.intent, begun.claims

        def step(rows: Rows) -> Landed:
            seq, late = 0, _is_late(rows, check)
            if not intents.is_told(rows, intent):  # otherwise another process finished it for us
                seq = intents.finish(rows, self.clone, intent, late=late)
            record(rows)
            return Landed(seq or rows.newest, claims, late)

        try:
            return self._store.apply(step)
        except (Unavailable, Unknown):
            return Landed(0, claims)  # the next process at the gate writes the ledger entry

    # -- recovery

    def begun(self) -> list[tuple[Intent, float]]:
        """Return the unfinished intents of this clone, and their age in seconds."""
        clone = clone_id(self._repository.state, make=False)

        def step(rows: Rows) -> list[tuple[Intent, float]]:
            found = intents.intents(rows, clone) if clone else []
            return [(intent, rows.now - intent.at) for intent in found]

        return self._store.look(step)

    def recover(self) -> list[str]:
        """Resolve what dead processes left at the gate; return what was done, a line each."""
        with self.turn():
            left = self._store.look(lambda rows: intents.intents(rows, self.clone))
            return self._settle(left) if left else []

    def _settle(self, left: Sequence[Intent]) -> list[str]:
        """Finish each intent whose ref has moved, and drop the others; none of them can land later."""
        fence = self._raise_fence()
        reach("fenced")
        return [line for line in (self._decide(intent, fence) for intent in left) if line]

    def _decide(self, intent: Intent, fence: str) -> str:
        git = self._git(intent.tree)
        moved = intent.landed or has_landed(git, intent.ref, intent.new)
        followed = ""
        if intent.tree and os.path.isdir(intent.tree):
            if moved:
                followed = self._follower(intent.kind)(git, intent)
            elif intent.kind == "commit":  # its index may have been published before the ref moved
                self._follower(intent.kind)(git, intent._replace(old=intent.new, new=intent.old))
        reach("settling")

        def step(rows: Rows) -> str:
            intents.put_fence_row(rows, self.clone, fence)
            if intents.get_intent(rows, self.clone, intent.id) is None:
                return ""
            if followed:
                intents.put_intent(rows, self.clone, intent._replace(landed=True))
                return f"{intent.kind} {intent.new[:10]} by {intent.agent} is waiting: {followed}"
            if moved:
                intents.finish(rows, self.clone, intent)
                return f"finished the interrupted {intent.kind} {intent.new[:10]} by {intent.agent}"
            intents.drop_intent(rows, self.clone, intent.id)
            return f"dropped the interrupted {intent.kind} {intent.new[:10]} by {intent.agent}"

        line = self._store.apply(step)
        if followed and intent.tree == self._repository.root:
            raise Unavailable(
                followed,
                code="GIT_LOCKED",
                hint="wait for the other git command to finish, then try again",
            )
        return line

    def bar(self) -> None:
        """Prevent every passage that has already begun from landing."""
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
