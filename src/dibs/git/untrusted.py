"""Run git in a repository whose configuration is not trusted: disable or refuse the programs it names.

What Dibs does by itself, or to look, runs none of them. Most can be disabled without effect. If disabling one
would change the result (a filter, a merge driver, a signing program, a hook), the operation is refused here
first. Only a caller's own ``dibs commit`` runs what ``git commit`` would run.
"""

from __future__ import annotations

import os
import time
from itertools import chain

from dibs.core.text.names import printable, quote
from dibs.errors import Misconfigured, NotAllowed
from dibs.git.attributes import attributes
from dibs.git.calls import GitCalls, UserCalls
from dibs.git.config import neutral, parts, read, without_hooks
from dibs.git.hook_scripts import HOOKS_BEFORE
from dibs.local.files import read_file
from dibs.local.repository import find

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dibs.git.config import ConfigReading, Executing
    from dibs.local.repository import Repository


#: How long a read configuration is valid, in seconds.
_MOMENT = 1.0
HOOKS_PATH = "core.hookspath"
#: The sections of programs that are part of what a commit contains.
_COMMITS = frozenset(("filter", "lfs", "gpg", "hook"))
#: The largest record of a replaced hooks path, in bytes: it contains the whole configuration twice.
_MEMORY_MAX = 4 << 20


class SafeGit(GitCalls):
    """Git calls that run none of the programs in ``untrusted``."""

    __slots__ = ("reading", "untrusted")

    def __init__(
        self,
        tree: str,
        reading: ConfigReading,
        untrusted: tuple[Executing, ...],
        *,
        timeout: float = 30.0,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(
            tree,
            timeout=timeout,
            settings=(*neutral(untrusted), *without_hooks(reading)),
            variables=variables,
            # A partial clone must fetch missing objects. Transport programs cannot be overridden, so with an
            # untrusted one nothing is fetched.
            network=reading.partial and not any(s.key.startswith("remote.") for s in untrusted),
        )
        self.reading = reading
        self.untrusted = untrusted

    def online(self) -> GitCalls:
        """Return calls that reach remotes; refuse if an untrusted program would carry the data."""
        if remotes := self.of("remote"):
            raise refusal(list(chain(*remotes.values())), "to reach the remote")
        settings = (*neutral(self.untrusted), *without_hooks(self.reading))
        return GitCalls(self.tree, timeout=self.timeout, settings=settings, network=True)

    def users(self) -> UserCalls:
        """Return calls that run the user's hooks, but none from untrusted settings."""
        hooks = [s for s in self.untrusted if s.key == HOOKS_PATH or s.key.startswith("hook.")]
        return UserCalls(self.tree, neutral(hooks))

    def of(self, section: str) -> dict[str, list[Executing]]:
        """Return the untrusted settings of a section, by subsection."""
        found: dict[str, list[Executing]] = {}
        for setting in self.untrusted:
            if parts(setting.key)[0] == section:
                found.setdefault(parts(setting.key)[1], []).append(setting)
        return found


class SafeGitPool:
    """Git calls in many worktrees of one repository, reading its configuration as rarely as possible."""

    __slots__ = ("_known", "_read", "_repository")

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._known: SafeGit | None = None
        self._read = 0.0

    def calls(self, tree: str) -> SafeGit:
        """Return git calls for one worktree."""
        known, now = self._known, time.monotonic()
        if known is not None and known.reading.common and now - self._read < _MOMENT:
            return SafeGit(tree, known.reading, known.untrusted)
        self._known, self._read = guarded_calls(tree, self._repository), now
        return self._known

    def callers(self, tree: str) -> SafeGit:
        """Return git calls that run the filters, hooks, and signing programs of the caller's own git."""
        safe = self.calls(tree)
        rest = [one for one in safe.untrusted if parts(one.key)[0] not in _COMMITS]
        return SafeGit(tree, safe.reading, tuple(one for one in rest if one.key != HOOKS_PATH))


def guarded_calls(
    tree: str,
    repository: Repository | None = None,
    *,
    timeout: float = 30.0,
    variables: Mapping[str, str] | None = None,
) -> SafeGit:
    """Return git calls for a working tree, after reading the repository's configuration.

    Without ``repository``, it is found when needed.
    """
    plain = GitCalls(tree, variables=variables)
    reading = read(plain)
    if reading.worktree:
        _refuse_elsewhere(plain, reading.worktree)
    untrusted = reading.executing
    if any(setting.key == HOOKS_PATH for setting in untrusted):
        untrusted = tuple(_originals(untrusted, repository or find(tree, {})))
    return SafeGit(tree, reading, untrusted, timeout=timeout, variables=variables)


def _originals(found: Iterable[Executing], repository: Repository) -> Iterator[Executing]:
    """Yield the settings, with the hooks path that ours replaced: our hooks run the hooks there first.

    A hooks path inside the git directory is left out: it is as safe as its ``hooks`` folder.
    """
    inside = os.path.join(repository.common or repository.root, "")
    for setting in found:
        if setting.key == HOOKS_PATH and os.path.realpath(setting.value).startswith(inside):
            replaced = _replaced(setting.value) if os.path.isabs(setting.value) else ""
            if replaced:
                yield setting._replace(value=replaced)
        else:
            yield setting


def _replaced(folder: str) -> str:
    """Return the value of ``core.hooksPath`` that our hooks folder replaced in the repository's settings."""
    from dibs.startup.quickjson import loads

    try:
        memory = loads(read_file(os.path.join(folder, HOOKS_BEFORE), _MEMORY_MAX).decode())
    except (OSError, ValueError):  # not our folder
        return ""
    value = memory.get("value") if isinstance(memory, dict) else None
    return value if isinstance(value, str) else ""


def refuse_filters(git: SafeGit, paths: Iterable[str] | None, *, tree: str = "") -> None:
    """Raise if one of ``paths`` would go through an untrusted filter.

    With ``tree``, use the attributes in that tree, as when it is checked out; None means all its paths.
    """
    filters = git.of("filter")
    if git.of("lfs"):  # the user's own filter would start these
        filters.setdefault("lfs", []).extend(chain(*git.of("lfs").values()))
    if filters:
        for path, name in attributes(git, "filter", paths, tree=tree).items():
            if name in filters:
                raise refusal(filters[name], f"on {quote(path)}")


def refuse_drivers(git: SafeGit, paths: Iterable[str]) -> None:
    """Raise if one of ``paths`` would be merged by an untrusted driver."""
    drivers = git.of("merge")
    if not drivers:
        return
    usual = git.reading.merge_default
    for path, name in attributes(git, "merge", paths).items():
        if name in drivers:
            raise refusal(drivers[name], f"to merge {quote(path)}")
    if usual in drivers:
        raise refusal(drivers[usual], "to merge files")


def refuse_signing(git: SafeGit, *, wanted: bool | None = None) -> None:
    """Raise if a commit would be signed by an untrusted program; None reads commit.gpgSign."""
    programs = git.of("gpg")
    if not programs:
        return
    if wanted is None:
        result = git.run("config", "--type=bool", "--get", "commit.gpgSign")
        wanted = result.out.strip() == b"true"
    if wanted:
        raise refusal(list(chain(*programs.values())), "to sign the commit")


def refuse_hooks(git: SafeGit, names: Iterable[str]) -> None:
    """Raise if one of these hooks would run from an untrusted setting."""
    wanted = tuple(names)
    for setting in git.untrusted:
        there: Iterable[str] = ()
        if setting.key == HOOKS_PATH:
            folder = os.path.join(git.tree, os.path.expanduser(setting.value))
            there = [name for name in wanted if os.access(os.path.join(folder, name), os.X_OK)]
        elif parts(setting.key)[0] == "hook":
            there = _events(git, parts(setting.key)[1]).intersection(wanted)
        for name in there:
            raise refusal([setting], f"as the {name} hook", "; or skip hooks with --no-verify")


def refusal(settings: Sequence[Executing], purpose: str, way_round: str = "") -> NotAllowed:
    """Return the error that names a setting, its file, and how to let Dibs run it."""
    first = settings[0]
    from shlex import quote as quoted

    words = " ".join(quoted(printable(word)) for word in (first.key, first.value))
    return NotAllowed(
        f"{printable(first.key)} in {quote(first.origin)} would run {quote(first.value)} {purpose}",
        code="REPO_EXECUTES_CODE",
        field=first.key,
        hint=f"a human can make it their own setting: git config --global {words}{way_round}",
    )


def _events(git: GitCalls, name: str) -> set[str]:
    result = git.run("config", "-z", "--get-all", f"hook.{name}.event")
    return {event.decode("utf-8", "replace") for event in result.out.split(b"\0")}


def _refuse_elsewhere(git: GitCalls, worktree: str) -> None:
    """Raise if the configuration makes git work on files in another folder."""
    top = os.path.realpath(os.fsdecode(git.must("rev-parse", "--show-toplevel").rstrip(b"\n")))
    here = os.path.realpath(git.tree)
    below = here.startswith(os.path.join(top, "")) and not os.path.lexists(f"{here}/.git")
    if here != top and not below:
        raise Misconfigured(
            f"core.worktree points to {quote(worktree)}, so git would change files there",
            code="REPO_STATE",
            hint="remove the setting: git config --unset core.worktree",
        )
