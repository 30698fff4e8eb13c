"""The handlers that notify people. The pipeline repeats and remembers, so each event is reported once.

Every machine shows its own desktop notifications; a webhook is sent by one of all servers of a project.
"""

from __future__ import annotations

import hashlib
import logging
import time
from typing import TYPE_CHECKING

from dibs.core.alerts.notices import NOTICED, notice_of
from dibs.core.claims.event_names import event_name
from dibs.errors import DibsError
from dibs.local.processes import realm
from dibs.server.notify import desktop, webhook
from dibs.services.pipeline.handlers import Handler

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.config.load import Config
    from dibs.core.claims.ledger import Entry

_log = logging.getLogger("dibs.server")

#: The names of the handlers.
WEBHOOK, DESKTOP = "webhook", "desktop"
#: How often a webhook is repeated; the pauses are 1 s, 2 s, and so on up to 5 min, in total about 25 min.
RETRIES = 12
#: A notification on the desktop that is older than this many seconds is not shown anymore.
STALE = 3_600.0


def handlers(config: Config, project: str, folder: str, not_allowed: str) -> list[Handler]:
    """Return the handlers that the settings ask for.

    ``folder`` is the server's; ``not_allowed`` is why the webhook may not be used, or empty.
    """
    found = []
    if config.notify_webhook:
        found.append(_webhook(config, project, folder, not_allowed))
    program = desktop.notifier() if config.notify_desktop else ""
    if program:
        found.append(_desktop(project, program))
    return found


def _webhook(config: Config, project: str, folder: str, not_allowed: str) -> Handler:
    runs = "POST"
    try:
        target = webhook.target_of(config.notify_webhook)
        runs = f"POST {target.shown}"
    except DibsError as error:
        target, not_allowed = None, error.message

    def act(entries: Sequence[Entry]) -> None:
        for entry in entries:
            notice = notice_of(entry)
            if notice is None or target is None:
                continue
            name = event_name(entry.kind)
            body = webhook.body_of(project, name, entry, notice)
            key = webhook.secret(folder)
            webhook.post(target, body, webhook.headers_of(key, entry, name, body, time.time()))

    return Handler(
        WEBHOOK, NOTICED, act, webhook.TIMEOUT, RETRIES, runs=runs, parked=not_allowed
    )  # fmt: skip


def _desktop(project: str, program: str) -> Handler:
    machine = hashlib.sha256(realm().split("/")[0].encode()).hexdigest()[:8]

    def act(entries: Sequence[Entry]) -> None:
        for entry in entries:
            notice = notice_of(entry)
            if notice is None or time.time() - entry.at > STALE:
                continue
            if not desktop.show(program, project, notice):
                _log.info("%s failed; the notification is not repeated", program)

    return Handler(
        f"{DESKTOP}@{machine}", NOTICED, act, desktop.TIMEOUT, retries=0, runs=program
    )  # fmt: skip
