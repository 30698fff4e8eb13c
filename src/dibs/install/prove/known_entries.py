"""Decide which commands a guard test may run: those in the user's own files, and those that init writes.

A hook, a server, or a plug-in in the repository's files can be anything that someone committed. It is run
only if it is word for word what ``dibs init`` of this installation writes; otherwise, it is reported.
"""

from __future__ import annotations

import os
import shlex

from dibs.install.agents.edits import Choice, plugin_text
from dibs.install.agents.table import AGENTS
from dibs.install.entries.commands import commands
from dibs.install.prove.run import GuardProof, failed
from dibs.local.files import read_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.install.inspect.settings import InstalledHook, McpRegistration

#: What an entry for our server may set in its environment; the test overrides it.
_HARMLESS = frozenset(("DIBS_AGENT",))
#: The largest plug-in that is compared, in bytes.
_LARGEST = 1 << 20
_ENDS: tuple[list[str], ...] = ([], ["||", "exit", "2"], ["||", "exit", "0"])


def may_run_hook(hook: InstalledHook, root: str) -> bool:
    """Return whether a test may run the command of a hook."""
    if not _is_repositorys(hook.file, root):
        return True
    if "\n" in hook.command or "\r" in hook.command:  # which would end a command
        return False
    try:
        words = shlex.split(hook.command)
    except ValueError:
        return False
    return any(words == known for known in _known_commands(hook, root))


def may_start_server(server: McpRegistration, root: str) -> bool:
    """Return whether a test may start a server."""
    if not _is_repositorys(server.file, root):
        return True
    known = [commands(shared=shared).server for shared in (False, True)]
    return server.argv in known and _HARMLESS.issuperset(dict(server.environ))


def may_load_plugin(file: str, root: str) -> bool:
    """Return whether a test may load a plug-in."""
    if not _is_repositorys(file, root):
        return True
    known = [
        plugin_text(Choice(root, commands(shared=shared), shared)).encode()
        for shared in (False, True)
    ]
    return read_file(file, _LARGEST) in known


def different(agent: str, what: str, file: str) -> GuardProof:
    """Return the result for an entry that was not run."""
    said = "it differs from what `dibs init` writes here, so it was not run"
    return failed(agent, what, f"{said}: run `dibs init --agents {agent}`", file)


def _is_repositorys(file: str, root: str) -> bool:
    """Return whether a file is in the repository, or linked from or to there."""
    inside = os.path.join(root, "")
    return file.startswith(inside) or os.path.realpath(file).startswith(inside)


def _known_commands(hook: InstalledHook, root: str) -> Iterator[list[str]]:
    """Yield the words of each command that ``dibs init`` writes for this hook, or wrote earlier."""
    settings = AGENTS[hook.agent].hooks
    files = {os.path.relpath(hook.file, root), settings.file, settings.shared_file}
    for shared in (False, True):
        ours = commands(shared=shared)
        for event in ("", hook.event):
            for file in files:
                yield shlex.split(ours.hook(hook.agent, event, file=file))
            bare = [*ours.hook_words, hook.agent, *([event] if event else ())]
            yield from ([*bare, *end] for end in _ENDS)
