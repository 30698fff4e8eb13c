"""Run a server in the background, or one that starts again; short because `main` does the work."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dibs.errors import DibsError
from dibs.server.process.options import options_from

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.local.server_files import ServerInfo

#: The exit status if the server cannot be started.
FAILED = 74
#: How the log says why.
CANNOT_START = "cannot start: "


def main(words: Sequence[str]) -> int:
    """Serve with the options in the first word; hooks give none."""
    os.umask(0o077)
    options = options_from(words[0] if words else "")
    if not options.attached:
        os.chdir("/")
    from dibs.server.process.logs import open_log
    from dibs.server.process.main import ServerProcess, log

    os.makedirs(options.folder, mode=0o700, exist_ok=True)
    open_log(options)

    def ready(info: ServerInfo) -> None:
        log.info("serving at %s", info.url)

    try:
        ServerProcess(options, ready).run()
    except DibsError as error:
        why = f"{error.message} ({error.hint})" if error.hint else error.message
        log.error("%s%s", CANNOT_START, why)
        return FAILED
    except OSError as error:
        log.error("%s%s", CANNOT_START, error)
        return FAILED
    return 0
