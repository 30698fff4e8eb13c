"""The end of a claim, and who wrote the uncommitted content that stays.

Every claim ends here. If it covers uncommitted changes, copies of them have been saved before the transaction
commits, because the step asks for that as a fact (``services/state/facts.py``). The same transaction records
who left which content (``UnfinishedFile``). The next owner learns of it with its claim, and the former owner
learns who has the file now.
"""

from __future__ import annotations

from dibs.core.claims.ledger import Kind
from dibs.core.claims.rules import EXCLUSIVE, Claim, LeftWork
from dibs.core.talk.mail import MailKind
from dibs.core.text.names import few
from dibs.services.state.facts import WorkQuestion, is_elsewhere, work_of
from dibs.services.state.sessions import (
    UnfinishedFile,
    all_left,
    drop_left,
    is_left_here,
    left_at,
    put_left,
    session_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.core.claims.rules import Lost
    from dibs.core.patterns.pattern import Pattern
    from dibs.services.state.rows import Rows

#: How a claim can end so that its owner's machine has to save the changes, if the loss happened elsewhere.
_ELSEWHERE = frozenset({"expired", "revoked", "terminated", "void"})


def end_claim(
    rows: Rows, key: str, claim: Claim, *, heir: str = "", clean_in: str = ""
) -> list[UnfinishedFile]:
    """Remove a claim; return the uncommitted files that it covered, which are saved and recorded.

    ``heir`` is notified in another way. ``clean_in`` is a working tree that the caller knows to be clean;
    others are not looked at.
    """
    rows.drop_claim(key)
    if clean_in:
        _forget_clean(rows, claim, (), (clean_in,))
        return []
    work = work_of(rows, claim, copy=True)
    if work is None:
        work = _unknown(rows, claim)
    else:
        found = session_of(rows, claim.agent) if rows.is_anything_left() else None
        roots = (found[1].root, *found[1].also) if found is not None else ()
        _forget_clean(rows, claim, work, roots)
    return record_left(rows, claim.agent, work, heir=heir)


def record_left(
    rows: Rows, agent: str, work: Iterable[UnfinishedFile], *, heir: str = ""
) -> list[UnfinishedFile]:
    """Record uncommitted content with its author, also in the ledger."""
    told = (heir,) if heir else ()
    left = [one._replace(told=tuple(dict.fromkeys((*one.told, *told)))) for one in work]
    known = {one.salvage for _, one in all_left(rows)} if left else set()
    for one in left:
        put_left(rows, _pattern(rows, one.path), one)
    for copy in sorted({one.salvage for one in left} - known - {""}):
        _emit_saved(rows, agent, copy)
    return left


def _emit_saved(rows: Rows, agent: str, copy: str) -> None:
    from dibs.services.state.presence import role_of

    summary = f"saved {agent}'s uncommitted changes: {copy}"
    rows.emit(agent, role_of(rows, agent), Kind.WORK_SALVAGED, summary, ref=copy)


def take_over(rows: Rows, agent: str, patterns: Sequence[Pattern]) -> list[LeftWork]:
    """Return what others left uncommitted under an agent's new claims, once; tell the former owners.

    What was committed or undone in the meantime is forgotten.
    """
    if not rows.is_anything_left():
        return []
    news = []
    found = left_at(rows, patterns)
    for key, left in found:
        if left.agent == agent:
            if not _is_built_on(left, found):
                drop_left(rows, (key,))
            continue
        if not left.agent or not is_left_here(left):
            continue
        asked = _as_claim(left.agent, _pattern(rows, left.path).text, 0)
        if rows.facts.work(WorkQuestion(asked, (left.root,) if left.root else ())) == ():
            drop_left(rows, (key,))
        elif agent not in left.told:
            put_left(rows, _pattern(rows, left.path), left._replace(told=(*left.told, agent)))
            if not is_family(rows, agent, left.agent):
                news.append(left.shown(rows.now, rows.tree))
                _tell_former(rows, agent, news[-1])
    return news


def _is_built_on(left: UnfinishedFile, found: Iterable[tuple[str, UnfinishedFile]]) -> bool:
    """Return whether another author left later content of the same file."""
    return any(
        (one.root, one.path) == (left.root, left.path)
        and one.agent != left.agent
        and one.at >= left.at
        for _, one in found
    )


def _tell_former(rows: Rows, agent: str, left: LeftWork) -> None:
    from dibs.services.state.mailbox import tell

    reason = left.view if left.salvage else ""
    tell(rows, left.agent, MailKind.TAKEN_OVER, (left.path,), sender=agent, reason=reason)


def own_left(rows: Rows, agent: str, patterns: Sequence[Pattern]) -> list[LeftWork]:
    """Return what an agent itself left uncommitted under claims that it released."""
    found = left_at(rows, patterns) if rows.is_anything_left() else []
    return [left.shown(rows.now) for _, left in found if left.agent == agent]


def mail_left(rows: Rows, agent: str, news: Iterable[LeftWork]) -> None:
    """Tell a new owner by message what others left, because it cannot read text now."""
    from dibs.services.state.mailbox import tell

    for left in news:
        tell(
            rows, agent, MailKind.UNFINISHED, (left.path,), sender=left.agent, lines=left.lines,
            salvage=left.salvage, reason=left.about,
        )  # fmt: skip


def adopt_left(rows: Rows, former: str, agent: str) -> None:
    """Record an agent as the author of what its own earlier session left."""
    for key, left in list(all_left(rows)):
        if left.agent == former:
            drop_left(rows, (key,))
            put_left(rows, _pattern(rows, left.path), left._replace(agent=agent))


def keep_lost(rows: Rows, agent: str) -> None:
    """Save what an agent changed under claims that it lost where its files cannot be seen."""
    if not rows.facts.can_look:
        return
    from dibs.services.state.mailbox import tell
    from dibs.services.state.own_claims import others

    for _, lost in list(rows.lost(agent)):
        if lost.kept or lost.why not in _ELSEWHERE:
            continue
        pattern = rows.pattern(lost.pattern)
        work = work_of(rows, _as_claim(agent, lost.pattern, lost.token), copy=True) or ()
        rows.put_lost(agent, pattern, lost._replace(kept=True))
        now = [claim for _, claim in others(rows, agent, [pattern])] if work else []
        # What another agent holds in the same tree may be its own work by now; the copy is enough.
        held = {claim.root for claim in now if claim.tree}
        record_left(rows, agent, [one for one in work if one.root not in held])
        copied = next((one for one in work if one.salvage), None)
        if copied is not None:
            if not rows.newest:  # a message needs an event
                _emit_saved(rows, agent, copied.salvage)
            holder = f"{now[0].agent} holds it now; " if now else ""
            reason = f"{holder}your uncommitted changes are saved: {copied.shown(rows.now).view}"
            tell(rows, agent, MailKind.EXPIRED, (lost.pattern,), sender="", reason=reason)


def is_looked_after(rows: Rows, claim: Claim) -> bool:
    """Return whether this machine can see the files of a claim's owner."""
    if claim.mode != EXCLUSIVE:
        return True
    from os.path import isdir

    from dibs.services.state.sessions import is_on_this_machine

    found = session_of(rows, claim.agent)
    if found is None:
        here, root = not is_elsewhere(rows, claim.agent), claim.root
    else:
        here, root = is_on_this_machine(found[1]), found[1].root
    return rows.facts.can_look and here and (not root or isdir(root))


def is_family(rows: Rows, one: str, other: str) -> bool:
    """Return whether one agent is a subagent of the other."""
    first, second = rows.agent(one), rows.agent(other)
    return (first is not None and first.parent == other) or (
        second is not None and second.parent == one
    )


def saved_of(left: Sequence[UnfinishedFile], lost: Lost) -> str:
    """Return the notice to a former owner about its changes, after the reason of its loss."""
    saved = ""
    if left:
        copied = next((one for one in left if one.salvage), None)
        saved = "no copy of your uncommitted changes could be saved"
        if copied is not None:
            saved = f"your uncommitted changes are saved: {copied.shown(lost.at).view}"
        missing = [one.path for one in left if not one.salvage]
        if copied is not None and missing:
            saved += f" (without {few(missing)})"
    return "; ".join(filter(None, (lost.reason, saved)))


def _forget_clean(
    rows: Rows, claim: Claim, work: Sequence[UnfinishedFile], roots: Sequence[str]
) -> None:
    """Forget records about files that have no uncommitted changes in the trees that were looked at."""
    if not rows.is_anything_left():
        return
    dirty = {(one.root, one.path) for one in work}
    for key, left in left_at(rows, [rows.pattern(claim.pattern)]):
        looked = is_left_here(left) and (not roots or left.root in roots)
        if looked and (left.root, left.path) not in dirty:
            drop_left(rows, (key,))


def _unknown(rows: Rows, claim: Claim) -> tuple[UnfinishedFile, ...]:
    """Return the file of a claim if git cannot tell whether it has changes: the next owner is warned."""
    pattern = rows.pattern(claim.pattern)
    if not pattern.literal:
        return ()
    found = session_of(rows, claim.agent)
    root = found[1].root if found is not None else ""
    return (UnfinishedFile(pattern.path.removeprefix("./"), claim.agent, rows.now, root=root),)


def _pattern(rows: Rows, path: str) -> Pattern:
    from dibs.core.claims.plain_commits import pattern_of

    return pattern_of(path, fold_case=rows.fold_case)


def _as_claim(agent: str, pattern: str, token: int) -> Claim:
    return Claim("", pattern, EXCLUSIVE, agent, token, 0.0, 0.0, 0.0, "", "")
