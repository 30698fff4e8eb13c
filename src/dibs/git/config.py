"""Settings of a repository that name a program, and what switches each of them off.

Whoever can write into a git directory (an archive that was unpacked, an agent) can write such settings there.
The user's own files, global and system, are the user's word. An included file counts as what includes it.
"""

from __future__ import annotations

import os

from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.git.calls import GitCalls

#: Nobody but the owner of the repository's files wrote these.
_ITS_OWN = frozenset(("local", "worktree"))
_OF_ONE = frozenset(("core.worktree", "extensions.worktreeconfig"))
_BOOLEANS = frozenset(("", "true", "false", "yes", "no", "on", "off", "0", "1"))

#: Git takes the first value of these, so that none on top counts: whoever meets one must not use the network.
_FIRST_COUNTS = ""
#: Each setting that names a program, and a value with which none runs. Where nothing means "none", the value
#: is a program that fails: a call that needs it fails loudly, it does not go on with another result.
_SWITCHES = {
    "alias.*": "",
    "alias.*.command": "",
    "browser.*.cmd": "false",
    "browser.*.path": "false",
    "core.alternaterefscommand": "true",
    "core.askpass": "",
    "core.editor": ":",
    "core.fsmonitor": "false",
    "core.gitproxy": "",
    "core.hookspath": "/dev/null",
    "core.pager": "cat",
    "core.sshcommand": "false",
    "credential.*.helper": "",
    "credential.helper": "",
    "diff.*.command": "false",
    "diff.*.textconv": "cat",
    "diff.external": "false",
    "difftool.*.cmd": "false",
    "difftool.*.path": "false",
    "filter.*.clean": "",
    "filter.*.process": "",
    "filter.*.smudge": "",
    "gpg.*.program": "false",
    "gpg.program": "false",
    "gpg.ssh.defaultkeycommand": "false",
    "guitool.*.cmd": "false",
    "hook.*.command": "false",
    "imap.tunnel": "false",
    "init.templatedir": "",
    "instaweb.browser": "false",
    "instaweb.httpd": "false",
    "interactive.difffilter": "cat",
    "lfs.*.clean": "false",
    "lfs.*.path": "false",
    "lfs.*.smudge": "false",
    "man.*.cmd": "false",
    "man.*.path": "false",
    "merge.*.driver": "false",
    "mergetool.*.cmd": "false",
    "mergetool.*.path": "false",
    "pager.*": "false",
    "remote.*.receivepack": _FIRST_COUNTS,
    "remote.*.uploadpack": _FIRST_COUNTS,
    "remote.*.vcs": _FIRST_COUNTS,
    "sendemail.*.cccmd": "false",
    "sendemail.*.headercmd": "false",
    "sendemail.*.sendmailcmd": "false",
    "sendemail.*.tocmd": "false",
    "sendemail.cccmd": "false",
    "sendemail.headercmd": "false",
    "sendemail.sendmailcmd": "false",
    "sendemail.tocmd": "false",
    "sequence.editor": ":",
    "submodule.*.update": "none",
    "tar.*.command": "false",
    "trailer.*.cmd": "true",
    "trailer.*.command": "true",
    "uploadpack.packobjectshook": "",
    "web.browser": "false",
}
#: Sections in which any name is a program of that name.
_FREE = frozenset(("alias", "pager"))


class Executing(Record):
    """A setting that names a program: as git spells it, and the file that it stands in."""

    key: str
    value: str
    scope: str
    origin: str


class ConfigReading(Record):
    """What matters of a repository's configuration."""

    executing: tuple[Executing, ...] = ()
    #: Hooks that are settings (git 2.54 and newer), of the user's own files too.
    hooks: tuple[str, ...] = ()
    #: Objects may be missing here until git fetches them.
    partial: bool = False
    #: Where the repository says that its files are; empty for the usual place.
    worktree: str = ""
    #: The driver for files that name none.
    merge_default: str = ""
    #: All worktrees have this configuration: nothing in it is of one of them.
    common: bool = True
    #: In another git directory, or on another branch, more files may be included.
    conditional: bool = False
    #: The folder of hooks that is set, whoever did so; empty for the usual one.
    hooks_path: str = ""
    #: Whether commits are to be signed, as it is written.
    signs: str = ""


def executing(git: GitCalls) -> tuple[Executing, ...]:
    """Return the settings of the repository's own configuration that name a program; one process."""
    return read(git).executing


def read(git: GitCalls) -> ConfigReading:
    """Read the configuration as git sees it, with files that are included; one process."""
    said = git.run("config", "--list", "-z", "--show-scope", "--show-origin")
    if said.code:
        git.fail("config", said)
    pieces = said.out.split(b"\0")
    found, hooks, own, every = [], [], {}, {}
    for scope, origin, entry in zip(pieces[::3], pieces[1::3], pieces[2::3], strict=False):
        key, given, value = os.fsdecode(entry).partition("\n")
        setting = Executing(key, value, scope.decode(), os.fsdecode(origin).removeprefix("file:"))
        section, name, variable = parts(key)
        if section == "hook" and name and setting.scope != "command":
            hooks.append(name)
        if setting.scope != "command":  # what we tell git ourselves
            every[key] = value if given else "true"
        if setting.scope not in _ITS_OWN:
            continue
        own[key] = value
        if _switch(section, name, variable, value) is not None:
            found.append(setting)
    conditional = any(key.startswith("includeif.") for key in own)
    return ConfigReading(
        tuple(found),
        tuple(dict.fromkeys(hooks)),
        any(_is_promise(key, value) for key, value in own.items()),
        own.get("core.worktree", ""),
        own.get("merge.default", ""),
        not (conditional or _OF_ONE.intersection(own)),
        conditional,
        every.get("core.hookspath", ""),
        every.get("commit.gpgsign", ""),
    )


def parts(key: str) -> tuple[str, str, str]:
    """Split a key into its section, the name between (any text, may be empty) and its variable."""
    section, _, rest = key.partition(".")
    name, _, variable = rest.rpartition(".")
    return section, name, variable


def neutral(found: Iterable[Executing]) -> tuple[tuple[str, str], ...]:
    """Return settings under which none of the programs runs."""
    settings: list[tuple[str, str]] = []
    for setting in found:
        section, name, variable = parts(setting.key)
        value = _switch(section, name, variable, setting.value)
        if value is not None and section != "remote":
            settings.append((setting.key, value))
        if section == "filter":  # without its program a filter that is required is an error
            settings.append((f"filter.{name}.required", "false"))
        if section == "hook":
            settings.append((f"hook.{name}.enabled", "false"))
    return tuple(dict.fromkeys(settings))


def without_hooks(reading: ConfigReading) -> tuple[tuple[str, str], ...]:
    """Return settings under which no hook runs that is a setting, whoever wrote it."""
    return tuple((f"hook.{name}.enabled", "false") for name in reading.hooks)


def _switch(section: str, name: str, variable: str, value: str) -> str | None:
    """Return the value that keeps a setting from running something; None where it runs nothing."""
    if section in _FREE and not name:
        variable = "*"
    if variable in {"*", "fsmonitor"} and value.lower() in _BOOLEANS:
        return None  # pager.log=false, core.fsmonitor=true: git's own
    if section in {"alias", "submodule"} and not value.startswith("!"):
        return None  # another command of git
    if section == "lfs" and not name.startswith(("extension.", "customtransfer.")):
        return None
    if not value:
        return None
    exact = ".".join(part for part in (section, name, variable) if part)
    return _SWITCHES.get(exact, _SWITCHES.get(f"{section}.*.{variable}") if name else None)


def _is_promise(key: str, value: str) -> bool:
    section, _, variable = parts(key)
    if key == "extensions.partialclone":
        return True
    return (
        section == "remote" and variable == "promisor" and value.lower() not in {"false", "no", "0"}
    )
