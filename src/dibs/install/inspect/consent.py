"""Whether an agent runs the hooks in its files: that requires its user's consent, which Dibs only reports.

Codex silently skips a hook whose hash its user has not accepted. Copilot and Gemini skip the hooks of a
folder that is not trusted. Dibs never writes consent: that is the user's decision.
"""

from __future__ import annotations

import hashlib
import json
import os
import re

from dibs.install.agents.table import AGENTS
from dibs.install.inspect.settings import files_of, read_or_nothing, setting
from dibs.startup.records import Record, TextEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from dibs.install.inspect.settings import InstalledHook

#: The timeout that Codex uses for a hook that names none.
_CODEX_TIMEOUT = 600


class Trusted(metaclass=TextEnum):
    """The user's consent, as far as it is known."""

    YES = "yes"
    NO = "no"
    #: Accepted, but changed since then.
    CHANGED = "changed"
    #: The agent does not ask, or asks when it starts.
    NOT_NEEDED = "not needed"
    UNKNOWN = "not known"
    #: A setting of the agent disables all hooks.
    OFF = "switched off"


class Consent(Record):
    """The user's consent for one agent in one repository, and what to do if it is missing."""

    trusted: str
    text: str = ""
    #: The command that gives consent, if it is missing.
    how: str = ""
    #: When the agent skips our hooks although its user has consented.
    gap: str = ""

    @property
    def missing(self) -> bool:
        """Whether the agent skips our hooks now."""
        return self.trusted in {Trusted.NO, Trusted.CHANGED, Trusted.OFF}


def consent(
    name: str, hooks: Sequence[InstalledHook], root: str, home: str, environ: Mapping[str, str]
) -> Consent:
    """Return whether an agent runs these hooks, as far as its files show."""
    off = _switch(name, root, home, environ)
    if off:
        return Consent(
            Trusted.OFF,
            f"{off} disables all hooks, so nothing guards this agent: remove that setting",
        )
    outside = any(hook.refuses and not _covers(root, hook.file) for hook in hooks)
    if outside and AGENTS[name].hooks.user_file:
        return Consent(Trusted.NOT_NEEDED, "its hooks in your home folder run in every folder")
    return _said(name, hooks, root, home, environ)


def _said(
    name: str, hooks: Sequence[InstalledHook], root: str, home: str, environ: Mapping[str, str]
) -> Consent:
    """Return what the agent's own files say."""
    if name == "codex":
        return _codex(hooks, root, environ.get("CODEX_HOME") or os.path.join(home, ".codex"))
    if name == "gemini":
        return _gemini(root, environ.get("GEMINI_CLI_HOME") or home, environ)
    if name == "copilot":
        return _copilot(root, environ.get("COPILOT_HOME") or os.path.join(home, ".copilot"))
    if name == "claude":
        return _claude(root, environ.get("CLAUDE_CONFIG_DIR") or home)
    return Consent(Trusted.NOT_NEEDED if name == "opencode" else Trusted.UNKNOWN)


def _switch(name: str, root: str, home: str, environ: Mapping[str, str]) -> str:
    """Return the setting that disables all hooks, with its file; empty if there is none."""
    keys, off = AGENTS[name].hooks.switch, AGENTS[name].hooks.off
    files = files_of(name, root, home, environ) if keys else []
    # The repository's setting takes precedence over the user's, and a later file over an earlier one.
    inside = [file for file in files if file.startswith(root + os.sep)]
    for file in (*reversed(inside), *(file for file in files if file not in inside)):
        said = setting(read_or_nothing(file), *keys)
        if isinstance(said, bool):
            return f"{'.'.join(keys)} in {file}" if said is off else ""
    return ""


def codex_hash(hook: InstalledHook) -> str:
    """Return the hash by which Codex identifies a hook: of its event, matcher, and entry."""
    entry = hook.entry
    timeout = entry.get("timeout")
    handler: dict[str, object] = {
        "type": "command",
        "command": hook.command,
        "timeout": timeout if isinstance(timeout, int) else _CODEX_TIMEOUT,
        "async": bool(entry.get("async", False)),
    }
    if isinstance(entry.get("statusMessage"), str):
        handler["statusMessage"] = entry["statusMessage"]
    known: dict[str, object] = {"event_name": _snake(hook.event), "hooks": [handler]}
    if hook.matcher:
        known["matcher"] = hook.matcher
    text = json.dumps(known, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def codex_key(hook: InstalledHook) -> str:
    """Return the key under which Codex stores the consent to a hook."""
    return f"{hook.file}:{_snake(hook.event)}:{hook.group}:{hook.place}"


def _codex(hooks: Sequence[InstalledHook], root: str, folder: str) -> Consent:
    settings = read_or_nothing(os.path.join(folder, "config.toml"))
    level = setting(settings, "projects", root, "trust_level")
    if level != "trusted" and any(hook.file.startswith(root + os.sep) for hook in hooks):
        return Consent(
            Trusted.NO,
            "Codex skips the hooks until you trust this folder: run `codex` here and trust it",
            "run `codex` here, trust the folder, then /hooks",
        )
    states = [_codex_state(settings, hook) for hook in hooks]
    for state in (Trusted.CHANGED, Trusted.NO):
        count = states.count(state)
        if count:
            what = "changed since you accepted them" if state == Trusted.CHANGED else "not accepted"
            text = (
                f"{count} of {len(states)} hooks {what}, so Codex skips them:"
                " run `codex` here and accept them with /hooks"
            )
            return Consent(state, text, "run `codex` here, then /hooks")
    return Consent(Trusted.YES)


def _codex_state(settings: Any, hook: InstalledHook) -> str:
    state = setting(settings, "hooks", "state", codex_key(hook))
    known = setting(state, "trusted_hash")
    if not isinstance(known, str) or setting(state, "enabled") is False:
        return Trusted.NO
    return Trusted.YES if known == codex_hash(hook) else Trusted.CHANGED


def _gemini(root: str, home: str, environ: Mapping[str, str]) -> Consent:
    folder = os.path.join(home, ".gemini")
    switch = setting(
        read_or_nothing(os.path.join(folder, "settings.json")), "security", "folderTrust", "enabled"
    )
    if switch is False:
        return Consent(Trusted.NOT_NEEDED, "folder trust is disabled", gap=AGENTS["gemini"].gap)
    rules = read_or_nothing(os.path.join(folder, "trustedFolders.json"))
    best, word = "", ""
    for path, said in rules.items() if isinstance(rules, dict) else ():
        place = os.path.dirname(path) if said == "TRUST_PARENT" else path
        if _covers(place, root) and len(place) >= len(best):
            best, word = place, str(said)
    word = word or ("TRUST_FOLDER" if environ.get("GEMINI_CLI_TRUST_WORKSPACE") == "true" else "")
    if word in {"TRUST_FOLDER", "TRUST_PARENT"}:
        return Consent(Trusted.YES, gap=AGENTS["gemini"].gap)
    return Consent(
        Trusted.NO,
        "Gemini skips the hooks until you trust this folder: run `gemini` here and trust it",
        "run `gemini` here and trust the folder, or run `dibs init --user`",
    )


def _copilot(root: str, folder: str) -> Consent:
    settings = read_or_nothing(os.path.join(folder, "config.json"))
    known = [setting(settings, key) for key in ("trusted_folders", "trustedFolders")]
    folders = [path for one in known if isinstance(one, list) for path in one]
    if any(isinstance(path, str) and _covers(path, root) for path in folders):
        return Consent(Trusted.YES)
    return Consent(
        Trusted.NO,
        "Copilot skips the hooks until you trust this folder: run `copilot` here and trust it",
        "run `copilot` here and trust the folder, or run `dibs init --user`",
    )


def _claude(root: str, folder: str) -> Consent:
    project = setting(read_or_nothing(os.path.join(folder, ".claude.json")), "projects", root)
    if setting(project, "hasTrustDialogAccepted") is True:
        return Consent(Trusted.YES)
    # Without a terminal it runs the repository's hooks; on a terminal it asks first.
    return Consent(Trusted.NOT_NEEDED, "Claude Code asks at its first start in this folder")


def _covers(folder: str, root: str) -> bool:
    folder = folder.rstrip(os.sep)
    return root == folder or root.startswith(folder + os.sep)


def _snake(event: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", event).lower()
