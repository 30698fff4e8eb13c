"""This user's server, for the commands that start it or that only a human may run."""

from __future__ import annotations

import os
import time

from dibs.cli.support.parsing import number
from dibs.core.changes.worktrees import LAST_PORT
from dibs.errors import BadInput, Misconfigured, Unavailable
from dibs.local.files import read_or_empty

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

    from dibs.local.server_files import ServerInfo

#: Seconds that it may take to start or to exit.
PATIENCE = 20.0
_NEEDED = ("httptools", "msgspec", "prometheus_client", "starlette", "uvicorn", "websockets")


def port_number(text: str) -> int:
    """Return the value of an option for a port; 0 means any."""
    port = 0 if text == "0" else number(text)
    if port > LAST_PORT:
        raise BadInput(f"a port is a number from 0 to {LAST_PORT}, not {port}", code="NUMBER")
    return port


def start_server(**given: Any) -> ServerInfo:
    """Start the server in the background, or find the one that is running.

    Raises:
        Unavailable: it cannot be started; the message says why.
    """
    from dibs.local.server_files import running_server, server_folder
    from dibs.server.process.listeners import socket_path
    from dibs.server.process.options import (
        ServeOptions,
        check_options,
        own_package,
        start_process,
    )

    options = check_options(ServeOptions(server_folder(), **given))
    socket_path(options.folder)  # refuses a folder that others can access
    process = start_process(own_package(), options)
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        ended = process.poll()
        info = running_server(server_folder())
        if info is not None and (ended == 0 or info.pid == process.pid):
            process.returncode = 0  # it outlives this command
            return info
        if ended:
            break
        time.sleep(0.02)
    raise Unavailable(f"cannot start the server{_reason(options.folder)}")


def _reason(folder: str) -> str:
    """Return the last error in the log."""
    from dibs.server.process.background import CANNOT_START

    path = os.path.join(folder, "server.log")
    lines = read_or_empty(path).decode("utf-8", "replace").split("\n")
    found = [line.partition(CANNOT_START)[2] for line in lines if CANNOT_START in line]
    return f": {found[-1].strip()}" if found else f"; see {path}"


def need_extra(command: str) -> None:
    """Fail with one line if the packages that the server needs are missing."""
    from importlib.util import find_spec

    if any(find_spec(name) is None for name in _NEEDED):
        raise Misconfigured(
            f"dibs {command} needs the extra `server`, which is not installed",
            code="EXTRA_MISSING",
            hint="install dibs[server]",
        )


def only_humans(args: Namespace, what: str, command: str) -> None:
    """Refuse an agent, also one that removed its name from its environment."""
    from argparse import Namespace as Arguments

    from dibs.cli.support.session import require_human

    # `dibs token new --agent` names whom the token is for, not who acts.
    own = Arguments(**{**vars(args), "agent": None})
    hint = f"ask a human to run `{command}`"
    require_human(own, f"only a human may {what}", hint=hint, everywhere=True)
