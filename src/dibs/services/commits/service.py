"""Scoped commits: exactly the files that an agent holds and has changed, whatever else is in the tree.

A commit is planned, then built in a private index and checked path by path against the claims, then landed
through the gate.
"""

from __future__ import annotations

from dibs.core.changes.trailers import check_message
from dibs.core.claims.coverage import sort, undoing_path
from dibs.core.claims.ledger import Kind
from dibs.core.claims.rules import check_text
from dibs.core.text.names import shown
from dibs.errors import Fenced, NotFound, Unavailable
from dibs.git.state import read_state, refusal
from dibs.git.status import begin_changed, compared_with, parsed
from dibs.git.untrusted import refuse_filters, refuse_hooks, refuse_signing
from dibs.local.last_read import last_read, note_commit
from dibs.services.claims.holdings import tell_lost
from dibs.services.commits.branch import refuse_other_branch
from dibs.services.commits.build import CommitJob, ReadyCommit, build, leftovers_on_disk
from dibs.services.commits.land import Landing
from dibs.services.commits.private_index import private_index
from dibs.services.commits.retention import EVERY, forget_old
from dibs.services.commits.scope import (
    chosen_from,
    lost_for,
    name_ignored,
    origins,
    refusal_for,
    standing,
)
from dibs.services.commits.shared_index import overtaken
from dibs.services.commits.user_hooks import HOOKS, HookRefused, UserHooks, signing
from dibs.services.commits.values import CommitDenied, CommitPlan, Committed, File, about
from dibs.services.state.commits import intents
from dibs.services.state.idempotency import answered
from dibs.services.state.presence import arrive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.core.claims.agents import Caller
    from dibs.core.claims.coverage import Blocked, Sorted
    from dibs.core.claims.rules import Lost
    from dibs.git.calls import GitCalls
    from dibs.git.state import TreeState
    from dibs.git.status import PathStatus
    from dibs.git.trees import TreeChange
    from dibs.git.untrusted import SafeGit
    from dibs.local.repository import Repository
    from dibs.services.commits.gate import Gate
    from dibs.services.commits.scope import ClaimsNow, Origin
    from dibs.services.commits.values import CommitRequest
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store


class Commits:
    """The scoped commits of one working tree."""

    def __init__(self, store: Store, repository: Repository, gate: Gate) -> None:
        self._store = store
        self._repository = repository
        self._gate = gate

    def _git(self, *, as_git: bool = False) -> SafeGit:
        root = self._repository.root
        guard = self._gate.guard
        return guard.callers(root) if as_git else guard.calls(root)

    def commit(
        self, caller: Caller, request: CommitRequest, *, trial: bool = False, as_git: bool = False
    ) -> Committed | CommitDenied:
        """Commit what ``caller`` holds and has changed; a ``trial`` only returns what would be committed.

        With ``as_git``, which is for a process of the caller, run the programs that ``git commit`` would run.

        Raises:
            Fenced: a claim on a changed file was lost; nothing was committed.
            NotFound: ``NOTHING_CHANGED``, ``PATH_MISSING``.
            BadInput: ``MESSAGE``, ``PATH_IGNORED``.
            Unavailable: ``REPO_STATE``, ``CONFLICT``, ``GIT_LOCKED``, ``GIT_FAILED``.
        """
        request = request._replace(task=check_text(request.task, "task"))
        git = self._git(as_git=as_git and not trial)
        if trial:
            state, changes = _looked(git, self._repository.common)
            plan = self._plan(git, caller, request, state, changes, trial=True)
            return (
                plan if isinstance(plan, CommitDenied) else self._trial(git, caller, request, plan)
            )
        request = request._replace(message=check_message(request.message))
        earlier = self._earlier(caller.id, request) if request.request_id else None
        if earlier is not None:
            return earlier
        state, changes = _looked(git, self._repository.common)
        plan = self._plan(git, caller, request, state, changes)
        if isinstance(plan, CommitDenied):
            return plan
        sign = signing(git.reading)
        _refuse_programs(git, request, plan, signs=bool(sign))
        with private_index(state.git_dir) as index:
            hooks = UserHooks(git, state.common, index, caller)
            job = CommitJob(git, caller, request, plan, index, hooks, sign, self._guards(caller))
            try:
                ready = self._checked(job, build(job))
            except HookRefused as refusal:
                return self._refused(caller, refusal.dropped, refusal.hook)
            if not isinstance(ready, ReadyCommit):
                return self._refused(caller, ready)
            landing = Landing(self._gate, job)
            try:
                answer = landing.land(ready)
            except Fenced as lost:
                self._tell_fenced(caller, [change.path for change in plan.chosen], lost)
                raise
        note_commit(self._repository, caller.id, landing.parent, answer.commit)
        if answer.seq and not answer.seq % EVERY:
            forget_old(self._store, git, self._gate.clone)
        hooks.after()
        return name_ignored(git, answer)

    def _trial(
        self, git: SafeGit, caller: Caller, request: CommitRequest, plan: CommitPlan
    ) -> Committed | CommitDenied:
        """Return what a commit would contain."""
        answer = about(plan, plan.chosen)
        if plan.older:
            with private_index(plan.state.git_dir) as index:
                hooks = UserHooks(git, plan.state.common, index, caller)
                guards = self._guards(caller)
                job = CommitJob(git, caller, request, plan, index, hooks, (), guards)
                left = leftovers_on_disk(job)
            if left.foreign and not request.inherited:
                return CommitDenied(tuple(left.blocked))
            answer = answer._replace(included=left.included)
        return name_ignored(git, answer)

    def _checked(
        self, job: CommitJob, ready: ReadyCommit | list[Blocked]
    ) -> ReadyCommit | list[Blocked]:
        """Return a commit, or the paths at which it undoes what others committed."""
        if job.request.anyway or not isinstance(ready, ReadyCommit):
            return ready
        return self.undoing(job.caller, job.git, ready.changes, ready.parent) or ready

    def undoing(
        self, caller: Caller, git: GitCalls, changes: Sequence[TreeChange], parent: str
    ) -> list[Blocked]:
        """Return the changes of a commit that undo others' commits unread by the caller; only once."""
        seen = last_read(self._repository, caller.id)
        if not parent or set(seen.values()) <= {parent}:
            return []
        from dibs.services.commits.landed import refuse_undoing

        return refuse_undoing(self._store, self._repository, git, caller, changes, parent, seen)

    def including(
        self, caller: Caller, git: GitCalls, changes: Sequence[TreeChange], parent: str
    ) -> list[Blocked]:
        """Return the changes of a plain commit with uncommitted work of other agents; only once."""
        from dibs.services.commits.inherited import refuse_including

        return refuse_including(self._store, self._repository, git, caller, changes, parent)

    def overtaken(self, git: GitCalls, index: str, paths: Sequence[str]) -> list[Blocked]:
        """Return staged paths that would undo a commit because git read the index before it landed."""
        from dibs.services.commits.landed import commit_authors_in

        found = overtaken(git, index, paths)
        made_by = commit_authors_in(self._store, [commit for commit, _ in found])
        return [
            undoing_path(change.path, made_by[commit], commit)
            for commit, change in found
            if commit in made_by
        ]

    def _guards(self, caller: Caller) -> bool:
        """Return whether the caller may not commit files that configure tools."""
        return self._store.config.commit_guarded == "human" and not caller.human

    # -- planning

    def _earlier(self, agent: str, request: CommitRequest) -> Committed | None:
        """Return the result of an earlier request with the same ID, even if its process died."""
        if self._store.look(lambda rows: bool(intents(rows, self._gate.clone))):
            self._gate.recover()
        names = self._store.look(
            lambda rows: answered(rows, agent, request.request_id, request.fingerprint)
        )
        if names is None:
            return None
        commit, ref, *paths = names
        return Committed(commit, ref, tuple(File(path, "") for path in paths), repeated=True)

    def _plan(
        self,
        git: SafeGit,
        caller: Caller,
        request: CommitRequest,
        state: TreeState,
        changes: Sequence[PathStatus],
        *,
        trial: bool = False,
    ) -> CommitPlan | CommitDenied:
        plain = [change.path for change in changes if not change.nested]
        guards = self._guards(caller)
        now, found, lost, older = self._store.look(
            lambda rows: self._sorted(rows, caller.id, plain, guards=guards)
        )
        chosen, blocked = chosen_from(git, request, changes, found)
        refusal = refusal_for(
            lost, found, {b.path for b in blocked}, now.at,
            narrowed=request.narrowed, folder=self._repository.subdir,
        )  # fmt: skip
        if refusal is not None:
            if not trial:  # only a real commit reports the loss
                self._tell_fenced(caller, [path for path, _ in lost], refusal)
            raise refusal
        if blocked:
            return self._refused(caller, blocked)
        _refuse_unmerged(chosen)
        if not chosen:
            raise self._nothing(caller, request, found, now)
        if not (request.anyway or caller.human):
            paths = [change.path for change in chosen]
            refuse_other_branch(self._store, git, state, now.own, paths)
        return CommitPlan(state, tuple(changes), found, now, tuple(chosen), older)

    def _sorted(
        self, rows: Rows, agent: str, paths: Sequence[str], *, guards: bool
    ) -> tuple[ClaimsNow, Sorted, list[tuple[str, Lost]], dict[str, list[Origin]]]:
        """Return the claims, the changes by owner, the lost claims, and who wrote before ``agent``."""
        now = standing(rows, agent)
        found = sort(agent, paths, now.cover, guards=guards)
        foreign = [*(item.path for item in found.others), *found.nobody]
        older = origins(rows, agent, self._repository.root, found.mine)
        return now, found, lost_for(rows, now.lost, foreign), older

    def _refused(
        self, caller: Caller, blocked: Sequence[Blocked] = (), hook: str = ""
    ) -> CommitDenied:
        answer = CommitDenied(tuple(blocked), hook)
        details = {"paths": [shown(item.path) for item in blocked[:20]], "hook": hook}

        def tell(rows: Rows) -> None:
            summary = f"refused a commit by {caller.id}: {answer.reason}"
            rows.emit(caller.id, arrive(rows, caller).role, Kind.COMMIT_REFUSED, summary, **details)

        self._store.apply(tell)
        return answer

    def _tell_fenced(self, caller: Caller, paths: Sequence[str], why: Fenced) -> None:
        """Record that a commit was refused because a claim was lost; the loss counts as reported."""
        names = [shown(path) for path in dict.fromkeys(paths)][:20]

        def tell(rows: Rows) -> None:
            summary = f"refused a commit by {caller.id}: {why.message}"
            role = arrive(rows, caller).role
            tell_lost(rows, caller.id)
            rows.emit(
                caller.id, role, Kind.COMMIT_REFUSED, summary, paths=names, hook="", fenced=True
            )

        self._store.apply(tell)

    def _nothing(
        self, caller: Caller, request: CommitRequest, found: Sorted, now: ClaimsNow
    ) -> NotFound:
        left = len(found.others) + len(found.nobody)
        if not now.own:
            what = f"nothing to commit: you ({caller.id}) have not claimed any files"
            hint = "claim the files you changed: dibs claim PATH" if left else ""
        else:
            what = (
                "nothing to commit: these files have no changes"
                if request.narrowed
                else "nothing to commit: the files you hold have no changes"
            )
            files = "1 changed file is" if left == 1 else f"{left} changed files are"
            hint = f"{files} not yours: see `dibs changes`" if left else ""
        return NotFound(what, code="NOTHING_CHANGED", hint=hint)


def _refuse_unmerged(chosen: Sequence[PathStatus]) -> None:
    path = next((change.path for change in chosen if change.unmerged), "")
    if path:
        from shlex import quote

        raise Unavailable(
            f"{shown(path)} has unresolved merge conflicts",
            code="REPO_STATE",
            hint=f"resolve them, then run: git add {quote(path)}",
        )


def _refuse_programs(
    git: SafeGit, request: CommitRequest, plan: CommitPlan, *, signs: bool
) -> None:
    """Refuse untrusted programs from the repository's configuration that the commit would run."""
    refuse_filters(git, (change.path for change in plan.chosen))
    refuse_signing(git, wanted=signs)
    if request.verify:
        refuse_hooks(git, HOOKS)


def _looked(git: SafeGit, common: str) -> tuple[TreeState, list[PathStatus]]:
    """Return the state and the changes of the working tree."""
    result = begin_changed(git).end()
    if result.code:
        raise refusal(result.err)
    state = _usable(read_state(git, common, compared_with(result.out)))
    return state, parsed(result.out)


def _usable(state: TreeState) -> TreeState:
    if state.under_way:
        raise Unavailable(
            f"cannot commit: {state.under_way} is in progress",
            code="REPO_STATE",
            hint="finish or abort it with git, then commit",
        )
    return state
