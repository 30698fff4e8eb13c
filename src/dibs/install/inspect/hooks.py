"""Which hooks of Dibs the settings of each agent name, read as that agent reads them; nothing is changed."""

from __future__ import annotations

import glob
import os
import re

from dibs.errors import BadInput
from dibs.install.entries.json_scan import ANY, HOOK_STYLES, Style, scan
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

#: No settings file of an agent is larger.
_LARGEST = 4 << 20
#: For agents that could not be tried with comments.
_UNTRIED = Style(comments=True, trailing=True)
_SECOND, _MILLISECOND = 1.0, 0.001
_OURS = re.compile(r"guard[/\\]run\.py\b|\bdibs(?:\.exe)?['\"]? hook\b")


class HookSettings(Record):
    """How one agent keeps its hooks."""

    name: str
    #: Programs that tell that it is installed.
    programs: tuple[str, ...]
    #: Its files in a repository, and those of its user; globs, all of them are read.
    files: tuple[str, ...]
    user_files: tuple[str, ...] = ()
    #: The events at which a write can be refused.
    before: tuple[str, ...] = ("PreToolUse",)
    #: Under which key of an entry the command stands.
    key: str = "command"
    #: The key of the time that a hook gets, and its unit in seconds.
    time_key: str = "timeout"
    time_unit: float = _SECOND
    #: The variable that names another folder for its user's files, and the folder that it stands for.
    home_variable: str = ""
    home_folder: str = ""


class Wired(Record):
    """One hook that runs Dibs."""

    agent: str
    file: str
    event: str
    #: Where the hook stands in its file: the number of its group, and its number in that.
    group: int
    place: int
    matcher: str
    command: str
    #: How many seconds it gets; 0 where the file does not say.
    timeout: float = 0.0
    #: All that the file says of it.
    entry: dict[str, object] = {}  # noqa: RUF012 - a record's default, which nobody changes

    @property
    def refuses(self) -> bool:
        """Whether a write can be refused at its event."""
        return self.event in AGENTS[self.agent].before


AGENTS = {
    agent.name: agent
    for agent in (
        HookSettings(
            "claude", ("claude",),
            (".claude/settings.json", ".claude/settings.local.json"), (".claude/settings.json",),
            home_variable="CLAUDE_CONFIG_DIR", home_folder=".claude",
        ),
        HookSettings(
            "codex", ("codex",), (".codex/hooks.json", ".codex/config.toml"),
            (".codex/hooks.json", ".codex/config.toml"),
            home_variable="CODEX_HOME", home_folder=".codex",
        ),
        HookSettings(
            "gemini", ("gemini",), (".gemini/settings.json",), (".gemini/settings.json",),
            before=("BeforeTool",), time_unit=_MILLISECOND,
        ),
        HookSettings(
            "copilot", ("copilot",),
            (".github/hooks/*.json", ".github/copilot/settings*.json"),
            (".copilot/hooks/*.json", ".copilot/settings.json"),
            before=("preToolUse", "PreToolUse"), key="bash", time_key="timeoutSec",
            home_variable="COPILOT_HOME", home_folder=".copilot",
        ),
        HookSettings(
            "cursor", ("cursor-agent", "cursor"), (".cursor/hooks.json",), (".cursor/hooks.json",),
            before=("preToolUse", "beforeShellExecution"),
        ),
        HookSettings(
            "windsurf", ("windsurf",), (".windsurf/hooks.json",),
            (".codeium/windsurf/hooks.json",), before=("pre_write_code", "pre_run_command"),
        ),
        HookSettings(
            "opencode", ("opencode",), (".opencode/plugin/*.js", ".opencode/plugins/*.js"),
            (".config/opencode/plugin/*.js", ".config/opencode/plugins/*.js"),
            before=("tool.execute.before",),
        ),
        # It reads Claude Code's files and those of Copilot; whatever guards these guards it.
        HookSettings("vscode", ("code",), (), ()),
    )
}  # fmt: skip


class UnreadableSettings(Record):
    """A settings file that cannot be read as what it should be: its agent may ignore all of it."""

    agent: str
    file: str
    why: str


def hooks_of(
    name: str, root: str, home: str, environ: Mapping[str, str]
) -> tuple[list[Wired], list[UnreadableSettings]]:
    """Return every hook of Dibs in the files of one agent: the repository's, then its user's."""
    found: list[Wired] = []
    bad: list[UnreadableSettings] = []
    for file in files_of(name, root, home, environ):
        try:
            found += _in_file(AGENTS[name], file)
        except (OSError, ValueError, RecursionError) as error:
            bad.append(UnreadableSettings(name, file, str(error)))
    return found, bad


def files_of(name: str, root: str, home: str, environ: Mapping[str, str]) -> list[str]:
    """Return the files that are there, in the order in which the agent reads them."""
    agent = AGENTS[name]
    places = [os.path.join(glob.escape(root), pattern) for pattern in agent.files]
    for pattern in agent.user_files if home else ():
        place = os.path.join(glob.escape(home), pattern)
        moved = environ.get(agent.home_variable, "") if agent.home_variable else ""
        if moved:
            place = glob.escape(moved) + pattern.removeprefix(agent.home_folder)
        places.append(place)
    files = (path for place in places for path in sorted(glob.glob(place)))
    return list(dict.fromkeys(path for path in files if os.path.isfile(path)))


def read_settings(path: str, style: Style = ANY) -> Any:
    """Read a settings file by its ending: TOML, or JSON of a style. ``ValueError`` says what is wrong."""
    with open(path, "rb") as stream:
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


def _in_file(agent: HookSettings, file: str) -> Iterator[Wired]:
    if file.endswith(".js"):
        with open(file, encoding="utf-8", errors="replace") as stream:
            text = stream.read(_LARGEST)
        if "dibs" in text and _OURS.search(text):
            yield Wired(agent.name, file, agent.before[0], 0, 0, "", "")
        return
    settings = read_settings(file, HOOK_STYLES.get(agent.name, _UNTRIED))
    events = settings.get("hooks") if isinstance(settings, dict) else None
    for event, groups in events.items() if isinstance(events, dict) else ():
        for at, group in enumerate(groups if isinstance(groups, list) else ()):
            yield from _in_group(agent, file, event, at, group)


def _in_group(agent: HookSettings, file: str, event: str, at: int, group: Any) -> Iterator[Wired]:
    """Yield what is ours in an entry, which holds a command itself or a list of such that do."""
    if not isinstance(group, dict):
        return
    inner = group.get("hooks")
    for place, entry in enumerate(inner if isinstance(inner, list) else [group]):
        command = _command(agent, entry)
        if not _OURS.search(command):
            continue
        given = entry.get(agent.time_key, 0)
        given = given * agent.time_unit if isinstance(given, int | float) else 0.0
        matcher = group.get("matcher")
        yield Wired(
            agent.name, file, event, at, place, matcher if isinstance(matcher, str) else "",
            command, float(given), entry,
        )  # fmt: skip


def _command(agent: HookSettings, entry: Any) -> str:
    if not isinstance(entry, dict):
        return ""
    for key in (agent.key, "command"):
        text = entry.get(key)
        if isinstance(text, str) and text:
            return text
    return ""
