"""Desktop notifications, with the program that the system has for them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dibs.core.alerts.notices import Notice

#: How long the program may take, in seconds.
TIMEOUT = 5.0
_URGENCY = {"info": "low", "warning": "normal", "critical": "critical"}
#: The texts are arguments of the script, never part of it.
_SCRIPT = (
    "on run argv",
    "display notification (item 2 of argv) with title (item 1 of argv)",
    "end run",
)


def notifier(environ: Mapping[str, str] | None = None, platform: str = sys.platform) -> str:
    """Return the program that shows notifications; empty if there is none, or no desktop."""
    known = os.environ if environ is None else environ
    if platform == "darwin":
        return shutil.which("osascript", path=known.get("PATH")) or ""
    if not (known.get("DISPLAY") or known.get("WAYLAND_DISPLAY")):
        return ""
    return shutil.which("notify-send", path=known.get("PATH")) or ""


def show(program: str, project: str, notice: Notice) -> bool:
    """Show a notification; return whether the program succeeded."""
    title = f"Dibs: {project}: {notice.title}"
    text = notice.text + (f"\n{notice.command}" if notice.command else "")
    if os.path.basename(program) == "osascript":
        lines = [word for line in _SCRIPT for word in ("-e", line)]
        words = [program, *lines, title, text]
    else:
        urgency = _URGENCY.get(notice.severity, "normal")
        words = [
            program, f"--urgency={urgency}", "--app-name=Dibs", "--", title, _escaped(text),
        ]  # fmt: skip
    try:
        done = subprocess.run(  # noqa: S603 - no shell, and texts are arguments
            words, check=False, timeout=TIMEOUT, stdin=subprocess.DEVNULL, capture_output=True
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0


def _escaped(text: str) -> str:
    """Return a text without markup, which servers of notifications may interpret."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
