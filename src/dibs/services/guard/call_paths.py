"""The paths that a tool call touches, and what is recorded about them."""

from __future__ import annotations

import os

from dibs.core.toolcalls.values import How, Watch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dibs.config.settings import Config
    from dibs.core.toolcalls.values import HookEvent
    from dibs.local.repository import Repository
    from dibs.services.guard.touched import TouchedPath


class CallPaths:
    """Resolves what tool calls touch in one working tree."""

    def __init__(self, repository: Repository, config: Config, *, fold_case: bool) -> None:
        self._repository = repository
        self._config = config
        self._fold_case = fold_case

    def all(self, heard: HookEvent, waits: Callable[[float], object]) -> list[TouchedPath]:
        """Return the paths that a call touches: those its tool names, and those a shell writes or shows.

        ``waits`` is called with the time that this may take, in seconds.
        """
        paths = self.named(heard) if heard.touches else []
        if heard.mentions and heard.watch == Watch.ALWAYS:
            known = {one.pattern.key for one in paths if one.how != How.READ}
            paths += [one for one in self.mentioned_paths(heard) if one.pattern.key not in known]
        if heard.command:
            from dibs.services.guard.shell_targets import written_paths

            paths += written_paths(
                self._repository, heard.command, heard.cwd, fold_case=self._fold_case,
                reads=self._config.guard_reads, waits=waits,
            )  # fmt: skip
        if not paths:
            return paths
        from dibs.services.guard.ignored import with_ignored

        return with_ignored(self._repository, paths)

    def named(self, heard: HookEvent) -> list[TouchedPath]:
        """Return the paths that a call's tool names."""
        if heard.watch == Watch.ALWAYS:
            from dibs.services.guard.argument_paths import named_paths

            return named_paths(self._repository, heard, fold_case=self._fold_case)
        from dibs.services.guard.touched import touched

        return touched(self._repository, heard.touches, heard.cwd, fold_case=self._fold_case)

    def mentioned_paths(self, heard: HookEvent) -> list[TouchedPath]:
        """Return the paths that other texts in an unknown tool's arguments mean."""
        from dibs.services.guard.argument_paths import mentioned_paths

        return mentioned_paths(self._repository, heard, fold_case=self._fold_case)

    def is_watched(self, heard: HookEvent) -> bool:
        """Return whether to compare the tree before and after a call.

        That is a call of an unknown tool that may write, a shell command that may, or an edit of a file with
        several hard links.
        """
        if heard.watch == Watch.ALWAYS:
            return True
        if heard.command:
            from dibs.core.shell.writes import writes

            found = writes(heard.command, heard.cwd, os.path.expanduser("~"))
            if not (found.quiet and found.git_places):
                return not found.quiet
            from dibs.services.guard.git_programs import git_runs_programs, is_elsewhere

            repository, places = self._repository, found.git_places
            return is_elsewhere(repository, heard.cwd, places) or git_runs_programs(repository)
        for touch in () if is_read(heard) else heard.touches:
            try:
                about = os.lstat(os.path.join(heard.cwd or self._repository.root, touch.path))
            except (OSError, ValueError):
                continue
            if about.st_nlink > 1 and about.st_mode & 0o170000 == 0o100000:  # noqa: PLR2004
                return True
        return False

    def note(self, agent: str, heard: HookEvent, now: float) -> None:
        """Record which files a call read or wrote that named them."""
        if heard.touches and is_read(heard):
            self.note_reads(agent, self.named(heard))
        elif heard.touches:
            from dibs.services.guard.uncommitted.before_call import TreeSnapshots

            written: dict[str, list[str]] = {}
            for one in self.named(heard):
                if one.how not in {How.READ, How.MAYBE}:
                    written.setdefault(one.elsewhere or self._repository.root, []).append(one.path)
            for root, paths in written.items():
                marks = TreeSnapshots(self._repository._replace(root=root))
                marks.note_own(agent, paths, now)

    def note_reads(self, agent: str, paths: Sequence[TouchedPath]) -> None:
        """Record which files an agent reads, so that its commits do not undo what it has not seen."""
        reads = [one.path for one in paths if one.how == How.READ and not one.deep]
        if reads:
            from dibs.local.last_read import note_read

            note_read(self._repository, agent, reads)

    def note_start(self, agent: str) -> None:
        """Record what an agent can have read before its first call."""
        from dibs.local.last_read import note_start

        note_start(self._repository, agent)


def is_read(heard: HookEvent) -> bool:
    """Return whether a tool call only reads: it runs no command, no MCP tool, and writes no file."""
    runs = heard.command or heard.watch or heard.tool[:3].lower() == "mcp"
    return not runs and all(touch.how == How.READ for touch in heard.touches)
