"""Answer agents' hooks: one event, one verdict.

Each call is a heartbeat of its agent. Before a tool runs, its paths are checked and claimed in one
transaction; see services/guard/admission.py.

The most common call, an edit of an unclaimed file or the agent's own, loads no more than it needs.
"""

from __future__ import annotations

import os
import time

from dibs.core.claims.agents import Caller
from dibs.core.claims.protected import guarded
from dibs.core.toolcalls.policy import GuardPolicy
from dibs.core.toolcalls.values import PASSED, EventKind, How, Verdict, Watch, Word
from dibs.errors import NotAllowed
from dibs.services.guard.admission import Admission
from dibs.services.guard.call_paths import CallPaths, is_read
from dibs.services.guard.sessions import (
    active_reader,
    hook_caller,
    join_session,
    note_activity,
    note_process,
    row_of,
)
from dibs.services.state.presence import arrive, note_rest
from dibs.services.state.sessions import put_session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dibs.core.toolcalls.values import HookEvent
    from dibs.local.processes import RunningProcess
    from dibs.local.repository import Repository
    from dibs.services.guard.admission import Decided
    from dibs.services.guard.departures import Departures
    from dibs.services.guard.file_log import Observation
    from dibs.services.guard.sessions import HookCaller
    from dibs.services.guard.touched import TouchedPath
    from dibs.services.guard.uncommitted.attribution import Attribution
    from dibs.services.guard.uncommitted.protection import Protection
    from dibs.services.state.rows import Rows
    from dibs.services.state.sessions import SessionRow
    from dibs.services.state.store import Store

#: The shortest pause between two checks of a hot file, in seconds.
SHORTEST_PAUSE = 0.02
#: How long an edit of a hot file waits for its turn before it is blocked, in seconds.
HOT_WAIT = 5.0
#: How long the start of a session spends on ending dead agents, in seconds.
ROOM_AT_START = 0.5
#: How much longer the hook after a call may take to compare the tree: agents wait 10 seconds for it.
_PATIENCE = 6.0
_STARTS = frozenset({EventKind.STARTED, EventKind.COMPACTED, EventKind.SUBAGENT_STARTED})
_TOOL = frozenset({EventKind.BEFORE, EventKind.AFTER})
_ENDS = frozenset({EventKind.ENDED, EventKind.SUBAGENT_STOPPED})


class Guarding:
    """Answers agents' hooks in one project."""

    def __init__(self, store: Store, repository: Repository) -> None:
        self._store = store
        self._repository = repository
        config = store.config
        self._policy = GuardPolicy(
            auto_claim=config.guard_auto_claim,
            free=config.guard_free,
            human=config.guard_human,
            hot=config.guard_hot,
            reads=config.guard_reads,
            steering=guarded if config.commit_guarded == "human" else None,
            fold_case=store.fold_case,
        )
        self._admission = Admission(store, self._policy, repository.root)
        self._paths = CallPaths(repository, store.config, fold_case=store.fold_case)
        #: How long an edit of a hot file waits for its turn, in seconds.
        self.hot_wait = HOT_WAIT
        #: Called with the seconds that a call is about to wait, to extend the hook's deadline.
        self.waits: Callable[[float], object] = lambda _: None
        #: Collects what agents edit and read, to write many of it at once; without it, nothing is collected.
        self.observe: Callable[[Observation], None] | None = None

    def hear(
        self,
        heard: HookEvent,
        process: int | RunningProcess = 0,
        environ: Mapping[str, str] | None = None,
        *,
        tells: bool = True,
    ) -> Verdict:
        """Answer one event. ``process`` is the hook's process ID, or the agent's own process.

        ``environ`` is the hook's environment. ``tells`` says whether the agent reads text at this event; if
        not, no briefing is prepared, so that no message is lost.
        """
        who = hook_caller(
            process, environ or {}, heard.agent, self._repository.root, self._repository.state
        )
        if not heard.session and who.agent is not None:
            # An agent without session IDs has one session per process.
            heard = heard._replace(session=f"p{who.agent.pid}-{who.agent.born}")
        try:
            verdict = self._answer(heard, who, tells=tells and heard.listens)
        except NotAllowed as refused:
            if refused.code == "NOT_YOU":
                from dibs.core.toolcalls.verdicts import refused_event

                return refused_event(heard, refused.message, refused.hint)
            if refused.code != "AGENT_STOPPED":
                raise
            from dibs.core.toolcalls.verdicts import stopped_agent

            return stopped_agent(heard, refused.message, refused.hint, _draw)
        if heard.touches and verdict.word != Word.DENY and self._logs_files():
            from dibs.services.guard.file_log import log_files

            log_files(self._store, self._paths, heard, who, self.observe)
        return verdict

    def _logs_files(self) -> bool:
        files = self._store.config.ledger_files
        return self.observe is not None if files == "auto" else files != "off"

    def _answer(self, heard: HookEvent, who: HookCaller, *, tells: bool) -> Verdict:
        moment = heard.moment
        if moment in _TOOL and is_read(heard) and not self._store.config.guard_reads:
            ttl = self._store.config.ttl
            reader = self._store.look(lambda rows: active_reader(rows, heard, who, ttl))
            if reader:
                if heard.touches:
                    self._paths.note_reads(reader, self._paths.named(heard))
                return PASSED
        if moment == EventKind.BEFORE:
            return self._before(heard, who, tells=tells)
        if moment in _STARTS:
            return self._started(heard, who, tells=tells)
        if moment in _ENDS:
            if moment == EventKind.ENDED or heard.subagent:
                self._departures.end(self._store.look(lambda rows: row_of(rows, heard, who)))
                self._sweep()
            return PASSED
        if moment == EventKind.STOPPED:
            return self._turn_ended(heard, who, tells=tells)
        return self._news(heard, who, tells=tells)

    # -- events

    def _started(self, heard: HookEvent, who: HookCaller, *, tells: bool) -> Verdict:
        """Add the agent and brief it fully, or later if it cannot read text now."""
        if heard.moment == EventKind.STARTED:
            self._departures.gone(within=ROOM_AT_START)
            self._sweep()
        key, session, _ = self._arrive(heard, who, forgot=not tells)
        if heard.moment == EventKind.STARTED:
            self._departures.inherit(key, session)
        note_process(self._repository.state, session)
        said = self._brief(session, full=True) if tells else PASSED
        if heard.moment == EventKind.STARTED:  # a briefing is not its own activity
            self._store.apply(lambda rows: note_rest(rows, session.id))
        return said

    def _news(self, heard: HookEvent, who: HookCaller, *, tells: bool) -> Verdict:
        """Return news: at a prompt all changes, between tool calls only messages."""
        _, session, mail = self._arrive(heard, who)
        if heard.moment == EventKind.AFTER:
            mail = self._looked(heard, session) or mail
            if heard.command:
                from dibs.services.guard.command_rules import note_own_move

                note_own_move(self._store, self._repository, heard, session.id)
        elif heard.moment == EventKind.PROMPTED:
            mail = bool(self._attribution.found(session.id)) or mail
            self._undone(session, tells=False)
        if not tells or heard.moment == EventKind.OTHER:
            return PASSED
        if session.forgot:
            self._arrive(heard, who, forgot=False)
            return self._brief(session, full=True)
        return self._brief(session) if mail or heard.moment == EventKind.PROMPTED else PASSED

    def _turn_ended(self, heard: HookEvent, who: HookCaller, *, tells: bool) -> Verdict:
        """Release unchanged files; report once what is still held."""
        key, session, _ = self._arrive(heard, who)
        self._attribution.found(session.id, ended=True)
        departures = self._departures
        paths = sorted(departures.rest(session))
        if (
            not paths
            or heard.stop_active
            or not tells
            or not departures.told(key, "\n".join(paths))
        ):
            return PASSED
        from dibs.core.toolcalls.verdicts import still_held

        return still_held(session.id, paths, _draw)

    def _before(self, heard: HookEvent, who: HookCaller, *, tells: bool) -> Verdict:
        """Check and claim what a tool is about to touch."""
        paths = self._paths.all(heard, self.waits)
        writes = any(one.how != How.READ for one in paths)
        watched = self._paths.is_watched(heard)
        decided = self._decide(heard, who, paths, tells=tells)
        if decided.new:
            self._paths.note_start(decided.session.id)
        if decided.new or heard.command:
            # If a process runs several sessions, shell commands belong to the one that opened a shell last.
            note_process(self._repository.state, decided.session)
        refusal = self._refusal(heard, decided)
        if refusal is not None:
            return refusal
        self._paths.note_reads(decided.session.id, paths)
        said = self._undone(decided.session, tells=tells)
        watched = watched or self._names_held(heard, paths, decided.session.id)
        if writes or watched:
            protected = self._protect(heard, decided, paths, watched=watched, tells=tells)
            said = protected if protected.word == Word.DENY else said.with_text(protected)
        if said.word == Word.DENY or not (decided.left and tells):
            return said
        from dibs.core.toolcalls.verdicts import unfinished

        return said.with_text(
            unfinished(decided.session.id, decided.session.root, decided.left, _draw)
        )

    def _names_held(self, heard: HookEvent, paths: Sequence[TouchedPath], agent: str) -> bool:
        """Return whether a tool that reads, by its name, names a file that another agent holds."""
        if heard.watch != Watch.HELD:
            return False
        from dibs.services.guard.argument_paths import is_held_by_other

        return is_held_by_other(self._store, agent, (*paths, *self._paths.mentioned_paths(heard)))

    def _undone(self, session: SessionRow, *, tells: bool) -> Verdict:
        """Tell an agent if someone discarded its changes since its last call."""
        from dibs.services.guard.uncommitted.before_call import TreeSnapshots

        if not TreeSnapshots(self._repository).is_moved(session.id):
            return PASSED
        from dibs.services.guard.uncommitted.taken_work import report_undone

        found = report_undone(self._store, self._repository, session.id, self._attribution)
        return self._brief(session) if found and tells else PASSED

    def _protect(
        self,
        heard: HookEvent,
        decided: Decided,
        paths: Sequence[TouchedPath],
        *,
        watched: bool,
        tells: bool,
    ) -> Verdict:
        """Save others' uncommitted work that a call takes away, and take a snapshot for what it hides."""
        agent, protection = decided.session.id, self._protection
        if decided.resumed:
            protection.resume(agent, decided.resumed)
        if watched:
            from dibs.services.guard.uncommitted.before_call import TreeSnapshots
            from dibs.services.guard.wiring import report, watch

            marks = TreeSnapshots(self._repository)
            marks.end(agent, heard.call)  # some agents give their calls no IDs
            if marks.left(agent):
                report(self._store, self._repository, agent)
            watch(self._repository)
            done = protection.before_command(heard, agent, paths, decided.fresh, self._attribution)
        else:
            done = protection.before_edit(heard, agent, paths, decided.fresh)
        if done.denied:
            return _blocked(heard, decided._replace(refused=done.denied))
        if not (done.copies or done.included):
            return PASSED
        from dibs.services.guard.uncommitted.protection import mail, words

        if not tells:
            mail(self._store, agent, done)
            return PASSED
        return Verdict(Word.TELL, words(done, _draw), reader=agent)

    # -- steps

    def _refusal(self, heard: HookEvent, decided: Decided) -> Verdict | None:
        """Return why a call is blocked, if it is."""
        if heard.command:
            from dibs.services.guard.command_rules import refuse_command

            refused = refuse_command(self._store, self._repository, heard, decided, _draw)
            if refused is not None:
                return refused
        return _blocked(heard, decided) if decided.refused else None

    def _decide(
        self, heard: HookEvent, who: HookCaller, paths: Sequence[TouchedPath], *, tells: bool
    ) -> Decided:
        """Decide a call; wait briefly for a hot file. An agent that cannot read text now gets messages."""
        loose = [one for one in paths if one.ignored]
        if loose:
            from dibs.services.guard.ignored import broad_claims

            self._admission.overlooked = broad_claims(self._store, self._repository, loose)

        def step(rows: Rows, *, last: bool) -> Decided:
            decided = self._admission.decide(rows, heard, who, paths, last=last)
            if not decided.refused:
                note_activity(rows, heard, decided.session)
            if decided.left and not tells:
                from dibs.services.state.ownership import mail_left

                mail_left(rows, decided.session.id, decided.left)
            return decided

        def run(*, last: bool = False) -> Decided:
            return self._store.apply(lambda rows: step(rows, last=last))

        decided = run()
        new = decided.new
        if decided.may_wait:
            decided = self._wait(run, decided)
        decided = run(last=True) if decided.conflicts else decided
        return decided._replace(new=new)

    def _wait(self, run: Callable[[], Decided], decided: Decided) -> Decided:
        """Wait in the queue for a hot file."""
        self.waits(self.hot_wait)
        give_up = time.monotonic() + self.hot_wait
        newest = self._store.engine.wait(0, 0)
        while decided.may_wait and (left := give_up - time.monotonic()) > 0:
            soonest = min((c.expires_in for c in decided.conflicts), default=0.0)
            newest = self._store.engine.wait(newest, max(SHORTEST_PAUSE, min(left, soonest)))
            decided = run()
        return decided

    def _looked(self, heard: HookEvent, session: SessionRow) -> bool:
        """Detect what a call wrote; return whether it changed another agent's file."""
        from dibs.services.guard.uncommitted.before_call import TreeSnapshots

        marks = TreeSnapshots(self._repository)
        watched = self._paths.is_watched(heard)
        # A tool that reads, by its name, may have named a held file.
        watched = watched or (heard.watch == Watch.HELD and marks.has(session.id, heard.call))
        if not watched:
            self._paths.note(session.id, heard, self._store.now())
        marks.end(session.id, heard.call)
        left = marks.left(session.id)  # also of calls whose hook was too late, or never ran
        if not (watched or left):
            return False
        from dibs.services.guard.wiring import report

        wiring = bool(report(self._store, self._repository, session.id))
        if not left:
            return wiring
        self.waits(_PATIENCE)
        return bool(self._attribution.found(session.id)) or wiring

    @property
    def _attribution(self) -> Attribution:
        from dibs.services.guard.uncommitted.attribution import Attribution

        return Attribution(self._store, self._repository, self._policy)

    def _sweep(self) -> None:
        from dibs.services.guard.uncommitted.before_call import sweep

        sweep(self._store, self._repository)

    @property
    def _protection(self) -> Protection:
        from dibs.services.guard.uncommitted.protection import Protection

        return Protection(self._store, self._repository, self.waits)

    @property
    def _departures(self) -> Departures:
        from dibs.services.guard.departures import Departures

        return Departures(self._store, self._repository)

    def _arrive(
        self, heard: HookEvent, who: HookCaller, *, forgot: bool | None = None
    ) -> tuple[str, SessionRow, bool]:
        """Record a heartbeat and add a new agent; return key, row, and whether there are unread messages."""

        def step(rows: Rows) -> tuple[str, SessionRow, bool, bool]:
            key, session, new = join_session(rows, heard, who)
            arrive(rows, Caller(session.id, "agent"))
            note_activity(rows, heard, session)
            if forgot is not None and session.forgot != forgot:
                session = session._replace(forgot=forgot)
                put_session(rows, key, session)
            return key, session, new, rows.has_unread(session.id)

        key, session, new, mail = self._store.apply(step)
        if new:
            note_process(self._repository.state, session)
            self._paths.note_start(session.id)
        return key, session, mail

    def _brief(self, session: SessionRow, *, full: bool = False) -> Verdict:
        from dibs.services.briefing.service import Briefings

        delivery = Briefings(self._store).prepare(Caller(session.id, "agent"), full=full)
        if delivery is None:
            return PASSED
        text = delivery.text + delivery.whole
        if full:
            from dibs.core.toolcalls.messages import welcome

            text = f"{welcome(session.id, session.dialect)}\n{text}"
        return Verdict(Word.TELL, text, delivery=delivery.number, reader=session.id)


def _draw() -> str:
    return os.urandom(4).hex()


def _blocked(heard: HookEvent, decided: Decided) -> Verdict:
    from dibs.core.toolcalls.verdicts import blocked

    return blocked(heard, decided.session.id, decided.refused, _draw)
