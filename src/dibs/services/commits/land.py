"""Land a checked commit on the branch, on top of what others committed meanwhile.

It passes the gate under git's lock on the shared index. A plain ``git commit`` reads HEAD and then the index
before it takes that lock, so the new index is installed first: a reader that sees the new branch also sees
the new index. One that saw the old branch cannot move it anymore. In the shared index, only the entries of
the committed paths change.
"""

from __future__ import annotations

import os

from dibs.core.talk.mail import MailKind
from dibs.core.text.names import few, printable, shown
from dibs.errors import NotFound, Unavailable
from dibs.git.index import (
    IndexBusy,
    TakenOver,
    clear_up,
    freeze,
    index_locked,
    publish,
    set_free,
    settle,
    still_has,
    withdraw,
)
from dibs.git.state import branch_of, read_state
from dibs.git.trees import differences
from dibs.services.claims.holdings import give_back
from dibs.services.commits import gate
from dibs.services.commits.build import ReadyCommit, rebuild, unsteady
from dibs.services.commits.gate import Passage, RefMoved
from dibs.services.commits.keep import DroppedLines
from dibs.services.commits.private_index import index_stat, stats
from dibs.services.commits.scope import releasable, still_covered
from dibs.services.commits.shared_index import update_entries, update_stale_entries
from dibs.services.commits.values import about
from dibs.services.state.presence import arrive
from dibs.services.state.sessions import drop_left

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.core.claims.coverage import OwnedPattern
    from dibs.core.claims.rules import Claim
    from dibs.services.commits.build import CommitJob
    from dibs.services.commits.gate import Gate
    from dibs.services.commits.values import Committed
    from dibs.services.state.rows import Rows

#: How often to rebuild a commit when plain git moves the branch.
TRIES = 10
#: How long a commit waits for git's index, in seconds.
PATIENCE = 10.0


class Landing:
    """Lands one commit."""

    def __init__(self, passing: Gate, job: CommitJob) -> None:
        self._gate = passing
        self._job = job
        self._git = job.git
        self._plan = job.plan
        self._caller = job.caller
        #: The parent of the commit that landed.
        self.parent = ""

    def land(self, ready: ReadyCommit) -> Committed:
        """Pass the gate, and return the result."""
        with self._gate.turn():
            for _ in range(TRIES):
                try:
                    return self._with_index(ready)
                except TakenOver:
                    continue  # this process was stopped meanwhile: check everything again
                except IndexBusy as busy:
                    raise busy.refusal(": nothing was committed") from None
        raise self._too_often()

    def _with_index(self, ready: ReadyCommit) -> Committed:
        git_dir = self._plan.state.git_dir
        if freeze(git_dir):  # a stopped Dibs process has git's lock
            self._gate.bar()
            set_free(git_dir)
        self._gate.recover()
        clear_up(git_dir)
        with index_locked(git_dir, PATIENCE, yields=True) as own:
            self._still_on_branch()
            self._update_index(ready, own)
            gate.reach("prepared")
            return self._pass(ready, own)

    def _update_index(self, ready: ReadyCommit, own: str) -> None:
        """Make ``own`` a copy of the shared index that includes the commit."""
        if ready.new_index and index_stat(self._plan.state.git_dir) == ready.made_from:
            try:
                os.replace(ready.new_index, own)
            except FileNotFoundError:  # used by an earlier try, or another process took over
                if not still_has(own):
                    raise TakenOver from None
            else:
                return
        update_entries(self._git, own, ready.changes, ready.stats, fresh=ready.as_on_disk)

    def _pass(self, ready: ReadyCommit, own: str) -> Committed:
        """Try until it lands; while we hold git's index, only ``git update-ref`` can move the branch."""
        for _ in range(TRIES):
            try:
                return self._try(ready, own)
            except RefMoved:
                ready = self._again(ready)
        raise self._too_often()

    def _too_often(self) -> Unavailable:
        return Unavailable(
            f"nothing was committed: {self._plan.ref} moved {TRIES} times during the commit",
            code="CONFLICT",
            hint="your changes are safe; try again",
        )

    def _try(self, ready: ReadyCommit, own: str) -> Committed:
        back, older = self._releasable(ready), self._plan.older
        given: list[Claim] = []
        moved = False

        def check(rows: Rows) -> list[Claim]:
            if not moved and not still_has(own):
                raise TakenOver
            return still_covered(rows, self._caller.id, self._plan.standing.own, ready.paths)

        def prepare() -> None:
            if not publish(self._plan.state.git_dir, own):
                raise TakenOver

        def follow() -> None:
            nonlocal moved
            moved = True
            self._let_index_follow(ready, own)

        def record(rows: Rows) -> None:
            given.clear()
            done = (*ready.paths, *ready.left.moved)
            drop_left(rows, (one.key for path in done for one in older.get(path, ())))
            tell_authors(rows, self._caller.id, ready)
            if back:
                filed = [(h.key, h.claim) for h in back if rows.is_filed(h.key)]
                beat = arrive(rows, self._caller)
                give_back(rows, self._caller.id, beat, filed, clean_in=self._git.tree)
                given.extend(claim for _, claim in filed)

        landed = self._gate.land(
            self._caller, self._passage(ready), check, prepare=prepare,
            undo=lambda: withdraw(self._plan.state.git_dir, own), follow=follow, record=record,
        )  # fmt: skip
        self.parent = ready.parent
        return about(self._plan, ready.changes)._replace(
            commit=ready.commit,
            released=tuple(given),
            seq=landed.seq,
            late=landed.late,
            included=ready.left.included,
        )

    def _let_index_follow(self, ready: ReadyCommit, own: str) -> None:
        if settle(self._plan.state.git_dir, own):
            return
        left = update_stale_entries(self._git, self._plan.ref, ready.parent, ready.commit)
        if left:
            raise Unavailable(left, code="GIT_LOCKED")

    def _passage(self, ready: ReadyCommit) -> Passage:
        request, ref = self._job.request, self._plan.ref
        from dibs.core.text.secrets import mask

        subject = printable(mask(ready.message.partition("\n")[0]))
        where = f"{ready.commit[:10]} to {ref.removeprefix('refs/heads/')}"
        details: dict[str, Any] = {}
        authors = sorted({one.about.agent for one in ready.left.foreign})
        if authors:
            details["inherited"] = authors
            where += f" with changes of {few(authors)}"
        if request.request_id:
            details["request"] = (request.request_id, request.fingerprint)
        return Passage(
            "commit", ref, ready.parent, ready.commit, self._git.tree,
            tuple(ready.paths),
            f"{self._caller.id} committed {where}: {subject}",
            details,
        )  # fmt: skip

    def _releasable(self, ready: ReadyCommit) -> list[OwnedPattern]:
        if not self._job.request.release:
            return []
        return releasable(self._plan, ready.paths, self._git.tree, ready.stats)

    def _still_on_branch(self) -> None:
        state = self._plan.state
        if branch_of(self._git, state.git_dir) != state.ref:
            raise Unavailable(
                "nothing was committed: another branch was checked out during the commit",
                code="REPO_STATE",
                hint="check `git status`, then commit again",
            )

    def _again(self, ready: ReadyCommit) -> ReadyCommit:
        """Rebuild the commit on the branch's new tip, unless others changed the same files."""
        self._still_on_branch()
        head = read_state(self._git).head
        own = {change.path: change for change in ready.changes}
        for theirs in differences(self._git, ready.parent, head):
            mine = own.get(theirs.path)
            if mine is not None and mine.after != theirs.after:
                raise self._conflict(theirs.path, head)
            own.pop(theirs.path, None)  # someone committed the same content
        if not own:
            who = self._author(head)
            message = f"nothing to commit: {who} has already committed your changes in {head[:10]}"
            raise NotFound(message, code="NOTHING_CHANGED")
        try:
            again = rebuild(self._job, ready, tuple(own.values()), head)
        except DroppedLines as dropped:
            paths = [path for path in dropped.found if path in ready.stats]
            changed = [p for p in paths if stats(self._git.tree, [p])[p] != ready.stats[p]]
            if not changed:
                raise
            raise unsteady(changed[0]) from None
        if not isinstance(again, ReadyCommit):
            raise self._conflict(again[0].path, head)
        return again

    def _conflict(self, path: str, head: str) -> Unavailable:
        return Unavailable(
            f"nothing was committed: {self._author(head)} changed {shown(path)} in {head[:10]}",
            code="CONFLICT",
            hint="your changes are safe; check `git diff HEAD`, then try again",
        )

    def _author(self, commit: str) -> str:
        out = self._git.run("log", "-1", "--format=%an", "--end-of-options", commit).out
        return printable(out.decode("utf-8", "replace").strip()) or "someone"


def tell_authors(rows: Rows, agent: str, ready: ReadyCommit) -> None:
    """Tell other agents that a commit includes their lines."""
    if not ready.left.foreign or not rows.newest:  # a message needs an event
        return
    from dibs.services.state.mailbox import tell

    reason = f"in {ready.commit[:10]}"
    for one in ready.left.foreign:
        path, author = one.about.path, one.about.agent
        tell(rows, author, MailKind.COMMITTED, (path,), sender=agent, reason=reason)
