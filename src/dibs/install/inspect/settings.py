"""Find the Dibs hooks and MCP servers in each agent's settings, read as that agent reads them."""

from __future__ import annotations

import glob
import os
import re

from dibs.errors import BadInput
from dibs.install.agents.table import AGENTS
from dibs.install.entries.json_scan import ANY, Style, scan
from dibs.local.files import regular
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any

    from dibs.install.agents.table import AgentSettings

#: The largest settings file that is read, in bytes.
_LARGEST = 4 << 20
#: For agents whose JSON dialect was not tested.
_UNTRIED = Style(comments=True, trailing=True)
_OURS = re.compile(r"guard[/\\]run\.py\b|\bdibs(?:\.exe)?['\"]? hook\b")


class InstalledHook(Record):
    """One hook that runs Dibs."""

    agent: str
    file: str
    event: str
    #: The position of the hook in its file: the number of its group, and its number in that.
    group: int
    place: int
    matcher: str
    command: str
    #: Its timeout in seconds; 0 if the file names none.
    timeout: float = 0.0
    #: The entry as it is in the file.
    entry: dict[str, object] = {}  # noqa: RUF012 - a record's default, which nobody changes

    @property
    def refuses(self) -> bool:
        """Whether it can block a write at its event."""
        return self.event in AGENTS[self.agent].hooks.before


class McpRegistration(Record):
    """One entry for our MCP server."""

    agent: str
    file: str
    #: The command that starts it; empty for a server at a URL.
    argv: tuple[str, ...]
    environ: tuple[tuple[str, str], ...] = ()
    url: str = ""
    #: Whether the file is another agent's.
    lent: bool = False


class UnreadableSettings(Record):
    """A settings file that cannot be parsed: its agent may ignore all of it."""

    agent: str
    file: str
    why: str


def hooks_of(
    name: str, root: str, home: str, environ: Mapping[str, str]
) -> tuple[list[InstalledHook], list[UnreadableSettings]]:
    """Return every Dibs hook in the files of one agent: the repository's, then the user's."""
    found: list[InstalledHook] = []
    bad: list[UnreadableSettings] = []
    for file in files_of(name, root, home, environ):
        try:
            found += _in_file(AGENTS[name], file)
        except (OSError, ValueError, RecursionError) as error:
            bad.append(UnreadableSettings(name, file, str(error)))
    return found, bad


def files_of(name: str, root: str, home: str, environ: Mapping[str, str]) -> list[str]:
    """Return the files that exist, in the order in which the agent reads them."""
    agent = AGENTS[name]
    places = [os.path.join(glob.escape(root), pattern) for pattern in agent.hooks.files]
    places += user_places(agent, agent.hooks.user_files, home, environ, glob.escape)
    files = (path for place in places for path in sorted(glob.glob(place)))
    return list(dict.fromkeys(path for path in files if os.path.isfile(path)))


def user_places(
    agent: AgentSettings, paths: Iterable[str], home: str, environ: Mapping[str, str],
    quoted: Callable[[str], str] = str,
) -> list[str]:  # fmt: skip
    """Return the places of an agent's user files: in the home folder, or where a variable points."""
    moved = environ.get(agent.home_variable, "") if agent.home_variable else ""
    if moved:
        inner = (path.removeprefix(agent.home_folder).lstrip("/") for path in paths if home)
        return [os.path.join(quoted(moved), path) for path in inner]
    return [os.path.join(quoted(home), path) for path in paths if home]


def shown(file: str, root: str) -> str:
    """Return the path to show to people: relative to the root if it is inside."""
    return os.path.relpath(file, root) if file.startswith(root + os.sep) else file


def read_settings(path: str, style: Style = ANY) -> Any:
    """Read a settings file: TOML or JSON, by its suffix. ``ValueError`` says what is wrong."""
    with open(path, "rb", opener=regular) as stream:
        raw = stream.read(_LARGEST + 1)
    if len(raw) > _LARGEST:
        raise ValueError(f"it is larger than {_LARGEST >> 20} MiB")
    text = raw.decode()
    if path.endswith(".toml"):
        import tomllib

        return tomllib.loads(text.removeprefix("\ufeff"))
    if not text.strip():
        return {}
    try:
        return scan(text, os.path.basename(path), style).value
    except BadInput as error:
        raise ValueError(error.message) from None


def read_or_nothing(path: str) -> Any:
    """Read a settings file; return an empty object if it cannot be read."""
    try:
        return read_settings(path)
    except (OSError, ValueError, RecursionError):
        return {}


def setting(value: Any, *keys: str) -> Any:
    """Return the value at a path of names in settings; None if there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _in_file(agent: AgentSettings, file: str) -> Iterator[InstalledHook]:
    if file.endswith(".js"):
        with open(file, encoding="utf-8", errors="replace", opener=regular) as stream:
            text = stream.read(_LARGEST)
        if "dibs" in text and _OURS.search(text):
            yield InstalledHook(agent.name, file, agent.hooks.before[0], 0, 0, "", "")
        return
    settings = read_settings(file, agent.hooks.style or _UNTRIED)
    events = settings.get("hooks") if isinstance(settings, dict) else None
    for event, groups in events.items() if isinstance(events, dict) else ():
        for at, group in enumerate(groups if isinstance(groups, list) else ()):
            yield from _in_group(agent, file, event, at, group)


def _in_group(
    agent: AgentSettings, file: str, event: str, at: int, group: Any
) -> Iterator[InstalledHook]:
    """Yield our hooks in an entry, which is a handler or contains a list of handlers."""
    if not isinstance(group, dict):
        return
    inner = group.get("hooks")
    for place, entry in enumerate(inner if isinstance(inner, list) else [group]):
        command = _command(agent, entry)
        if not _OURS.search(command):
            continue
        given = entry.get(agent.hooks.time_key, 0)
        given = given / agent.hooks.per_second if isinstance(given, int | float) else 0.0
        matcher = group.get("matcher")
        yield InstalledHook(
            agent.name, file, event, at, place, matcher if isinstance(matcher, str) else "",
            command, float(given), entry,
        )  # fmt: skip


def _command(agent: AgentSettings, entry: Any) -> str:
    if not isinstance(entry, dict):
        return ""
    for key in (agent.hooks.key, "command"):
        text = entry.get(key)
        if isinstance(text, str) and text:
            return text
    return ""


def servers_of(
    name: str, root: str, home: str, environ: Mapping[str, str]
) -> list[McpRegistration]:
    """Return the entries for our server in the files of one agent; unreadable files have none."""
    agent = AGENTS[name]
    settings = agent.server
    files = [os.path.join(root, path) for path in settings.files]
    files += user_places(agent, settings.user_files, home, environ)
    entries = [(file, setting(read_or_nothing(file), settings.key, "dibs")) for file in files]
    shared = os.path.join(root, settings.file) if settings.lent else ""
    return [
        _server(name, file, entry)._replace(lent=file == shared)
        for file, entry in entries
        if isinstance(entry, dict)
    ]


def _server(name: str, file: str, entry: dict[str, Any]) -> McpRegistration:
    command, more = entry.get("command"), entry.get("args")
    words = command if isinstance(command, list) else [command] if command else []
    words = [*words, *(more if isinstance(more, list) else [])]
    given = entry.get("env") or entry.get("environment")
    pairs = given.items() if isinstance(given, dict) else ()
    url = entry.get("url") or entry.get("httpUrl")
    return McpRegistration(
        name,
        file,
        tuple(map(str, words)),
        tuple((str(key), str(value)) for key, value in pairs),
        url if isinstance(url, str) else "",
    )
