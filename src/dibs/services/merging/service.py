"""Merge agents' branches into the integration branch."""

from __future__ import annotations

import contextlib
from functools import partial

from dibs.core.changes.trailers import check_message
from dibs.core.claims.agents import check_human
from dibs.core.text.names import check_branch, quote
from dibs.errors import BadInput, NotFound, Unavailable
from dibs.git.refs import HEADS, tip_of
from dibs.git.state import read_state
from dibs.git.untrusted import guarded_calls
from dibs.git.worktrees import present
from dibs.services.commits.gate import nothing
from dibs.services.merging.batch import MergeBatch
from dibs.services.merging.checkout import survey
from dibs.services.merging.conflicts import make_task, report, settled_tasks
from dibs.services.merging.queue import at_head, merges_in
from dibs.services.merging.tests import Trials, clear_up, command_of
from dibs.services.merging.values import FINE, Branch, Rules
from dibs.services.worktrees.copied_files import Supply

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dibs.config.load import Config
    from dibs.core.claims.agents import Caller
    from dibs.git.calls import GitCalls
    from dibs.git.untrusted import SafeGit
    from dibs.git.worktrees import WorktreeEntry
    from dibs.local.repository import Repository
    from dibs.services.board.tasks import Tasks
    from dibs.services.commits.gate import Gate
    from dibs.services.merging.queue import MergeOverview
    from dibs.services.merging.tests import Lost
    from dibs.services.merging.values import MergeReport, MergeRequest, Run
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

_AGENTS = "agent/"


class Merges:
    """Merges branches through the merge queue."""

    def __init__(
        self,
        store: Store,
        repository: Repository,
        gate: Gate,
        tasks: Tasks,
        *,
        config: Config,
        main: str,
    ) -> None:
        """``config`` has the settings of the main working tree ``main``; an agent's own do not count."""
        self._store = store
        self._repository = repository
        self._gate = gate
        self._tasks = tasks
        self._config = config
        self._main = main

    def overview(self, limit: int) -> MergeOverview:
        """Return who merges, who waits for that, and the last results."""
        return self._store.look(lambda rows: merges_in(rows, limit))

    def merge(
        self, caller: Caller, request: MergeRequest, progress: Callable[[str], None] = nothing
    ) -> MergeReport:
        """Merge branches into the integration branch; refusals are in the report.

        ``progress`` is called with the current step.

        Raises:
            QueueTimeout: the wait for the queue timed out.
            Fenced: the queue was lost during the merge; nothing more was merged.
        """
        self._check_rights(caller, request)
        if request.message:
            check_message(request.message)
        if not self._repository.common:
            raise Unavailable(
                "merges require a git repository", code="REPO_STATE", hint="create one: git init"
            )
        gate = self._gate
        git = gate.guard.calls(self._repository.root)
        trees = present(git)
        into = self._into(git, request, trees)
        survey(git, self._repository.common, into, trees)
        branches = self._branches(git, caller, request, into)
        rules = Rules(
            self._config.merge_scope == "warn",
            not caller.human and self._config.commit_guarded != "anyone",
        )
        batch = partial(
            MergeBatch,
            self._store,
            self._repository,
            gate,
            caller,
            request,
            rules,
            progress=progress,
        )
        if request.dry_run:
            return batch(lease=None, trials=None).run(branches, into)
        command = command_of(self._config.merge_test if request.test is None else request.test)
        state = self._repository.state
        with at_head(
            self._store, caller, into, state=state, wait=request.wait, progress=progress
        ) as lease:
            clear_up(git, state)
            recovered = gate.recover()
            trials = self._trials(git, command, lease, progress)
            done = batch(lease=lease, trials=trials).run(branches, into)
        done = done._replace(notes=(*recovered, *done.notes))
        return self._with_tasks(git, caller, done)

    def test(self, commit: str, about: str, lease: Lost) -> Run | None:
        """Test a commit with the configured command in a temporary tree; None without a command.

        Raise ``Fenced`` as soon as ``lease`` is lost.
        """
        git = self._gate.guard.calls(self._repository.root)
        clear_up(git, self._repository.state)
        trials = self._trials(git, command_of(self._config.merge_test), lease, nothing)
        return None if trials is None else trials.run(commit, about)

    def _trials(
        self, git: SafeGit, command: list[str], lease: Lost, progress: Callable[[str], None]
    ) -> Trials | None:
        """Return the test runner, or None without a test command."""
        if not command:
            return None
        return Trials(
            git, self._repository.state, command, lease=lease, progress=progress, supply=self._supply,
        )  # fmt: skip

    def _check_rights(self, caller: Caller, request: MergeRequest) -> None:
        """Refuse options that only humans may use in this project."""
        if caller.human:
            return
        if request.allow_unclaimed:
            option = "--allow-unclaimed"
        elif request.test is not None and self._config.merge_test:
            option = "--test" if request.test else "--no-test"
        else:
            return
        check_human(
            caller,
            f"{option} is reserved for humans in this project",
            hint=f"merge without {option}, or ask a human to merge",
        )

    def _supply(self, tree: str) -> list[str]:
        """Copy to a test tree the ignored files that worktrees get, such as installed packages."""
        supply = Supply(guarded_calls(self._main, self._repository), tree)
        supply.copy(self._config.worktree_copy)
        supply.link(self._config.worktree_link)
        return supply.notes

    def _into(self, git: GitCalls, request: MergeRequest, trees: Sequence[WorktreeEntry]) -> str:
        named = request.into or self._config.merge_into
        if named:
            return _checked(git, named)
        first = trees[0]
        if first.bare or first.path != self._main:
            state = read_state(guarded_calls(self._main, self._repository))
            branch = "" if state.detached else state.branch
        else:
            branch = first.branch
        if not branch:
            raise Unavailable(
                "the main working tree has no branch checked out",
                code="REPO_STATE",
                hint="name the integration branch with --into, or as [merge] into in dibs.toml",
            )
        return branch

    def _branches(
        self, git: GitCalls, caller: Caller, request: MergeRequest, into: str
    ) -> list[Branch]:
        owners = self._store.look(_owners)
        if request.all:
            names = _all_of_agents(git, into)
        else:
            names = [_checked(git, name) for name in request.branches]
            names = names or [self._default(git, caller, into)]
        for name in names:
            if name == into:
                raise BadInput(
                    f"{into} is the integration branch; it cannot be merged into itself",
                    code="REF_NAME",
                    field="branch",
                )
            if not tip_of(git, name):
                raise NotFound(
                    f"branch {quote(name)} does not exist",
                    code="NO_BRANCH",
                    field="branch",
                    hint="`git branch` lists the branches",
                )
        return [Branch(name, _owner(name, owners, caller)) for name in dict.fromkeys(names)]

    def _default(self, git: GitCalls, caller: Caller, into: str) -> str:
        own = f"{_AGENTS}{caller.id}"
        if tip_of(git, own):
            return own
        here = read_state(git)
        if here.detached or here.branch == into:
            raise NotFound(
                f"you have no branch {own}, and no other branch is checked out here",
                code="NO_BRANCH",
                field="branch",
                hint="name the branch to merge: dibs merge BRANCH",
            )
        return here.branch

    def _with_tasks(self, git: GitCalls, caller: Caller, done: MergeReport) -> MergeReport:
        """Record each refusal, and create a task for each branch that its agent must fix.

        The queue has been released by now.
        """
        verdicts = list(done.verdicts)
        for place, verdict in enumerate(verdicts):
            if verdict.end in FINE:
                continue
            tip = tip_of(git, verdict.branch)
            if verdict.theirs:
                id_ = make_task(self._tasks, caller, verdict, done.into, tip)
                verdicts[place] = verdict._replace(task=id_)
            report(self._store, caller, verdicts[place], done.into, (done.new, tip))
        self._close_tasks(caller, done)
        return done._replace(verdicts=tuple(verdicts))

    def _close_tasks(self, caller: Caller, done: MergeReport) -> None:
        """Cancel the tasks of earlier refusals for branches that are now merged."""
        names = [verdict.branch for verdict in done.verdicts if verdict.end in FINE]
        left = self._store.look(lambda rows: settled_tasks(rows, names, done.into)) if names else []
        for id_ in left:
            with contextlib.suppress(NotFound, BadInput):  # someone else was faster
                self._tasks.cancel(caller, id_, reason=f"the branch was merged into {done.into}")


def _checked(git: GitCalls, name: str) -> str:
    """Return the name of a branch if our rules and git's allow it; raise otherwise."""
    check_branch(name)
    if git.run("check-ref-format", HEADS + name).code:
        check_branch("")
    return name


def _all_of_agents(git: GitCalls, into: str) -> list[str]:
    """Return the agents' branches with unmerged commits, oldest first."""
    out = git.must(
        "for-each-ref", "--sort=committerdate", "--format=%(refname)",
        f"--no-merged={HEADS}{into}", "--", f"{HEADS}{_AGENTS}",
    )  # fmt: skip
    names = [ref.removeprefix(HEADS) for ref in out.decode("utf-8", "replace").split("\n") if ref]
    return [name for name in names if name != into and _is_branch(name)]


def _is_branch(name: str) -> bool:
    """Return whether a name is a valid branch name by our rules."""
    try:
        check_branch(name)
    except BadInput:
        return False
    return True


def _owners(rows: Rows) -> dict[str, str]:
    """Return the agent of each branch that has a worktree."""
    from dibs.services.state.worktrees import all_rows

    return {row.branch: row.agent for row in all_rows(rows)}


def _owner(branch: str, owners: dict[str, str], caller: Caller) -> str:
    """Return the agent responsible for a branch: by its worktree, or its name, or else the caller."""
    named = branch.removeprefix(_AGENTS) if branch.startswith(_AGENTS) else ""
    return owners.get(branch) or named or caller.id
