"""The Python API, for people who write their own agents.

>>> from dibs import Dibs
>>> with Dibs.open(agent="a", engine="memory:") as dibs:
...     with dibs.claim("src/**", reason="rename the parser") as hold:
...         print(hold.claims[0].pattern, hold.claims[0].mode)
src/** exclusive

If another agent holds it, ``Refused`` is raised, which contains the answer:

>>> alice = Dibs.open(agent="alice", engine="memory:")
>>> bob = alice.as_agent("bob")
>>> hold = alice.claim("src/auth.py")
>>> try:
...     bob.claim("src/*.py")
... except Refused as refused:
...     print(refused.conflicts[0].holder, refused.conflicts[0].witness)
alice src/auth.py
>>> hold.release()
>>> bob.claim("src/*.py").token > hold.token
True

The board gives each task to one agent; leaving the block without a result releases the task:

>>> task = alice.new_task("Audit the docs", artefacts=["docs/"], slug="audit")
>>> attempt = bob.take_task()
>>> with attempt:
...     attempt.done("fixed 12 links").task.status
'done'
>>> alice.take_task() is None
True
>>> alice.close()
"""

from __future__ import annotations

import os

from dibs.api.talk import Talk
from dibs.core.claims.agents import heartbeat_every
from dibs.core.claims.rules import EXCLUSIVE, SHARED, Denied, Granted, Queued
from dibs.core.text.arguments import check_count, check_mapping, check_string, check_strings
from dibs.errors import DibsError, Fenced
from dibs.local.heartbeat import Heartbeat
from dibs.local.identity import acting_agent, check_names
from dibs.project.project import open_project
from dibs.services.claims.callers import caller_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from types import TracebackType

    from dibs.api.attempts import Attempt
    from dibs.core.claims.agents import Caller
    from dibs.core.claims.coverage import Blocked
    from dibs.core.claims.ledger import Entry
    from dibs.core.claims.rules import Ask, Claim, Conflict, Held, Lost
    from dibs.core.patterns.pattern import Pattern
    from dibs.project.project import Project
    from dibs.services.claims.holdings import Renewed
    from dibs.services.commits.values import CommitDenied as RefusedCommit
    from dibs.services.commits.values import Committed
    from dibs.services.state.tasks import Stored
    from dibs.services.tasks.values import TaskView


class Refused(DibsError):
    """Another agent holds it. ``answer`` says who, why, and until when."""

    code = "HELD"
    retryable = True

    def __init__(self, answer: Denied | Queued) -> None:
        first = answer.conflicts[0]
        message = f"{first.holder} holds {first.held}"
        hint = "wait for it, request it, or work on something else"
        if isinstance(answer, Denied) and answer.why == "refused":
            why = f": {answer.reason}" if answer.reason else ""
            message = f"{answer.by} refused {first.pattern} ({answer.decision}){why}"
            hint = "work on something else"
        super().__init__(message, hint=hint)
        self.answer = answer

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        """The claims and waiters in the way."""
        return self.answer.conflicts


class CommitRefused(DibsError):
    """A commit was refused: a path is not the agent's to commit, or a git hook failed. Nothing changed."""

    code = "SCOPE"

    def __init__(self, answer: RefusedCommit) -> None:
        answer = answer.advised("pass inherited=True")
        hint = next((item.hint for item in answer.blocked if item.hint), "")
        super().__init__(answer.reason, code=answer.code, hint=hint)
        self.answer = answer

    @property
    def blocked(self) -> tuple[Blocked, ...]:
        """The paths that may not be committed, with reasons; empty if a hook refused."""
        return self.answer.blocked


class Hold:
    """Granted claims, as a context manager that releases what was not held before.

    Inside the block, a thread sends heartbeats, so that work may take longer than the ttl. ``check`` raises
    ``Fenced`` once a claim is lost; call it before each effect. So does leaving the block.
    """

    def __init__(self, dibs: Dibs, granted: Granted) -> None:
        self._dibs = dibs
        self._fresh = granted.fresh
        self._keeper = dibs.keeper(granted.claims)
        self.claims: tuple[Claim, ...] = granted.claims
        self.token: int = granted.token

    def __enter__(self) -> Hold:
        self._keeper.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._keeper.stop()
        try:
            self.release()
        except Fenced:
            if error is None:
                raise

    def check(self) -> None:
        """Renew the claims; raise ``Fenced`` if one is no longer held with its token."""
        for token in sorted({claim.token for claim in self.claims}):
            patterns = self._patterns(claim for claim in self.claims if claim.token == token)
            self._dibs.project.holdings.renew(self._dibs.caller, patterns, token=token)

    def release(self) -> None:
        """Release what was not held before; raise ``Fenced`` if any of it was lost."""
        fresh = (claim for claim, new in zip(self.claims, self._fresh, strict=True) if new)
        patterns = self._patterns(fresh)
        if patterns:
            self._dibs.project.holdings.release(self._dibs.caller, patterns, token=self.token)

    def _patterns(self, claims: Iterable[Claim]) -> list[Pattern]:
        return [self._dibs.project.pattern(claim.pattern) for claim in claims]


class Dibs(Talk):
    """One agent's view of a project."""

    #: Whether this process is the agent's own, so that its commits run what ``git commit`` runs.
    own_process = True

    def __init__(self, project: Project, caller: Caller) -> None:
        self.project = project
        self.caller = caller

    @classmethod
    def open(
        cls,
        repo: str | os.PathLike[str] = "",
        *,
        agent: str | None = None,
        engine: str | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> Dibs:
        """Open the project of a folder, by default the current one, as ``agent``."""
        if not isinstance(repo, str | os.PathLike):
            check_string(repo, "repo")
        variables = os.environ if environ is None else environ
        check_mapping(variables, "environ")
        check_names(agent, variables)  # before opening anything
        flags = {} if engine is None else {"engine": engine}
        project = open_project(os.fspath(repo), variables, flags)
        try:
            return cls(project, _caller(project, agent, variables))
        except DibsError:
            project.close()
            raise

    def as_agent(self, agent: str) -> Dibs:
        """Return the same project as another agent sees it."""
        return Dibs(self.project, _caller(self.project, check_string(agent, "agent"), os.environ))

    def __enter__(self) -> Dibs:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def claim(
        self,
        *patterns: str,
        shared: bool = False,
        ttl: float | str | None = None,
        wait: float | str = 0,
        reason: str = "",
        task: str = "",
        literal: bool = False,
        request_id: str = "",
    ) -> Hold:
        """Claim all of ``patterns`` or none; raise ``Refused`` if another agent holds one."""
        named = check_strings(patterns, "pattern")
        resolved = [self.project.tree.resolve(text, literal=literal) for text in named]
        answer = self.project.claims.claim(
            self.caller, resolved, mode=SHARED if shared else EXCLUSIVE, ttl=ttl, wait=wait,
            reason=check_string(reason, "reason"), task=check_string(task, "task"),
            request_id=check_string(request_id, "request_id"),
        )  # fmt: skip
        if isinstance(answer, Granted):
            return Hold(self, answer)
        raise Refused(answer)

    def check(self, *patterns: str, shared: bool = False) -> tuple[Conflict, ...]:
        """Return what would prevent a claim on ``patterns``, without changing anything."""
        resolved = [self.project.tree.resolve(text) for text in check_strings(patterns, "pattern")]
        return self.project.claims.check(self.caller, resolved, SHARED if shared else EXCLUSIVE)

    def held(self, agent: str = "") -> list[Held]:
        """Return the live claims of one agent, or of all."""
        return self.project.claims.all(check_string(agent, "agent"))[0]

    @property
    def as_of(self) -> float | None:
        """How old the last answer is, if it came from a cache; None if it is current."""
        return self.project.engine.as_of

    def renew(self, ttl: float | str | None = None) -> Renewed:
        """Renew all claims; return what is held, lost, and requested."""
        return self.project.holdings.renew(self.caller, ttl=ttl)

    def keeper(self, claims: Iterable[Claim]) -> Heartbeat:
        """Return a thread that sends heartbeats while these claims are held."""
        every = self.project.config.heartbeat
        return Heartbeat(self.beat, heartbeat_every(every, min(claim.ttl for claim in claims)))

    def beat(self) -> None:
        """Send a heartbeat for all claims."""
        self.project.agents.beat(self.caller)

    def lost(self) -> list[Lost]:
        """Return the claims that this agent lost."""
        return self.project.agents.show(self.caller.id)[1]

    def ask(self, *patterns: str, within: float | str = 300, note: str = "") -> list[Ask]:
        """Send release requests to the owners of ``patterns``."""
        resolved = [self.project.tree.resolve(text) for text in check_strings(patterns, "pattern")]
        note = check_string(note, "note")
        return self.project.holdings.ask(self.caller, resolved, within=within, note=note)

    def commit(
        self,
        message: str,
        *paths: str,
        release: bool = False,
        verify: bool = True,
        task: str = "",
        request_id: str = "",
        inherited: bool = False,
        anyway: bool = False,
    ) -> Committed:
        """Commit the changed files that this agent holds, or only those in ``paths``.

        ``inherited`` also commits other agents' lines that are in no commit, and names their authors.
        ``anyway`` commits even if it undoes what others committed since this agent read the file.

        Raises:
            CommitRefused: this agent may not commit a path, or a git hook failed.
            Fenced: a claim on a changed file was lost; the changes stay in the working tree.
            NotFound: nothing has changed.
        """
        from dibs.services.commits.scope import names_and_patterns
        from dibs.services.commits.values import CommitRequest, Committed

        named = check_strings(paths, "path")
        names, texts = names_and_patterns(self.project.place.repository, named)
        wish = CommitRequest(
            check_string(message, "message"), tuple(map(self.project.tree.resolve, texts)), tuple(names),
            release=release, verify=verify, task=check_string(task, "task"),
            request_id=check_string(request_id, "request_id"), inherited=inherited, anyway=anyway,
        )  # fmt: skip
        answer = self.project.commits.commit(self.caller, wish, as_git=self.own_process)
        if isinstance(answer, Committed):
            return answer
        raise CommitRefused(answer)

    def new_task(
        self,
        title: str,
        *,
        agent: str = "",
        priority: str = "normal",
        artefacts: Sequence[str] = (),
        needs: Sequence[str] = (),
        notes: Sequence[str] = (),
        slug: str = "",
        strict: bool = False,
    ) -> Stored:
        """Create a task for an agent, a role, or anyone."""
        from dibs.services.tasks.values import new_draft

        draft = new_draft(
            check_string(title, "title"),
            agent=check_string(agent, "agent"),
            priority=check_string(priority, "priority"),
            artefacts=check_strings(artefacts, "artefacts"),
            needs=check_strings(needs, "needs"),
            notes=check_strings(notes, "notes"),
            slug=check_string(slug, "slug"),
        )
        made = self.project.tasks.create(self.caller, [draft], strict=strict)
        return made.tasks[0]

    def take_task(
        self,
        *,
        roles: Sequence[str] = (),
        claim: bool = False,
        ttl: float | str | None = None,
        wait: float | str = 0,
        reason: str = "",
        request_id: str = "",
    ) -> Attempt | None:
        """Take the next task for this agent or its ``roles``; None if no task is available."""
        from dibs.api.attempts import take

        return take(
            self, roles=check_strings(roles, "roles"), claim=claim, ttl=ttl, wait=wait,
            reason=check_string(reason, "reason"), request_id=check_string(request_id, "request_id"),
        )  # fmt: skip

    def tasks(self, *, finished: bool = False) -> list[TaskView]:
        """Return the tasks in the order in which they are taken; with ``finished``, also finished ones."""
        return self.project.tasks.all(self.caller, finished=finished)

    def log(self, limit: int = 50) -> list[Entry]:
        """Return the newest ledger entries, in order."""
        from dibs.services.state.ledger import Query

        return self.project.ledger.newest(Query(), check_count(limit, "limit"))

    def leave(self) -> None:
        """End this agent's session and release its claims."""
        self.project.agents.leave(self.caller)

    def close(self) -> None:
        """Close the project; claims stay until they expire or are released."""
        self.project.close()


def _caller(project: Project, agent: str | None, environ: Mapping[str, str]) -> Caller:
    state = project.place.repository.state
    return caller_of(project.store, acting_agent(agent, environ, state), state)
