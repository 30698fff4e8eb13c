"""Find a folder's project and its settings, without opening its state."""

from __future__ import annotations

import os

from dibs.local.files import read_or_empty
from dibs.local.repository import find
from dibs.project.committed_settings import load_settings
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from dibs.config.load import Loaded
    from dibs.local.paths import PathResolver
    from dibs.local.repository import Repository


class Location(Record):
    """A project's repository and settings, before its state is opened."""

    repository: Repository
    loaded: Loaded

    @property
    def tree(self) -> PathResolver:
        """Resolves paths in this repository."""
        from dibs.local.paths import PathResolver

        return PathResolver(self.repository, fold_case=self.loaded.config.fold_case)

    @property
    def is_project(self) -> bool:
        """Whether this is a Dibs project: it has or had state, settings, a record, or a remote engine."""
        from dibs.project.engines import RECORD, is_there
        from dibs.project.local_store import existed

        if self.loaded.config.engine or is_there(self):
            return True
        files = (f"{self.repository.root}/dibs.toml", f"{self.repository.state}/{RECORD}")
        return any(map(os.path.exists, files)) or existed(self, "")

    def with_timeout(self, seconds: float, origin: str) -> Location:
        """Return the same location with a timeout of at most ``seconds``."""
        loaded = self.loaded
        config = loaded.config._replace(timeout=min(loaded.config.timeout, seconds))
        origins = {**loaded.origins, "timeout": origin}
        return self._replace(loaded=loaded._replace(config=config, origins=origins))


def locate(
    start: str = "",
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, object] | None = None,
    *,
    lenient: bool = False,
) -> Location:
    """Find a folder's project and read its settings; open and change nothing.

    If ``lenient``, the last commit replaces an invalid file of settings, and git may work elsewhere.
    """
    variables = os.environ if environ is None else environ
    repository = find(start, variables)
    if not lenient:
        _refuse_elsewhere(repository)
    if environ is None and any(name.startswith("DIBS_") for name in variables):
        from dibs.project.environment import trusted_variables

        variables = trusted_variables(variables, repository.state)
    loaded = load_settings(repository, variables, flags, lenient=lenient)
    return Location(repository, loaded)


def _refuse_elsewhere(repository: Repository) -> None:
    """Refuse a repository whose settings make git work on files in another folder."""
    text = read_or_empty(f"{repository.common}/config")
    if b"worktree" in text.lower():  # seldom, so that git need not be asked
        from dibs.git.untrusted import guarded_calls

        guarded_calls(repository.root, repository)
