"""Resolve the paths of a tool call to files in the repository, in the spelling of claims."""

from __future__ import annotations

import os

from dibs.core.claims.plain_commits import pattern_of
from dibs.core.patterns.pattern import parse
from dibs.core.toolcalls.policy import steers_git
from dibs.core.toolcalls.values import How
from dibs.errors import BadInput
from dibs.local.paths import PathResolver
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.core.patterns.pattern import Pattern
    from dibs.core.toolcalls.values import Touch
    from dibs.local.repository import Repository

#: Codes of paths that do not matter here: special files, or in another repository.
_ELSEWHERE = frozenset({"PATH_SUBMODULE", "PATH_KIND"})
#: What may delete a path.
DELETES = frozenset({How.DELETE, How.CLEAN})


class TouchedPath(Record):
    """A path in the repository that a call touches."""

    #: Relative to the root; empty for the root itself.
    path: str
    pattern: Pattern
    how: str = How.WRITE
    deep: bool = False
    #: Whether it is in the git directory and configures git.
    steering: bool = False
    #: Its working tree, if that is not the caller's own.
    elsewhere: str = ""
    #: Whether it affects only agents in the same working tree: git checks it out or discards it.
    local: bool = False
    #: Whether git ignores it, or all of it that is not touched by name.
    ignored: bool = False
    #: Whether its content stays as it is: git adds it to a commit.
    stays: bool = False


def touched(
    repository: Repository,
    touches: Iterable[Touch],
    cwd: str,
    *,
    fold_case: bool,
    literal: bool = True,
) -> list[TouchedPath]:
    """Return the ``touches`` inside the repository, each once.

    A tool's path is ``literal``; a shell also has globs.
    """
    tree = PathResolver(repository, fold_case=fold_case)
    found: dict[tuple[str, str], TouchedPath] = {}
    for touch in touches:
        if not touch.path or "\0" in touch.path:
            continue
        path = os.path.join(cwd or repository.root, touch.path)
        one = _resolved(tree, touch, path, literal=literal)
        if one is not None:
            spelled_beneath = path.startswith(f"{repository.root}/") and "/.." not in path
            if not (one.local or one.steering or spelled_beneath):
                one = one._replace(elsewhere=_root_of(path, repository))
            key = ("read" if one.how == How.READ else "write", one.pattern.key)
            before = found.get(key)
            if before is not None:
                one = both(before, one)._replace(deep=before.deep or one.deep)
            found[key] = one
    return list(found.values())


def both(before: TouchedPath, one: TouchedPath) -> TouchedPath:
    """Merge two touches of the same path: a deletion of the folder counts."""
    return before._replace(how=one.how) if one.deep and one.how == How.DELETE else before


def _resolved(tree: PathResolver, touch: Touch, path: str, *, literal: bool) -> TouchedPath | None:
    """Return a touched path with its pattern; None if it is not in the repository."""
    try:
        pattern = tree.resolve(path, literal=literal)
    except BadInput as error:
        return None if error.code in _ELSEWHERE else _odd(tree, touch, path)
    if not pattern.literal:  # a folder means everything in it, a glob what it matches
        relative = pattern.text.removeprefix("./").rstrip("/")
        return TouchedPath(relative, pattern, touch.how, deep=True)
    relative = pattern.path.removeprefix("./")
    if touch.deep and not os.path.isfile(path):
        pattern = pattern_of(f"{relative}/", fold_case=tree.fold_case)
    return TouchedPath(relative, pattern, touch.how, touch.deep)


def _root_of(path: str, repository: Repository) -> str:
    """Return the working tree of a path outside the caller's; empty if it resolves to the caller's."""
    from dibs.local.repository import find

    folder = os.path.realpath(path)
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    root = find(folder, {}).root
    return "" if root == repository.root else root


def _odd(tree: PathResolver, touch: Touch, path: str) -> TouchedPath | None:
    """Return a path that cannot be claimed as written: in the git directory, or with an unusual name."""
    repository = tree.repository
    try:
        real = os.path.realpath(path)
    except (OSError, ValueError):
        return None
    common = repository.common
    if common and (real == common or real.startswith(f"{common}/")):
        return _in_git_dir(tree, touch, real[len(common) + 1 :])
    root = repository.root.rstrip("/")
    if real != root and not real.startswith(f"{root}/"):
        return _around(tree, touch, real)
    inside = real[len(root) + 1 :]
    deep = touch.deep or not inside
    if f"{inside}/".startswith(".git/"):  # in a linked worktree, or missing
        return _in_git_dir(tree, touch._replace(deep=deep or inside == ".git"), inside[5:])
    if not inside:
        return TouchedPath("", parse("**", fold_case=tree.fold_case), touch.how, deep=True)
    name = f"{inside}/" if deep else inside
    return TouchedPath(inside, pattern_of(name, fold_case=tree.fold_case), touch.how, deep)


def _in_git_dir(tree: PathResolver, touch: Touch, inside: str) -> TouchedPath | None:
    """Return a path in the git directory, if it configures git or Dibs."""
    if touch.how == How.READ or not (touch.deep or steers_git(inside)):
        return None
    pattern = pattern_of("dibs.toml", fold_case=tree.fold_case)
    shown = f".git/{inside}".rstrip("/")
    return TouchedPath(shown, pattern, touch.how, touch.deep, steering=True)


def _around(tree: PathResolver, touch: Touch, real: str) -> TouchedPath | None:
    """Return what a path outside the working tree affects, if anything.

    That is a working tree that it is, or that would be deleted with the folder around it, or one of the
    user's own files that configure agents, git, and Dibs.
    """
    if touch.how == How.READ:
        return None
    found = _trees_in(tree, touch, real) if touch.deep else None
    if found is not None:
        return found
    from dibs.local.wiring_files import is_home_guarded

    if not is_home_guarded(real, deep=touch.deep, deletes=touch.how in DELETES):
        return None
    pattern = pattern_of("dibs.toml", fold_case=tree.fold_case)
    return TouchedPath(real, pattern, touch.how, touch.deep, steering=True)


def _trees_in(tree: PathResolver, touch: Touch, real: str) -> TouchedPath | None:
    """Return the working tree that a folder is, or that would be deleted with the folder around it."""
    from dibs.local.repository import trees

    own = tree.repository.root
    folder = real.rstrip("/")
    known = (own, *trees(tree.repository))
    gone = [root for root in known if root == folder]
    if touch.how in DELETES:
        gone = [root for root in known if f"{root}/".startswith(f"{folder}/")]
    if not gone:
        return None
    elsewhere = "" if gone[0] == own else gone[0]
    everything = parse("**", fold_case=tree.fold_case)
    return TouchedPath("", everything, touch.how, deep=True, elsewhere=elsewhere, local=True)
