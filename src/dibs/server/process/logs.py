"""The server's log: one file that is rotated, without tokens or control characters."""

from __future__ import annotations

import logging
import logging.handlers
import os
import re
import threading
from typing import TYPE_CHECKING

from dibs.core.text.names import printable
from dibs.local.server_files import LOG

if TYPE_CHECKING:
    from dibs.server.process.options import ServeOptions

#: The largest file, in bytes, and how many older ones are kept.
LARGEST, KEPT = 1_000_000, 3
#: Values that must not be in a log: after these words, or with the prefix of a token.
_SECRET = re.compile(
    r"(?i)(\b(?:bearer|token|password|cookie|key|code)\b[\"']?\s*[=:]?\s*[\"']?)[^\s\"',&]{8,}|dibs_[\w-]{8,}"
)


class SafeFormatter(logging.Formatter):
    """Formats records without secrets; each line contains only printable characters."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as text."""
        lines = super().format(record).splitlines()
        return "\n".join(printable(_SECRET.sub(r"\1[hidden]", line)) for line in lines)


def open_log(options: ServeOptions) -> None:
    """Write what happens to the server's log; in the foreground, also show warnings."""
    os.close(os.open(os.path.join(options.folder, LOG), os.O_CREAT | os.O_WRONLY, 0o600))
    file = logging.handlers.RotatingFileHandler(
        os.path.join(options.folder, LOG), maxBytes=LARGEST, backupCount=KEPT, encoding="utf-8"
    )
    file.setLevel(logging.INFO)
    handlers: list[logging.Handler] = [file]
    if options.attached:
        shown = logging.StreamHandler()
        shown.setLevel(logging.WARNING)
        handlers.append(shown)
    for handler in handlers:
        handler.setFormatter(SafeFormatter("%(asctime)s %(process)d %(levelname)s %(message)s"))
    root = logging.getLogger()
    root.handlers = handlers
    root.setLevel(logging.WARNING)
    logging.getLogger("dibs").setLevel(logging.INFO)
    logging.getLogger("uvicorn.access").setLevel(logging.CRITICAL)  # it would log untrusted input
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    threading.excepthook = _thread_failed


def _thread_failed(failed: threading.ExceptHookArgs) -> None:
    if failed.exc_type is not SystemExit and failed.exc_value is not None:
        name = failed.thread.name if failed.thread else "a thread"
        logging.getLogger("dibs.server").error("%s failed", name, exc_info=failed.exc_value)
