"""Which files a commit takes, and what its answer says about the others."""

from __future__ import annotations

import os

from dibs.core.claims.coverage import Blocked, BlockReason, unclaimed
from dibs.core.patterns.pattern import matches
from dibs.core.text.names import quote, shown
from dibs.errors import BadInput, DibsError, NotFound
from dibs.git.status import FileChange
from dibs.local.repository import find
from dibs.services.commits.private_index import stats
from dibs.services.commits.values import Committed, File

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dibs.core.claims.coverage import OwnedPattern, Sorted
    from dibs.core.patterns.pattern import Pattern
    from dibs.git.calls import GitCalls
    from dibs.git.trees import TreeChange
    from dibs.local.repository import Repository
    from dibs.services.commits.private_index import Stat
    from dibs.services.commits.values import CommitPlan, CommitRequest

#: How many files of nobody an answer names.
NEARBY = 20


def told_apart(repository: Repository, texts: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the files among ``texts`` that are spelled as they lie on disk, and what has to be a pattern.

    A file that is there is meant just so, whatever characters its name has.
    """
    names, patterns = [], []
    for text in texts:
        path = os.path.normpath(os.path.join(repository.subdir, text))
        plain = text and not os.path.isabs(text) and not path.startswith("..")
        if plain and _is_file(os.path.join(repository.root, path)):
            names.append(path)
        else:
            _refuse_elsewhere(text, repository.root)
            patterns.append(text)
    return names, patterns


def _refuse_elsewhere(text: str, root: str) -> None:
    """Refuse a path in another working tree: a claim on it holds here too, but its content is another."""
    if not os.path.isabs(text):
        return
    folder = os.path.realpath(text)
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    try:
        there = find(folder, {}).root
    except DibsError:
        return  # whoever reads it as a pattern says that it is outside
    if there != root:
        raise BadInput(
            f"{quote(text)} is in another working tree",
            code="PATH_ABSOLUTE",
            field="path",
            hint="commit it there: dibs commit --repo DIR",
        )


def _is_file(path: str) -> bool:
    """Tell whether there is a file or a link with just this name, and no link on the way to it."""
    folder = os.path.dirname(path)
    there = os.path.islink(path) or (os.path.lexists(path) and not os.path.isdir(path))
    return there and os.path.realpath(folder) == folder


def chosen_from(
    git: GitCalls, wish: CommitRequest, changes: Sequence[FileChange], found: Sorted
) -> tuple[list[FileChange], list[Blocked]]:
    """Return the files to commit, and what stands in the way of files that were named."""
    mine = [change for change in changes if change.path in found.mine]
    if not wish.narrowed:
        return mine, list(found.guarded)
    literal = [pattern for pattern in wish.patterns if pattern.literal]
    wide = [pattern for pattern in wish.patterns if not pattern.literal]
    known = {change.path for change in changes}
    named = {path if path in known else _unchanged(git, path) for path in wish.names}
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
    return Blocked(
        path, BlockReason.NESTED, hint="it is a repository of its own: commit inside of it"
    )


def _unchanged(git: GitCalls, path: str) -> str:
    """Return the path of a file that was named and is not changed; raise if there is no such file."""
    if git.must("ls-files", "-z", "--", path):
        return path
    if git.must("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--", path):
        raise BadInput(
            f"{shown(path)} is ignored by git",
            code="PATH_IGNORED",
            field="path",
            hint="take it out of .gitignore, or add it once with git add -f",
        )
    if os.path.lexists(os.path.join(git.tree, path)):
        return path
    raise NotFound(
        f"{shown(path)} does not exist, and no commit has it", code="PATH_MISSING", field="path"
    )


def files_of(changes: Iterable[FileChange | TreeChange]) -> Iterator[File]:
    """Yield what happens to each file."""
    for change in changes:
        if isinstance(change, FileChange):
            what = (
                "new"
                if change.new
                else "deleted"
                if change.gone or change.code == "D."
                else "changed"
            )
        else:
            what = "deleted" if change.gone else "new" if not int(change.old_mode) else "changed"
        yield File(change.path, what)


def about(plan: CommitPlan, files: tuple[File, ...]) -> Committed:
    """Return an answer with what it says about files that are not in the commit."""
    found = plan.sorted
    by_path = {change.path: change for change in plan.changes}
    unchanged = tuple(
        shown(held.pattern.path)
        for held in plan.standing.own
        if held.pattern.literal and not any(_fits(held.pattern, path) for path in by_path)
    )
    folders = {os.path.dirname(file.path) for file in files}
    near = [path for path in found.nobody if os.path.dirname(path) in folders]
    near.sort(key=lambda path: (not by_path[path].new, path))
    told = tuple(files_of(by_path[path] for path in near[:NEARBY]))
    return Committed(
        "", "", files, unchanged, told, len(found.nobody) - len(told), found.others
    )  # fmt: skip


def releasable(
    plan: CommitPlan, committed: Sequence[str], tree: str, before: Mapping[str, Stat | None]
) -> list[OwnedPattern]:
    """Return the claims under which nothing is dirty any more once this is committed."""
    again = {path for path, now in stats(tree, committed).items() if now != before.get(path)}
    dirty = {change.path for change in plan.changes}.difference(committed) | again
    return [
        held
        for held in plan.standing.own
        if any(_fits(held.pattern, path) for path in committed)
        and not any(_fits(held.pattern, path) for path in dirty)
    ]
