"""Find the uncommitted changes that claims cover: the fact on which a claim past its ttl depends.

An ignored file such as ``.env`` counts if a claim names it; a pattern does not cover ignored files.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from threading import Lock

from dibs.core.claims.probes import is_probe_claim
from dibs.core.patterns.overlap import matches
from dibs.core.patterns.pattern import parse
from dibs.core.text.names import few
from dibs.core.toolcalls.people import PERSON
from dibs.errors import DibsError
from dibs.git.status import begin_changed, ignored_of, parsed
from dibs.git.untrusted import guarded_calls
from dibs.local.own_writes import stat_of
from dibs.local.processes import realm
from dibs.local.repository import trees
from dibs.services.guard.uncommitted.before_call import TreeSnapshots
from dibs.services.state.sessions import UnfinishedFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from dibs.core.patterns.pattern import Pattern
    from dibs.local.repository import Repository
    from dibs.services.state.facts import ClaimKey, Work, WorkQuestion
    from dibs.services.state.store import Store

#: Time limit for git in seconds: a hook is waiting. If it is exceeded, the claims stay.
_PATIENCE = 1.0
#: How far the times of files and of claims may differ, in seconds.
_SLACK = 2.0
#: How many authors' files are saved at the same time; git does most of the work.
_THREADS = 6
#: The most paths in one call of git.
_MANY = 500


def find_work(
    store: Store, repository: Repository, questions: Sequence[WorkQuestion]
) -> Mapping[ClaimKey, Work]:
    """Return the uncommitted files that each claim covers, None where git fails; test files do not count."""
    found: dict[ClaimKey, Work] = {question.key: () for question in questions}
    if not repository.common:
        return found
    now = store.now()
    every = trees(repository)
    asked = [
        (
            question,
            parse(question.claim.pattern, fold_case=store.fold_case),
            question.roots or every,
        )
        for question in questions
        if not is_probe_claim(question.claim)
    ]
    changed = {
        root: _changed(root, [pattern for _, pattern, roots in asked if root in roots])
        for root in dict.fromkeys(root for *_, roots in asked for root in roots)
    }
    for question, pattern, roots in asked:
        files = [
            _covered(repository, changed[root], pattern, root, question, now) for root in roots
        ]
        known = [one for one in files if one is not None]
        work = tuple(f for one in known for f in one)
        found[question.key] = work if len(known) == len(files) else None
    copied = [question.key for question in questions if question.copy and found[question.key]]
    saved = _saved(store, repository, {one for key in copied for one in found[key] or ()}, now)
    return found | {key: tuple(saved[one] for one in found[key] or ()) for key in copied}


def _saved(
    store: Store, repository: Repository, work: Collection[UnfinishedFile], now: float
) -> dict[UnfinishedFile, UnfinishedFile]:
    """Save copies of uncommitted files, one entry for each author and working tree; count their lines."""
    from dibs.services.salvage.files import keep_files
    from dibs.services.salvage.origins import after_others, changed_lines

    def save(group: tuple[str, str]) -> dict[UnfinishedFile, UnfinishedFile]:
        agent, root = group
        files = sorted(one for one in work if (one.agent, one.root) == group)
        paths = [one.path for one in files]
        about = f"uncommitted changes to {few(paths)}"
        saved = keep_files(root, repository, agent or PERSON, paths, at=now, about=about)
        git = guarded_calls(root)
        lines = changed_lines(git, saved, paths)
        found: dict[UnfinishedFile, UnfinishedFile] = {}
        for one in files:
            copy = saved.name_of(one.path)
            left = one._replace(salvage=copy, lines=lines.get(one.path, 0), realm=realm())
            found[one] = after_others(store, git, left)
        return found

    groups = sorted({(one.agent, one.root) for one in work})
    if len(groups) < 2:  # noqa: PLR2004 - one author needs no threads
        return save(groups[0]) if groups else {}
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(_THREADS, len(groups))) as pool:
        return {one: copy for found in pool.map(save, groups) for one, copy in found.items()}


def _covered(
    repository: Repository,
    changed: Sequence[str] | None,
    pattern: Pattern,
    root: str,
    question: WorkQuestion,
    now: float,
) -> list[UnfinishedFile] | None:
    """Return the changed files that a claim covers, with their authors.

    Its agent did not make a change that is older than the claim, nor one in a folder that the hooks, which
    note what a guarded agent writes, have not seen.
    """
    if changed is None:
        return None
    paths = [path for path in changed if matches(pattern, f"./{path}")]
    if not paths:
        return []
    claim = question.claim
    marks = TreeSnapshots(repository._replace(root=root))
    own, others = marks.own(claim.agent), marks.by_others(claim.agent)
    found = []
    for path in paths:
        at, author = now - _age(root, path), claim.agent
        older = at < claim.since - _SLACK or (question.guarded and not pattern.literal)
        if older and path not in own:
            there = stat_of(root, path)
            author = next((who for who, left in others.get(path, ()) if left == there), "")
        found.append(UnfinishedFile(path, author, at, root=root))
    return found


def _age(root: str, path: str) -> float:
    """Return how many seconds ago a file was written; 0 if it was deleted."""
    try:
        return max(0.0, time.time() - os.lstat(os.path.join(root, path)).st_mtime)
    except OSError:
        return 0.0


class _Round:
    """One call of git for everyone who asked about a working tree before it began."""

    def __init__(self) -> None:
        self.patterns: list[Pattern] = []
        self.answer: list[str] | None = None
        self.is_over = False


_guard = Lock()
_running: defaultdict[str, Lock] = defaultdict(Lock)
_next: dict[str, _Round] = {}


def _changed(root: str, patterns: Sequence[Pattern]) -> list[str] | None:
    """Do the same as ``changed_at``; threads that ask meanwhile share the next call of git."""
    if not all(pattern.literal for pattern in patterns):
        return changed_at(root, patterns)
    with _guard:
        turn = _next.setdefault(root, _Round())
        turn.patterns += patterns
        running = _running[root]
    with running:
        if not turn.is_over:
            with _guard:
                del _next[root]
            turn.answer = changed_at(root, turn.patterns)
            turn.is_over = True
    if turn.answer is None and len(turn.patterns) > len(patterns):
        return changed_at(root, patterns)  # another one's path may be the reason
    return turn.answer


def changed_at(root: str, patterns: Iterable[Pattern]) -> list[str] | None:
    """Return the uncommitted files of a working tree near ``patterns``; None if git fails."""
    if not os.path.isdir(root):
        return []  # the working tree was removed
    wanted = list(patterns)
    literal = [pattern.path for pattern in wanted if pattern.literal]
    found: dict[str, None] = {}
    try:
        git = guarded_calls(root, timeout=_PATIENCE)
        for start in range(0, len(literal), _MANY):
            out = begin_changed(git, *literal[start : start + _MANY], ignored="traditional").must()
            found |= dict.fromkeys([*(change.path for change in parsed(out)), *ignored_of(out)])
        if any(_may_be_elsewhere(root, pattern) for pattern in wanted):
            found |= dict.fromkeys(change.path for change in parsed(begin_changed(git).must()))
    except (DibsError, OSError):
        return None
    return list(found)


def _may_be_elsewhere(root: str, pattern: Pattern) -> bool:
    """Return whether a pattern may cover files other than the one with its exact name."""
    if not pattern.literal:
        return True
    return pattern.folded and not os.path.lexists(os.path.join(root, pattern.path))
