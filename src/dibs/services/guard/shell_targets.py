"""Find the files in the repository that a shell command would write, using the disk and git.

This resolves what the command line alone leaves open: a glob becomes the files it matches, ``cp a folder``
becomes the file in the folder, and a git command becomes the files it would change.
"""

from __future__ import annotations

import os
from itertools import islice

from dibs.core.claims.plain_commits import pattern_of
from dibs.core.patterns.pattern import parse
from dibs.core.shell.words import TOP, from_top
from dibs.core.shell.writes import writes
from dibs.core.toolcalls.values import How, Touch
from dibs.errors import DibsError
from dibs.local.paths import is_own_project
from dibs.services.guard.command_files import CommandFiles
from dibs.services.guard.touched import DELETES, TouchedPath, both, touched

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dibs.core.shell.writes import TreeCommand, WriteTarget
    from dibs.git.calls import GitCalls
    from dibs.git.status import PathStatus
    from dibs.local.repository import Repository

#: Commands that change no file; see ``services/guard/uncommitted/people.py``.
_NO_FILES = frozenset({"add", "drop", "unbranch"})
#: A glob that matches more files than this is checked as a pattern.
_MOST = 500
#: The most files that a command shows.
_MOST_SHOWN = 50
#: The time limit for git to list what a command would change, in seconds.
PATIENCE = 5.0


def written_paths(
    repository: Repository,
    command: str,
    cwd: str,
    *,
    fold_case: bool,
    reads: bool = False,
    waits: Callable[[float], object] = lambda _: None,
) -> list[TouchedPath]:
    """Return the paths that ``command`` would write in the repository, and those it shows.

    With ``reads``, it returns all that it reads. ``waits`` is called before git is, with the time that this
    may take, in seconds.
    """
    place = cwd or repository.root
    home = os.path.expanduser("~")
    disk = CommandFiles(place)
    found = writes(command, place, home, reads=reads, disk=disk)
    literal: list[Touch] = []
    patterns: list[Touch] = []
    for target in found.targets:
        _place(target, place, repository.root, literal, patterns)
    if patterns or found.whole:
        waits(PATIENCE)
    paths = [
        # What does not exist is not claimed by deleting it.
        one._replace(deep=True) if one.how in DELETES and not _exists(repository, one) else one
        for one in touched(repository, literal, place, fold_case=fold_case)
    ]
    for one in touched(repository, patterns, place, fold_case=fold_case, literal=False):
        paths += _matched(repository, one, fold_case=fold_case)
    if found.shown and not reads:
        paths += _shown(repository, found.shown, place, fold_case=fold_case)
    for whole in found.whole:
        paths += _changed_by_git(repository, whole, place, fold_case=fold_case)
    return _once(paths)


def named_paths(command: str, cwd: str) -> list[str]:
    """Return the paths that ``command`` would write or hands to git, wherever they are; globs as they are.

    If it may write something, add what exists of the other paths in its text.
    """
    found = writes(command, cwd, os.path.expanduser("~"))
    named = [*(one.path for one in found.targets), *(one.place for one in found.whole)]
    words = () if found.quiet else (os.path.join(cwd, word) for word in found.words)
    there = [word for word in words if os.path.lexists(word)]
    return [*(os.path.join(cwd, path) for path in named if not path.startswith(TOP)), *there]


def _shown(
    repository: Repository, shown: Iterable[WriteTarget], cwd: str, *, fold_case: bool
) -> list[TouchedPath]:
    """Return the files of this working tree that a command shows."""
    literal: list[Touch] = []
    for target in shown:
        _place(target, cwd, repository.root, literal, [])
    files = [touch for touch in literal[:_MOST_SHOWN] if os.path.isfile(touch.path)]
    found = touched(repository, files, cwd, fold_case=fold_case) if files else []
    return [one for one in found if not (one.elsewhere or one.deep)]


def _exists(repository: Repository, one: TouchedPath) -> bool:
    return os.path.lexists(os.path.join(one.elsewhere or repository.root, one.path))


def _place(
    target: WriteTarget, cwd: str, root: str, literal: list[Touch], patterns: list[Touch]
) -> None:
    """Add a target to the literal paths or to the patterns."""
    path = os.path.join(cwd, from_top(target.path, root))
    if target.glob and "**" not in path:
        from glob import iglob

        files = list(islice(iglob(path), _MOST + 1))
        if len(files) <= _MOST:
            literal += [Touch(f, target.how, target.deep and os.path.isdir(f)) for f in files]
            return
    if target.glob:
        literal += [Touch(file, target.how) for file in _git_matched(path, root)]
        patterns.append(Touch(path, target.how, target.deep))
    elif target.into and os.path.isdir(path):
        inner = os.path.join(path, target.into)
        literal.append(Touch(inner, target.how, target.deep and os.path.isdir(inner)))
    elif os.path.isdir(path):
        # chmod 000 src; chmod 755 .claude
        if target.deep or target.how in DELETES or _is_wiring(path, root):
            literal.append(Touch(path, target.how, True))
    else:
        literal.append(Touch(path, target.how))


def _is_wiring(path: str, root: str) -> bool:
    """Return whether a folder contains files that configure tools or git."""
    from dibs.core.claims.protected import is_guarded_folder

    inside = os.path.relpath(os.path.realpath(path), root)
    return is_guarded_folder(inside) or inside.startswith(".git/")


def _matched(repository: Repository, one: TouchedPath, *, fold_case: bool) -> list[TouchedPath]:
    """Return the files that a pattern matches now, and the pattern itself if they are unknown."""
    from dibs.services.guard.ignored import listed

    root = one.elsewhere or repository.root
    found = listed(root, one.path, most=_MOST) if repository.common and one.path else None
    if found is None:
        return [one]
    found += _wiring_matched(one, root)
    hidden = listed(root, one.path, most=_MOST, ignored=True)
    files = [
        one._replace(path=path, pattern=pattern_of(path, fold_case=fold_case), ignored=ignored)
        for paths, ignored in ((found, False), (hidden or (), True))
        for path in paths
    ]
    return files if hidden is not None else [*files, one._replace(ignored=True)]


def _wiring_matched(one: TouchedPath, root: str) -> list[str]:
    """Return the files that guard agents and match a pattern; git ignores some of them."""
    from dibs.core.patterns.overlap import matches
    from dibs.core.toolcalls.wiring import WIRING

    named = (name for name in WIRING if matches(one.pattern, f"./{name}"))
    return [name for name in named if os.path.lexists(os.path.join(root, name))]


def _git_matched(pattern: str, root: str) -> Iterator[str]:
    """Yield git's settings and hooks that match a pattern; ``*`` must be below ``.git``."""
    from fnmatch import fnmatchcase
    from glob import iglob

    folders, _, name = pattern.rpartition("/")
    if ".git" in folders.split("/") or name.strip("*"):
        for path in (f"{root}/.git/config", *iglob(f"{root}/.git/hooks/*")):
            if fnmatchcase(path, pattern.replace("**/", "*")) and not path.endswith(".sample"):
                yield path


def _changed_by_git(
    repository: Repository, whole: TreeCommand, cwd: str, *, fold_case: bool
) -> list[TouchedPath]:
    """Return the files that a git command would change; they are checked, not claimed."""
    from dibs.git.calls import SlowGit

    try:
        return list(_by_git(repository, whole, cwd, fold_case=fold_case))
    except SlowGit:  # git is slow: the command would discard files that no one could copy
        raise
    except (DibsError, OSError):
        return []  # detected after the command has run


def _by_git(
    repository: Repository, whole: TreeCommand, cwd: str, *, fold_case: bool
) -> Iterator[TouchedPath]:
    """Yield the files that a git command would change."""
    from dibs.local.repository import find

    folder = os.path.join(cwd, from_top(whole.place, repository.root))
    there = find(folder, {})
    commits = whole.verb == "commit"
    inner = _inner(there, repository)
    if not there.common or (there.common != repository.common and (commits or not inner)):
        return
    elsewhere = "" if inner or there.root == repository.root else there.root
    touch = TouchedPath(
        "", parse("**"), deep=True, elsewhere=elsewhere, local=not commits, stays=commits
    )
    inside = [] if commits else _limits(there, whole, folder)
    changed_or_lost = (
        (_changed_by(there, whole, folder, cwd), False), (_ignored_by(there, whole), True)
    )  # fmt: skip
    for names, ignored in changed_or_lost:
        for name in names:
            if inside and not any(_is_in(name, one) for one in inside):
                continue
            path = f"{inner}{name}"
            pattern = pattern_of(path, fold_case=fold_case)
            yield touch._replace(path=path, pattern=pattern, ignored=ignored)


def _limits(there: Repository, whole: TreeCommand, folder: str) -> list[str]:
    """Return the paths to which a command is limited; none if it may change the whole working tree."""
    place = os.path.realpath(folder)
    paths = whole.paths or (("",) if whole.verb == "clean" else ())
    full = [os.path.join(place, from_top(path, there.root)) for path in paths]
    return [os.path.relpath(path, there.root) for path in full]


def _is_in(path: str, limit: str) -> bool:
    """Return whether a path is in a folder, or matches a pattern as git reads it."""
    from fnmatch import fnmatchcase

    inside = limit == "." or f"{path}/".startswith(f"{limit}/")
    return inside or fnmatchcase(path.rstrip("/"), limit)


def _inner(there: Repository, repository: Repository) -> str:
    """Return the prefix of paths in a repository inside this one that is not a project; empty for others."""
    inside = f"{repository.root}/"
    if there.common == repository.common or not there.root.startswith(inside):
        return ""
    return "" if is_own_project(there.root) else f"{there.root[len(inside) :]}/"


def _ignored_by(there: Repository, whole: TreeCommand) -> Iterable[str]:
    """Return the files, ignored by themselves, that a command deletes or stashes."""
    if whole.verb not in {"clean", "stash"} or whole.revision not in {"ignored", "only"}:
        return ()
    from dibs.git.status import changed_or_ignored
    from dibs.git.untrusted import guarded_calls

    _, ignored = changed_or_ignored(guarded_calls(there.root, there, timeout=PATIENCE))
    return ignored


def _changed_by(there: Repository, whole: TreeCommand, folder: str, cwd: str) -> Iterable[str]:
    from dibs.git.refs import commit_of
    from dibs.git.state import read_state
    from dibs.git.status import changed
    from dibs.git.untrusted import guarded_calls

    git = guarded_calls(there.root, there, timeout=PATIENCE)
    verb, revision = whole.verb, whole.revision
    if verb in _NO_FILES:
        return ()
    if verb == "abort":
        verb = "reset" if read_state(git, there.common).under_way else "switch"
    if verb in {"checkout", "force"}:
        if os.path.lexists(os.path.join(folder, revision)) or not commit_of(git, revision):
            full = os.path.realpath(os.path.join(folder, revision))
            inside = os.path.relpath(full, there.root)
            return [c.path for c in changed(git) if f"{c.path}/".startswith(f"{inside}/")]
        verb = "switch" if verb == "checkout" else "reset"
    if verb == "commit":
        return _committed(changed(git), whole, there.root, cwd)
    dirty = changed(git) if verb in {"reset", "stash", "clean"} else []
    found = [
        c.path for c in dirty if c.untracked == (verb == "clean") or (verb == "stash" and revision)
    ]
    if verb == "clean":
        return found if revision != "only" else ()
    if revision and verb != "stash":
        found += _differing(git, verb, revision)
    return dict.fromkeys(found)


def _committed(
    changes: Iterable[PathStatus], whole: TreeCommand, root: str, cwd: str
) -> Iterator[str]:
    """Yield what a commit would contain: staged files, or only those it names."""
    named = _named(whole, root, cwd)
    for change in changes:
        path = change.path
        by_name = any(_is_in(path, name) for name in named)
        by_state = change.staged or (whole.revision == "all" and not change.untracked)
        if by_name or (by_state and whole.revision != "only"):
            yield path


def _named(whole: TreeCommand, root: str, cwd: str) -> list[str]:
    """Return the paths that git adds, relative to the root."""
    full = [os.path.normpath(os.path.join(cwd, from_top(path, root))) for path in whole.paths]
    return [os.path.relpath(path, root) for path in full]


def swept(
    commands: Iterable[TreeCommand],
    dirty: Iterable[str],
    untracked: frozenset[str],
    root: str,
    cwd: str,
) -> list[str]:
    """Return the changed files that ``git add`` or ``git commit -a`` includes without naming them."""
    found: dict[str, None] = {}
    for one in commands:
        if one.verb == "add":
            named = _named(one, root, cwd)
        elif one.verb == "commit" and one.revision == "all":
            named = ["."]
        else:
            continue
        tracked = one.verb == "commit" or one.revision == "tracked"
        for path in dirty:
            inside = any(name == "." or path.startswith(f"{name}/") for name in named)
            if inside and not (tracked and path in untracked):
                found[path] = None
    return list(found)


def _differing(git: GitCalls, verb: str, revision: str) -> list[str]:
    """Return the files that differ between HEAD and the commit that is checked out or merged."""
    from dibs.git.refs import commit_of
    from dibs.git.trees import differences

    if verb == "between" or (verb == "pick" and ".." in revision):
        revision, _, other = revision.partition("..")
        ends = commit_of(git, revision or "HEAD"), commit_of(git, other.lstrip(".") or "HEAD")
        return [change.path for change in differences(git, *ends)] if all(ends) else []
    new, old = commit_of(git, revision), commit_of(git, "HEAD")
    if not new:
        return []
    if verb in {"pick", "unstash"}:
        old = commit_of(git, f"{revision}^1")
    elif verb == "merge" and old:
        said = git.run("merge-base", "--end-of-options", old, new)
        old = said.out.decode().strip() or old
    return [change.path for change in differences(git, old, new)]


def _once(paths: Iterable[TouchedPath]) -> list[TouchedPath]:
    found: dict[tuple[str, str], TouchedPath] = {}
    for one in paths:
        key = ("read" if one.how == How.READ else "write", one.pattern.key)
        before = found.setdefault(key, one)
        found[key] = one if before.stays and not one.stays else both(before, one)
    return list(found.values())
