"""The programs in a repository's configuration that the user has allowed; all others must not run.

The list is in the user's configuration folder, outside any repository. It has the git directory and the whole
setting, so a setting that changes is no longer allowed.

The commands in ``dibs.toml`` that run without anyone asking for them must be allowed, too: everyone who can
change the file could run programs as the user with them.
"""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager

from dibs.core.claims.agents import check_human
from dibs.core.text.names import quote
from dibs.errors import Misconfigured, NotFound
from dibs.git.config import Executing, parts
from dibs.git.hook_scripts import HOOKS_BEFORE
from dibs.local.files import read_file, regular, write_file
from dibs.local.locks import FileLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dibs.config.load import Config, Loaded
    from dibs.core.claims.agents import Caller
    from dibs.local.repository import Repository

#: The names of the test command and of the address of webhooks, as ``dibs git trust`` knows them.
TEST, WEBHOOK = "merge.test", "notify.webhook"
#: The scope and the file of these settings.
_PROJECT, _FILE = "project", "dibs.toml"
_VERSION = 1
HOOKS_PATH = "core.hookspath"
#: The largest record of a replaced hooks path, in bytes: it contains the whole configuration twice.
_MEMORY_MAX = 4 << 20
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


class Trust:
    """The settings that the user has allowed in one repository."""

    def __init__(self, repository: Repository, environ: Mapping[str, str] | None = None) -> None:
        self._place = repository.common or repository.root
        #: The file that lists what is allowed.
        self.path = _place(os.environ if environ is None else environ)

    def untrusted(self, found: Iterable[Executing]) -> tuple[Executing, ...]:
        """Return the settings that are not allowed."""
        settings = self.originals(found)
        if not settings:
            return ()
        allowed = set(self._read().get(self._place, ()))
        return tuple(
            setting
            for setting in settings
            if _line(setting) not in allowed and not self._is_inside(setting)
        )

    def allow(
        self, caller: Caller, found: Sequence[Executing], keys: Iterable[str]
    ) -> list[Executing]:
        """Allow the settings with these names at their current values; for humans only."""
        _refuse_agents(caller)
        chosen = [setting for key in keys for setting in _named(self.originals(found), key)]
        with self._changing() as lists:
            lines = {*lists.get(self._place, ()), *map(_line, chosen)}
            lists[self._place] = sorted(lines)
        return chosen

    def forget(self, caller: Caller, keys: Iterable[str]) -> list[str]:
        """Disallow the settings with these names, whether or not they still exist."""
        _refuse_agents(caller)
        wanted = tuple(f"{_folded(key)}=" for key in keys)
        with self._changing() as lists:
            lines = list(lists.get(self._place, ()))
            gone = [line for line in lines if line.startswith(wanted)]
            lists[self._place] = [line for line in lines if line not in gone]
        return gone

    def originals(self, found: Iterable[Executing]) -> tuple[Executing, ...]:
        """Return the settings with the hooks path that ours replaced: our hooks run the hooks there first."""
        return tuple(
            setting._replace(value=_replaced(setting.value) or setting.value)
            if self._is_inside(setting)
            else setting
            for setting in found
        )

    def _is_inside(self, setting: Executing) -> bool:
        """Return whether this is a hooks path inside the git directory, as safe as its ``hooks`` folder."""
        if setting.key != HOOKS_PATH or not os.path.isabs(setting.value):
            return False
        return os.path.realpath(setting.value).startswith(os.path.join(self._place, ""))

    def _read(self) -> dict[str, list[str]]:
        from dibs.startup.quickjson import loads

        try:
            with open(
                self.path, encoding="utf-8", errors="surrogateescape", opener=regular
            ) as file:
                self._refuse_others(os.fstat(file.fileno()))
                content = loads(file.read())
        except FileNotFoundError:
            return {}
        except ValueError as error:
            raise Misconfigured(f"{quote(self.path)} is not valid JSON: {error}") from None
        lists = content.get("allowed") if isinstance(content, dict) else None
        if not isinstance(lists, dict) or content.get("version") != _VERSION:
            raise Misconfigured(f"{quote(self.path)} is not a list of allowed settings")
        return {str(place): list(map(str, lines)) for place, lines in lists.items()}

    def _refuse_others(self, status: os.stat_result) -> None:
        mine = not hasattr(os, "geteuid") or status.st_uid in {os.geteuid(), 0}
        if not mine or status.st_mode & _OTHERS_MAY_WRITE:
            raise Misconfigured(
                f"other users can write to {quote(self.path)}, which lists allowed programs",
                hint=f"check its contents, then run: chmod 600 {quote(self.path)}",
            )

    @contextmanager
    def _changing(self) -> Iterator[dict[str, list[str]]]:
        """Provide all lists to one caller at a time, and save them at the end."""
        os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
        with FileLock(f"{self.path}.lock"):
            lists = self._read()
            yield lists
            kept = {place: lines for place, lines in lists.items() if lines}
            from json import dumps

            text = dumps({"version": _VERSION, "allowed": kept}, indent=2, sort_keys=True)
            write_file(self.path, text + "\n", sync=True)


def _place(environ: Mapping[str, str]) -> str:
    base = environ.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(base):  # XDG variables with relative paths must be ignored
        base = os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(base, "dibs", "trusted.json")


def _replaced(folder: str) -> str:
    """Return the value of ``core.hooksPath`` that our hooks folder replaced in the repository's settings."""
    from dibs.startup.quickjson import loads

    try:
        memory = loads(read_file(os.path.join(folder, HOOKS_BEFORE), _MEMORY_MAX).decode())
    except (OSError, ValueError):  # not our folder
        return ""
    value = memory.get("value") if isinstance(memory, dict) else None
    return value if isinstance(value, str) else ""


def _line(setting: Executing) -> str:
    return f"{setting.key}={setting.value}"


def _named(found: Sequence[Executing], key: str) -> list[Executing]:
    chosen = [setting for setting in found if setting.key == _folded(key)]
    if not chosen:
        raise NotFound(
            f"this repository's git configuration has no setting {quote(key)} that names a program",
            code="NO_SETTING",
            hint="`dibs git trust` lists them",
        )
    return chosen


def _folded(key: str) -> str:
    """Return a key as git spells it: only the subsection keeps its case."""
    section, name, variable = parts(key)
    return ".".join(part for part in (section.lower(), name, variable.lower()) if part)


def _refuse_agents(caller: Caller) -> None:
    check_human(
        caller,
        "only a human may allow programs in a repository's configuration",
        hint="ask a human to run `dibs git trust`",
    )


def project_commands(loaded: Loaded) -> tuple[Executing, ...]:
    """Return the commands in the settings that ``dibs serve`` runs by itself."""
    config, origins = loaded.config, loaded.origins
    found = [on_setting(text, origins["handlers_on"]) for text in config.handlers_on]
    if test := merge_test_setting(config, origins["merge_test"]):
        found.append(test)
    if hook := webhook_setting(config, origins["notify_webhook"]):
        found.append(hook)
    return tuple(found)


def on_setting(text: str, origin: str = _FILE) -> Executing:
    """Return the setting of one table ``[[on]]``."""
    import shlex

    from dibs.config.event_commands import decoded

    one = decoded(text)
    return Executing(f"on.{one.event}", shlex.join(one.command), _PROJECT, origin)


def merge_test_setting(config: Config, origin: str = _FILE) -> Executing | None:
    """Return the setting of the test command, or None without one."""
    command = config.merge_test.strip()
    return Executing(TEST, command, _PROJECT, origin) if command else None


def webhook_setting(config: Config, origin: str = _FILE) -> Executing | None:
    """Return the setting of the address that learns about the project, or None without one."""
    address = config.notify_webhook.strip()
    return Executing(WEBHOOK, address, _PROJECT, origin) if address else None
