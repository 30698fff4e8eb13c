"""Choose the files of a commit, and check at the gate that the claims on them are still valid."""

from __future__ import annotations

import os

from dibs.core.claims.coverage import Blocked, BlockReason, Cover, OwnedPattern, unclaimed
from dibs.core.claims.rules import EXCLUSIVE, Lost
from dibs.core.patterns.pattern import matches
from dibs.core.patterns.spelling import file_path
from dibs.core.text.names import quote, shown, typed_in
from dibs.errors import BadInput, DibsError, Fenced, NotFound
from dibs.git.status import ignored_among
from dibs.local.repository import find
from dibs.services.commits.keep import is_on_disk
from dibs.services.commits.private_index import stats
from dibs.services.state.own_claims import claims_of
from dibs.services.state.ownership import is_family
from dibs.services.state.sessions import left_in
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from dibs.core.claims.coverage import Sorted
    from dibs.core.claims.rules import Claim
    from dibs.core.patterns.pattern import Pattern
    from dibs.git.calls import GitCalls
    from dibs.git.status import PathStatus
    from dibs.local.repository import Repository
    from dibs.services.commits.private_index import Stat
    from dibs.services.commits.values import CommitPlan, CommitRequest, Committed
    from dibs.services.state.rows import Rows
    from dibs.services.state.sessions import UnfinishedFile


class ClaimsNow(Record):
    """The live claims at one moment, and the claims that an agent has lost."""

    cover: Cover
    #: The agent's own live, exclusive claims on paths.
    own: tuple[OwnedPattern, ...]
    lost: tuple[Lost, ...]
    #: The time of the store.
    at: float


class Origin(Record):
    """A record of uncommitted content that a file had before."""

    key: str
    left: UnfinishedFile
    #: Whether the agent, its parent, or a subagent wrote it.
    own: bool = False

    @property
    def foreign(self) -> bool:
        """Whether another agent wrote it."""
        return bool(self.left.agent) and not self.own


def standing(rows: Rows, agent: str) -> ClaimsNow:
    """Return all live claims, and the claims that ``agent`` has lost, including expired ones."""
    found: list[OwnedPattern] = []
    ran_out: list[Lost] = []
    for key, claim in rows.claims():
        ends = rows.deadline(claim)
        if rows.now < ends:
            left = ends - rows.now
            running = rows.is_while_running(claim)
            found.append(OwnedPattern(claim, rows.pattern(claim.pattern), left, key, running))
        elif claim.agent == agent:
            ran_out.append(Lost(claim.pattern, claim.token, "expired", ends))
    own = [h for h in found if h.claim.agent == agent and h.claim.mode == EXCLUSIVE]
    lost = [*ran_out, *(lost for _, lost in rows.lost(agent))]
    return ClaimsNow(
        Cover(found), tuple(h for h in own if not h.pattern.scheme), tuple(lost), rows.now
    )


def lost_for(rows: Rows, lost: Iterable[Lost], paths: Iterable[str]) -> list[tuple[str, Lost]]:
    """Return each path that a lost claim covered, with that claim."""
    known = [(item, rows.pattern(item.pattern)) for item in lost]
    return [
        (path, item)
        for path in paths
        for item, pattern in known
        if not pattern.scheme and _fits(pattern, path)
    ]


def fenced(path: str, lost: Lost | None, now: float, owner: str = "", folder: str = "") -> Fenced:
    """Return the error for a file whose claim was lost; ``owner`` holds the file now.

    The command in it works in ``folder`` of the repository.
    """
    from shlex import quote as shell_word

    why = lost.told_at(now) if lost is not None else f"you no longer hold {shown(path)}"
    if owner:
        word = shell_word(typed_in(folder, path))
        hint = f"{owner} holds it now; to get it back, run: dibs ask {word}"
    else:
        hint = "your changes are safe; claim the file again, check it, then commit"
    return Fenced(f"{shown(path)} was not committed: {why}", hint=hint)


def refusal_for(
    lost: Iterable[tuple[str, Lost]], found: Sorted, named: Container[str], now: float, *,
    narrowed: bool, folder: str = "",
) -> Fenced | None:  # fmt: skip
    """Return the error for a changed file whose claim was lost, or None if the rest may be committed.

    A loss is reported once. A file that another agent holds now is that agent's work: it only matters if
    the caller named it, or has nothing else to commit.
    """
    owners = {item.path: item.holder for item in found.others if item.why == BlockReason.HELD}
    for path, item in lost:
        news = not item.told and path not in owners
        if path in named or (not narrowed and (news or not found.mine)):
            return fenced(path, item, now, owners.get(path, ""), folder)
    return None


def name_ignored(git: GitCalls, answer: Committed) -> Committed:
    """Return a commit with the ignored files: claimed ones that it lacks, and deleted ones on disk."""
    found = ignored_among(git, answer.unchanged)
    deleted = (file.path for file in answer.files if file.what == "deleted")
    return answer._replace(
        ignored=tuple(path for path in answer.unchanged if path in found),
        on_disk=tuple(path for path in deleted if is_on_disk(git.tree, path)),
    )


def still_covered(
    rows: Rows, agent: str, held: Sequence[OwnedPattern], paths: Sequence[str]
) -> list[Claim]:
    """Return the claims that cover ``paths`` at the gate; raise ``Fenced`` if one of them was lost.

    A claim must be the same one as when the tree was built. A claim that was lost and taken again does not
    count, because someone else may have worked on the file in between.
    """
    now_filed = {(claim.id, claim.token): claim for _, claim in claims_of(rows, agent)}
    standing = []
    for one in held:
        claim = now_filed.get((one.claim.id, one.claim.token))
        if claim is not None and claim.mode == EXCLUSIVE and rows.now < claim.hard:
            standing.append(one._replace(claim=claim))
    cover = Cover(standing)
    needed: dict[str, Claim] = {}
    for path in paths:
        found = cover.exclusive(agent, path)
        if found is None:
            gone = lost_for(rows, (lost for _, lost in rows.lost(agent)), [path])
            raise fenced(path, gone[0][1] if gone else None, rows.now)
        needed[found.claim.id] = found.claim
    return list(needed.values())


def origins(rows: Rows, agent: str, root: str, paths: Container[str]) -> dict[str, list[Origin]]:
    """Return the records of older content in ``paths`` of a working tree, oldest first.

    Missing files may have been renamed to one of these. Paths with content of the agent's family alone are
    left out.
    """
    found: dict[str, list[Origin]] = {}
    for key, left in sorted(left_in(rows, root), key=lambda one: one[1].at):
        if left.path in paths or not is_on_disk(root, left.path):
            own = left.agent and (left.agent == agent or is_family(rows, agent, left.agent))
            found.setdefault(left.path, []).append(Origin(key, left, bool(own)))
    return {path: some for path, some in found.items() if not all(one.own for one in some)}


# -- choosing the files of a commit


def names_and_patterns(repository: Repository, texts: Iterable[str]) -> tuple[list[str], list[str]]:
    """Split ``texts`` into names of existing files and patterns.

    A text that names an existing file is that file, even if it contains special characters.
    """
    names, patterns = [], []
    for named in texts:
        text = file_path(named)
        path = os.path.normpath(os.path.join(repository.subdir, text))
        plain = text and not os.path.isabs(text) and not path.startswith("..")
        if plain and _is_file(os.path.join(repository.root, path)):
            names.append(path)
        else:
            _refuse_elsewhere(text, repository.root)
            patterns.append(text)
    return names, patterns


def _refuse_elsewhere(text: str, root: str) -> None:
    """Refuse a path in another working tree: the claim covers it too, but its content differs."""
    if not os.path.isabs(text):
        return
    folder = os.path.realpath(text)
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    try:
        there = find(folder, {}).root
    except DibsError:
        return  # parsing it as a pattern reports that it is outside
    if there != root:
        from shlex import quote as shell_word

        raise BadInput(
            f"{quote(text)} is in another working tree",
            code="PATH_ABSOLUTE",
            field="path",
            hint=f"commit it there: dibs commit --repo {shell_word(there)}",
        )


def _is_file(path: str) -> bool:
    """Return whether there is a file or a link with exactly this name, and no link on the way to it."""
    folder = os.path.dirname(path)
    there = os.path.islink(path) or (os.path.lexists(path) and not os.path.isdir(path))
    return there and os.path.realpath(folder) == folder


def chosen_from(
    git: GitCalls, request: CommitRequest, changes: Sequence[PathStatus], found: Sorted
) -> tuple[list[PathStatus], list[Blocked]]:
    """Return the files to commit, and why files that were named may not be committed."""
    mine = [change for change in changes if change.path in found.mine]
    if not request.narrowed:
        return mine, list(found.guarded)
    literal = [pattern for pattern in request.patterns if pattern.literal]
    wide = [pattern for pattern in request.patterns if not pattern.literal]
    known = {change.path for change in changes}
    named = {path if path in known else _unchanged(git, path) for path in request.names}
    for pattern in literal:
        hits = [change.path for change in changes if _fits(pattern, change.path)]
        named.update(hits or [_unchanged(git, pattern.path.removeprefix("./"))])
    blocked = [item for item in (*found.others, *found.guarded) if item.path in named]
    blocked += [unclaimed(path) for path in found.nobody if path in named]
    blocked += [
        _nested(change.path) for change in changes if change.nested and change.path in named
    ]
    blocked += [g for g in found.guarded if g.path not in named and _fits_any(wide, g.path)]
    chosen = [c for c in mine if c.path in named or _fits_any(wide, c.path)]
    return chosen, blocked


def _fits(pattern: Pattern, path: str) -> bool:
    return matches(pattern, f"./{path}")


def _fits_any(patterns: Iterable[Pattern], path: str) -> bool:
    return any(_fits(pattern, path) for pattern in patterns)


def _nested(path: str) -> Blocked:
    return Blocked(path, BlockReason.NESTED, hint="commit inside that repository")


def _unchanged(git: GitCalls, path: str) -> str:
    """Return the path of a named, unchanged file; raise if there is no such file."""
    if git.must("ls-files", "-z", "--", path):
        return path
    if git.must("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--", path):
        from shlex import quote as shell_word

        raise BadInput(
            f"{shown(path)} is ignored by git",
            code="PATH_IGNORED",
            field="path",
            hint=f"remove it from .gitignore, or add it once: git add -f {shell_word(path)}",
        )
    if os.path.lexists(os.path.join(git.tree, path)):
        return path
    raise NotFound(f"{shown(path)} does not exist", code="PATH_MISSING", field="path")


def releasable(
    plan: CommitPlan, committed: Sequence[str], tree: str, before: Mapping[str, Stat | None]
) -> list[OwnedPattern]:
    """Return the claims that cover no more uncommitted changes after this commit."""
    again = {path for path, now in stats(tree, committed).items() if now != before.get(path)}
    dirty = {change.path for change in plan.changes}.difference(committed) | again
    return [
        held
        for held in plan.standing.own
        if any(_fits(held.pattern, path) for path in committed)
        and not any(_fits(held.pattern, path) for path in dirty)
    ]
