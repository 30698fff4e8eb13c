"""Watch the project live, and act: agents, claims and their time left, waits, decisions, alerts, and the log.

Keys: a asks for a release, r revokes, m sends a message, c and x confirm and reject a decision,
/ filters, Enter shows details, ? lists all keys, q quits.

Examples:
  dibs top
  DIBS_SERVER=https://build.example:443 dibs top

It needs the extra `top`. Without it, or without a terminal, `dibs status --watch` runs instead; --json prints
what `dibs status --json` prints.

exit status: 0 success
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

OPTIONS = ()


def run(args: Namespace) -> int:
    """Show the live view, or what is possible here."""
    if args.json:
        return _status(args, watch=False)
    if not _has_terminal():
        return _status(args, watch=True)
    try:
        from dibs.cli.top.app import TopApp
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "textual":
            raise
        print(
            "dibs: top needs the extra `top` (install dibs[top]); this is dibs status --watch",
            file=sys.stderr,
        )
        return _status(args, watch=True)
    from dibs.cli.top.source import open_source

    TopApp(open_source(args)).run()
    return 0


def _has_terminal() -> bool:
    """Return whether a full-screen application can run here."""
    dumb = os.environ.get("TERM", "") in {"", "dumb"}
    return sys.stdin.isatty() and sys.stdout.isatty() and not dumb


def _status(args: Namespace, *, watch: bool) -> int:
    """Run ``dibs status``, on the server that DIBS_SERVER names if there is one."""
    args.mine, args.watch, args.interval, args.verbose = False, watch, "1s", False
    if os.environ.get("DIBS_SERVER"):
        from dibs.cli.remote.command import send

        words = ["status", *(["--watch"] if watch else []), *(["--json"] if args.json else [])]
        return send(words, args)
    from dibs.cli.commands import status

    return int(status.run(args))
