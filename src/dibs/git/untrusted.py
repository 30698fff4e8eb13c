"""Git in a repository whose configuration is not trusted: programs that it names are off, or refused by name.

Most of them can be left out without a trace. Where leaving one out would change the result (a filter, a merge
driver, a signing program, a hook), the caller asks here first, and is refused.
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
from dibs.git.trust import Trust
from dibs.local.repository import find

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dibs.git.config import ConfigReading, Executing
    from dibs.local.repository import Repository


#: For how many seconds a look at a configuration counts.
_MOMENT = 1.0


class SafeGit(GitCalls):
    """Git calls under which nothing runs that the user has not allowed."""

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
            # What a partial clone lacks can only be fetched. Of a program on the way git takes the first that
            # is named, whatever comes on top: then nothing is fetched.
            network=reading.partial and not any(s.key.startswith("remote.") for s in untrusted),
        )
        self.reading = reading
        self.untrusted = untrusted

    def users(self) -> UserCalls:
        """Return calls that run the user's hooks, but none that only the repository itself names."""
        hooks = [
            s for s in self.untrusted if s.key == "core.hookspath" or s.key.startswith("hook.")
        ]
        return UserCalls(self.tree, neutral(hooks))

    def of(self, section: str) -> dict[str, list[Executing]]:
        """Return the settings of a section that may not run, by the name that they belong to."""
        found: dict[str, list[Executing]] = {}
        for setting in self.untrusted:
            if parts(setting.key)[0] == section:
                found.setdefault(parts(setting.key)[1], []).append(setting)
        return found


class SafeGitPool:
    """Calls of git in many worktrees of one repository, with as few looks at its configuration as can be."""

    __slots__ = ("_known", "_read", "_repository")

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._known: SafeGit | None = None
        self._read = 0.0

    def calls(self, tree: str) -> SafeGit:
        """Return calls of git in one worktree."""
        known, now = self._known, time.monotonic()
        if known is not None and known.reading.common and now - self._read < _MOMENT:
            return SafeGit(tree, known.reading, known.untrusted)
        self._known, self._read = guarded_calls(tree, self._repository), now
        return self._known


def guarded_calls(
    tree: str,
    repository: Repository | None = None,
    *,
    timeout: float = 30.0,
    variables: Mapping[str, str] | None = None,
) -> SafeGit:
    """Return calls of git in a working tree, after one look at the repository's configuration.

    What the user has allowed is known by the repository; without one it is looked for where it is needed.
    """
    plain = GitCalls(tree, variables=variables)
    reading = read(plain)
    if reading.worktree:
        _refuse_elsewhere(plain, reading.worktree)
    untrusted = reading.executing
    if untrusted:
        untrusted = Trust(repository or find(tree, {})).untrusted(untrusted)
    return SafeGit(tree, reading, untrusted, timeout=timeout, variables=variables)


def refuse_filters(git: SafeGit, paths: Iterable[str] | None, *, tree: str = "") -> None:
    """Refuse where one of ``paths`` would go through a filter that may not run.

    With ``tree`` the attributes in that tree decide, as when it is checked out; None means all its paths.
    """
    filters = git.of("filter")
    if git.of("lfs"):  # the user's own filter would start these
        filters.setdefault("lfs", []).extend(chain(*git.of("lfs").values()))
    if filters:
        for path, name in attributes(git, "filter", paths, tree=tree).items():
            if name in filters:
                raise refusal(filters[name], f"on {quote(path)}")


def refuse_drivers(git: SafeGit, paths: Iterable[str]) -> None:
    """Refuse where one of ``paths`` would be merged by a driver that may not run."""
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
    """Refuse where a commit is to be signed by a program that may not run; None asks the settings."""
    programs = git.of("gpg")
    if not programs:
        return
    if wanted is None:
        said = git.run("config", "--type=bool", "--get", "commit.gpgSign")
        wanted = said.out.strip() == b"true"
    if wanted:
        raise refusal(list(chain(*programs.values())), "to sign the commit")


def refuse_hooks(git: SafeGit, names: Iterable[str]) -> None:
    """Refuse where one of these hooks would run from a place that the repository itself names."""
    wanted = tuple(names)
    for setting in git.untrusted:
        there: Iterable[str] = ()
        if setting.key == "core.hookspath":
            folder = os.path.join(git.tree, os.path.expanduser(setting.value))
            there = [name for name in wanted if os.access(os.path.join(folder, name), os.X_OK)]
        elif parts(setting.key)[0] == "hook":
            there = _events(git, parts(setting.key)[1]).intersection(wanted)
        for name in there:
            raise refusal([setting], f"as the hook {name}", "; --no-verify leaves hooks out")


def refusal(settings: Sequence[Executing], purpose: str, way_round: str = "") -> NotAllowed:
    """Return the error that names a setting and its file, and how the user can allow what it does."""
    first = settings[0]
    from shlex import quote as quoted

    keys = " ".join(dict.fromkeys(quoted(printable(setting.key)) for setting in settings))
    return NotAllowed(
        f"{printable(first.key)} in {quote(first.origin)} would run {quote(first.value)} {purpose}",
        code="REPO_EXECUTES_CODE",
        field=first.key,
        hint=f"if you want that, a human runs `dibs git trust {keys}`{way_round}",
    )


def _events(git: GitCalls, name: str) -> set[str]:
    said = git.run("config", "-z", "--get-all", f"hook.{name}.event")
    return {event.decode("utf-8", "replace") for event in said.out.split(b"\0")}


def _refuse_elsewhere(git: GitCalls, worktree: str) -> None:
    """Refuse a configuration that makes git work on files of another folder."""
    top = os.path.realpath(os.fsdecode(git.must("rev-parse", "--show-toplevel").rstrip(b"\n")))
    here = os.path.realpath(git.tree)
    if here != top and not here.startswith(os.path.join(top, "")):
        raise Misconfigured(
            f"core.worktree of this repository is {quote(worktree)}: git would work on the files there",
            code="REPO_STATE",
            hint="git config --unset core.worktree",
        )
