"""Decide what happens before a call that takes away uncommitted work its agent did not make.

A copy is saved, and the call runs; without a copy, it is blocked.
"""

from __future__ import annotations

import os

from dibs.core.claims.ledger import Kind
from dibs.core.toolcalls.policy import DeniedPath
from dibs.core.toolcalls.values import How, key_of
from dibs.errors import DibsError
from dibs.services.guard.uncommitted.before_call import STAGED, STASH, TreeSnapshots
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dibs.core.patterns.pattern import Pattern
    from dibs.core.shell.writes import TreeCommand
    from dibs.core.toolcalls.values import HookEvent
    from dibs.local.repository import Repository
    from dibs.services.guard.touched import TouchedPath
    from dibs.services.guard.uncommitted.attribution import Attribution
    from dibs.services.guard.uncommitted.people import KeptWork, OthersWork
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

#: Tools that replace a whole file; names are compared ignoring case, "_", and "-".
_WHOLE = frozenset({"write", "writefile", "create", "createfile", "writecode"})
#: How much longer a hook may take to find changed files, and again to save copies, in seconds.
_PATIENCE = 6.0


class Protected(Record):
    """What was done before a call."""

    denied: tuple[DeniedPath, ...] = ()
    copies: tuple[KeptWork, ...] = ()
    #: Files of people and other agents that the call adds to the index or a commit: path and owner.
    included: tuple[tuple[str, str], ...] = ()


class Protection:
    """Protects the work of people from one project's agents."""

    def __init__(
        self, store: Store, repository: Repository, waits: Callable[[float], object]
    ) -> None:
        self._store = store
        self._repository = repository
        self._waits = waits

    def resume(self, agent: str, paths: Sequence[str]) -> None:
        """Note that an agent returned to files that it had left unfinished."""
        TreeSnapshots(self._repository).note_own(agent, paths, self._store.now())

    # -- edit tools

    def before_edit(
        self, heard: HookEvent, agent: str, paths: Sequence[TouchedPath], fresh: Sequence[Pattern]
    ) -> Protected:
        """Save files with others' changes that an edit tool is about to write."""
        done = Protected()
        if not self._repository.common:
            return done
        new = {pattern.key for pattern in fresh}
        for root in dict.fromkeys(one.elsewhere or self._repository.root for one in paths):
            marks = TreeSnapshots(self._repository._replace(root=root))
            own = marks.own(agent)
            here = {
                one.path: one.path not in own or one.pattern.key in new
                for one in paths
                if (one.elsewhere or self._repository.root) == root
                and one.how != How.READ
                and one.path
            }
            moved = marks.moved(own, [path for path, first in here.items() if not first])
            written = [path for path, first in here.items() if first or path in moved]
            there = [path for path in written if os.path.lexists(os.path.join(root, path))]
            if there:
                found = self._edited(heard, agent, root, there, fresh, moved)
                done = Protected(found.denied, (*done.copies, *found.copies))
            if done.denied:
                return done
            marks.note_own(agent, written, self._store.now())
        return done

    def _edited(
        self,
        heard: HookEvent,
        agent: str,
        root: str,
        paths: Sequence[str],
        fresh: Sequence[Pattern],
        moved: Sequence[str],
    ) -> Protected:
        from dibs.services.guard.uncommitted.differing import differing

        changed = differing(root, paths)
        if not changed:
            return Protected()
        from dibs.git.calls import SlowGit
        from dibs.services.guard.uncommitted.people import PeoplesWork

        people = PeoplesWork(self._store, self._repository)
        try:
            self._waits(_PATIENCE)
            work = people.look(agent, (), root=root, paths=changed, fresh=fresh)
        except (DibsError, OSError) as error:
            if isinstance(error, SlowGit) and _replaces(heard):
                raise
            return Protected()
        risk = [path for path in changed if path in work.files]
        if not _replaces(heard):  # what it does not name stays in the file
            known = set(moved).difference(people.unrecorded(root, moved))
            risk = [path for path in risk if path not in known]
        done = self._save(agent, work, risk, written=risk, before="an edit")
        return done if _replaces(heard) else done._replace(denied=())

    # -- shell commands

    def before_command(
        self,
        heard: HookEvent,
        agent: str,
        paths: Sequence[TouchedPath],
        fresh: Sequence[Pattern],
        attribution: Attribution,
    ) -> Protected:
        """Save what a command shows that it takes away, and take a snapshot for what it does not show."""
        found = self._at_risk(agent, paths, fresh, attribution)
        root = self._repository.root
        named = [
            one.pattern.text for one in paths if one.how != How.READ and one.elsewhere in {"", root}
        ]
        if not found:
            attribution.mark(agent, heard.call, named=named)
            return Protected()
        whole, work = self._whole(heard), next(iter(found))[0]
        done = Protected(copies=tuple(self._refs(agent, whole)))
        for there, risk in found:
            here = [one for one in paths if (one.elsewhere or root) == there.root]
            written = [one.path for one in here if one.how == How.WRITE and not one.local]
            by_git = [one.path for one in here if one.local]
            saved = self._save(agent, there, risk, written=written, by_git=by_git)
            done = Protected((*done.denied, *saved.denied), (*done.copies, *saved.copies))
        if done.denied:
            return done
        names = {"": "", "staged": STAGED}
        kept = [
            f"{names[c.what]}{path}" for c in done.copies if c.what in names for path in c.paths
        ]
        if any(one.verb in {"unstash", "drop"} for one in whole):
            kept.append(STASH)
        attribution.mark(agent, heard.call, work, saved=kept, named=named)
        return done._replace(included=tuple(self._included(heard, agent, work, whole, attribution)))

    def _at_risk(
        self,
        agent: str,
        paths: Sequence[TouchedPath],
        fresh: Sequence[Pattern],
        attribution: Attribution,
    ) -> list[tuple[OthersWork, list[str]]]:
        """Return others' work in each working tree that a command writes, and what of it is at risk."""
        if not self._repository.common:
            return []
        from dibs.git.calls import SlowGit
        from dibs.services.guard.uncommitted.people import PeoplesWork, at_risk

        self._waits(_PATIENCE)
        people = PeoplesWork(self._store, self._repository)
        _, claims = attribution.claims()
        found = []
        for root in dict.fromkeys(("", *(one.elsewhere for one in paths))):
            here = [one for one in paths if one.elsewhere == root]
            try:
                work = people.look(agent, claims, root=root, fresh=fresh)
            except SlowGit:  # git is slow: ask only for what the command writes, or block it
                if not here:
                    continue
                names = [one.path for one in here if one.pattern.literal]
                if len(names) < len(here):
                    raise
                work = people.look(agent, claims, root=root, paths=names, fresh=fresh)
                work = work._replace(dirty=None)
            except (DibsError, OSError):
                continue
            found.append((work, at_risk(work, here)))
        return found if found and found[0][0].root == self._repository.root else []

    def _save(
        self,
        agent: str,
        work: OthersWork,
        risk: Sequence[str],
        *,
        written: Sequence[str],
        by_git: Sequence[str] = (),
        before: str = "a command",
    ) -> Protected:
        """Save copies and record them; a file without a copy blocks the call."""
        if not risk:
            return Protected()
        from dibs.services.guard.uncommitted.people import PeoplesWork

        self._waits(_PATIENCE)
        people = PeoplesWork(self._store, self._repository)
        copies, lost = people.save(agent, work, risk, before)
        if lost:
            return Protected(tuple(DeniedPath(path, "uncopied") for path in lost))
        if work.staged and by_git:
            from dibs.services.guard.uncommitted.saved_refs import save_staged

            staged = {path: work.staged[path] for path in by_git if path in work.staged}
            copies += save_staged(self._repository, work.root, agent, staged, self._store.now())
        people.record(agent, work.root, copies, written)
        return Protected(copies=tuple(copies))

    def _whole(self, heard: HookEvent) -> Sequence[TreeCommand]:
        from dibs.core.shell.writes import writes

        place = heard.cwd or self._repository.root
        return writes(heard.command, place, os.path.expanduser("~")).whole

    def _refs(self, agent: str, whole: Sequence[TreeCommand]) -> list[KeptWork]:
        """Save the stashes and branches that a command deletes."""
        if not any(one.verb in {"drop", "unbranch"} for one in whole):
            return []
        from dibs.services.guard.uncommitted.people import PeoplesWork
        from dibs.services.guard.uncommitted.saved_refs import save_refs

        marks = TreeSnapshots(self._repository)
        own = {name.removeprefix(STASH) for name in marks.own(agent) if name.startswith(STASH)}
        copies = save_refs(self._repository, agent, whole, own, self._store.now())
        PeoplesWork(self._store, self._repository).record(agent, self._repository.root, copies)
        return copies

    def _included(
        self,
        heard: HookEvent,
        agent: str,
        work: OthersWork,
        whole: Sequence[TreeCommand],
        attribution: Attribution,
    ) -> list[tuple[str, str]]:
        """Return others' files that a command stages or commits without naming them."""
        if not any(one.verb in {"add", "commit"} for one in whole):
            return []
        from dibs.core.claims.coverage import Cover
        from dibs.services.guard.shell_targets import swept

        cwd, root = heard.cwd or self._repository.root, self._repository.root
        cover = Cover(held for held in attribution.claims()[1] if held.claim.agent != agent)
        found = []
        for path in swept(whole, work.dirty or [], work.untracked, root, cwd):
            held = cover.holder(path)
            if held or path in work.files:
                found.append((path, held or work.files[path]))
        return found


def _replaces(heard: HookEvent) -> bool:
    """Return whether a tool replaces a whole file."""
    return key_of(heard.tool) in _WHOLE


def words(done: Protected, draw: Callable[[], str]) -> str:
    """Return what an agent must know before its call runs."""
    from dibs.core.toolcalls.messages import included, saved_copies
    from dibs.core.toolcalls.people import copied

    named = [
        (copied(c.author, c.what), c.paths, c.ref.removeprefix("refs/salvage/"))
        for c in done.copies
    ]
    lines = [saved_copies(named, draw)] if named else []
    lines += [included(done.included, draw)] if done.included else []
    return "\n".join(lines)


def mail(store: Store, agent: str, done: Protected) -> None:
    """Tell an agent by message about saved copies, because it cannot read text now."""
    from dibs.core.talk.mail import MailKind
    from dibs.core.toolcalls.people import of
    from dibs.services.state.mailbox import tell

    def step(rows: Rows) -> None:
        for copy in done.copies:
            name = copy.ref.removeprefix("refs/salvage/")
            rows.emit(
                agent, "agent", Kind.PROGRESS_UPDATE, f"{agent} has a notice about a saved copy"
            )
            tell(
                rows, agent, MailKind.FOREIGN_WRITE, copy.paths, sender=copy.author, told="taker",
                sure=True, whose=of(copy.author), reason=f"dibs salvage show {name}",
            )  # fmt: skip

    store.apply(step)
