"""The server as a service of the user: a systemd unit on Linux, a launchd agent on macOS."""

from __future__ import annotations

import os
import plistlib
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

from dibs.errors import Misconfigured, NotAllowed
from dibs.local.files import write_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: In the first lines of a file that is ours, which may therefore be replaced and removed.
MARK = "Created by dibs serve; its option uninstall removes this file."
UNIT, LABEL = "dibs.service", "dev.dibs.server"
#: Variables that decide where the server's files are; hooks must have the same.
KEPT = ("XDG_CONFIG_HOME", "XDG_STATE_HOME")
#: Seconds that the service manager may take.
PATIENCE = 30.0


class Service(NamedTuple):
    """A file for a service manager, and the commands that load and unload it."""

    path: str
    content: str
    load: tuple[tuple[str, ...], ...]
    unload: tuple[tuple[str, ...], ...]


def service_for(
    platform: str, words: Sequence[str], environ: Mapping[str, str], uid: int
) -> Service:
    """Return the service that runs ``dibs serve`` with these options; refuse root and other systems."""
    if uid == 0:
        raise NotAllowed(
            "the server is a service of one user, and you are root",
            code="ROOT_SERVICE",
            hint="run this as the user who runs the agents",
        )
    home = environ.get("HOME", "")
    if not os.path.isabs(home):
        raise Misconfigured("HOME is not set", code="NO_SERVICE")
    argv = [sys.executable, "-P", "-m", "dibs", "serve", *words]
    kept = {name: environ[name] for name in KEPT if os.path.isabs(environ.get(name, ""))}
    if platform == "darwin":
        return _launchd(argv, kept, home, uid)
    if platform.startswith("linux"):
        config = kept.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
        return _systemd(argv, kept, config)
    raise Misconfigured(
        f"services are supported with systemd and launchd, not on {platform}",
        code="NO_SERVICE",
        hint="run: dibs serve start",
    )


def is_installed(service: Service) -> bool:
    """Return whether exactly this service is installed."""
    return _current(service) == service.content


def install(service: Service) -> bool:
    """Write and load the service; return whether its file changed."""
    changed = not is_installed(service)
    if changed:
        os.makedirs(os.path.dirname(service.path), exist_ok=True)
        write_file(service.path, service.content, mode=0o644)
    _run(service.load, service.path)
    return changed


def uninstall(service: Service) -> bool:
    """Unload and remove the service; return whether there was one."""
    if not _current(service):
        return False
    _run(service.unload, service.path)
    os.unlink(service.path)
    return True


def _current(service: Service) -> str:
    """Return the content of the file; refuse one that is not ours."""
    try:
        with open(service.path, encoding="utf-8", errors="replace") as file:
            found = file.read()
    except FileNotFoundError:
        return ""
    if MARK not in found:
        raise Misconfigured(
            f"{service.path} is not from dibs serve --install",
            code="NO_SERVICE",
            hint="move it away, then try again",
        )
    return found


def _run(commands: Sequence[Sequence[str]], path: str) -> None:
    for words in commands:
        needed = not words[0].startswith("-")  # as in a unit: a leading dash ignores failures
        argv = [words[0].removeprefix("-"), *words[1:]]
        if shutil.which(argv[0]) is None:
            if not needed:
                continue
            raise Misconfigured(
                f"{path} is written, but {argv[0]} is not installed", code="NO_SERVICE"
            )
        done = subprocess.run(  # noqa: S603 - fixed programs
            argv, capture_output=True, text=True, check=False, timeout=PATIENCE
        )
        if done.returncode and needed:
            why = " ".join(done.stderr.split())[:300] or f"exit status {done.returncode}"
            raise Misconfigured(
                f"{path} is written, but {' '.join(argv)} failed: {why}", code="NO_SERVICE"
            )


def _systemd(argv: Sequence[str], kept: Mapping[str, str], config: str) -> Service:
    lines = [
        f"# {MARK}",
        "[Unit]",
        "Description=Dibs server",
        "",
        "[Service]",
        f"ExecStart={' '.join(map(_quoted, argv)).replace('$', '$$')}",
        *(f"Environment={_quoted(f'{name}={value}')}" for name, value in kept.items()),
        "WorkingDirectory=/",
        "UMask=0077",
        "Restart=on-failure",
        "RestartSec=2",
        "",
        "[Install]",
        "WantedBy=default.target",
        "",
    ]
    control = ("systemctl", "--user")
    return Service(
        os.path.join(config, "systemd", "user", UNIT),
        "\n".join(lines),
        ((*control, "daemon-reload"), (*control, "enable", "--now", UNIT)),
        (
            ("-systemctl", "--user", "disable", "--now", UNIT),
            ("-systemctl", "--user", "daemon-reload"),
        ),
    )


def _quoted(word: str) -> str:
    """Return a word for a systemd unit, where %, quotes, and backslashes are special."""
    if "\n" in word:
        raise Misconfigured("a path contains a line break", code="NO_SERVICE")
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'


def _launchd(argv: Sequence[str], kept: Mapping[str, str], home: str, uid: int) -> Service:
    path = os.path.join(home, "Library", "LaunchAgents", f"{LABEL}.plist")
    content = plistlib.dumps(
        {
            "Label": LABEL,
            "ProgramArguments": list(argv),
            "EnvironmentVariables": dict(kept),
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            "Umask": 0o077,
            "WorkingDirectory": "/",
        }
    ).decode()
    head, mark, rest = content.partition("<plist")
    return Service(
        path,
        f"{head}<!-- {MARK} -->\n{mark}{rest}",
        (
            ("-launchctl", "bootout", f"gui/{uid}/{LABEL}"),
            ("launchctl", "bootstrap", f"gui/{uid}", path),
        ),
        (("-launchctl", "bootout", f"gui/{uid}/{LABEL}"),),
    )
