"""Write a report of what the agents did: one HTML page that works without a server or a network.

The page has the timeline of claims and waits, contention by file, waits and work by agent, and coordination
overhead. --since and --until take a duration before now (1d), a time (2026-01-31T14:00), or all.

Examples:
  dibs report
  dibs report --since 2h -o today.html
  dibs report --json

exit status: 0 written, 6 no dashboard is installed, 65 a file exists that is not a report
"""

from __future__ import annotations

import os
import sys

from dibs.cli.support.parsing import arg
from dibs.errors import BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

DEFAULT_NAME = "report.html"
#: Others may read a report, as any file that someone writes.
_READABLE = 0o644

OPTIONS = (
    arg("--since", default="1d", metavar="WHEN", help="where it begins (default: 1d)"),
    arg("--until", default="", metavar="WHEN", help="where it ends (default: now)"),
    arg(
        "-o",
        "--output",
        metavar="FILE",
        help=f"the page (default: {DEFAULT_NAME}; -: standard output)",
    ),
)


def run(args: Namespace) -> int:
    """Write the page, or print the data."""
    output = args.output
    if output is None and not args.json:
        output = DEFAULT_NAME
    if output == "-" and args.json:
        raise BadInput("--json and -o - both write to standard output", field="output")
    if output and output != "-":
        _check(output)
    found = _timeline(args)
    if output:
        from dibs.dashboard.report import report_page

        _write(output, report_page(found).encode())
    _tell(args, found, "" if output == "-" else output or "")
    return 0


def _timeline(args: Namespace) -> dict[str, Any]:
    """Return the data, from the server that the environment names or from the store here."""
    from dibs.client.connection import SERVER

    if os.environ.get(SERVER):
        from dibs.client.client import Client

        with Client() as client:
            query = {"since": args.since, "until": args.until}
            return dict(client.call("GET", "/timeline", query=query))
    from dibs.cli.support.session import Session, dated
    from dibs.shapes.history import timeline

    with Session(args) as session:
        place = session.project.place.repository
        found = session.project.history.timeline(args.since, args.until)
        shape = timeline(found, os.path.basename(place.root))
        return dict(dated(shape, session.project.engine.as_of))


def _check(path: str) -> None:
    """Refuse a place that is not ours to replace, before any work."""
    from dibs.core.text.names import printable
    from dibs.dashboard.report import FIRST_LINE

    shown = printable(path)
    folder = os.path.dirname(os.path.abspath(path))
    if os.path.isdir(path):
        why, hint = f"{shown} is a folder", f"name a file in it: {shown.rstrip('/')}/{DEFAULT_NAME}"
    elif not os.path.isdir(folder):
        why, hint = f"there is no folder {printable(folder)}", "create it first"
    elif not _is_ours(path, FIRST_LINE.encode()):
        why, hint = f"{shown} exists and is not a report", "choose another name, or remove it first"
    else:
        return
    raise BadInput(why, code="REPORT_FILE", field="output", hint=hint)


def _is_ours(path: str, first: bytes) -> bool:
    """Return whether a file may be replaced: none, an empty one, a device, or one that begins as ours do."""
    if not os.path.isfile(path):
        return True
    with open(path, "rb") as file:
        begin = file.read(len(first))
    return begin in {b"", first}


def _write(path: str, content: bytes) -> None:
    if path == "-":
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    elif os.path.exists(path) and not os.path.isfile(path):
        with open(path, "wb") as device:
            device.write(content)
    else:
        from dibs.local.files import write_file

        write_file(os.path.realpath(path), content, mode=_READABLE)


def _tell(args: Namespace, found: dict[str, Any], written: str) -> None:
    from dibs.cli.support.session import print_json

    if args.json:
        print_json({**found, "written": [written]} if written else found)
        return
    if not written:
        return
    from dibs.cli.support.text import printable

    print(f"wrote {printable(written)}")
    if not found["entries"]:
        print("the ledger is empty: nothing has happened yet")
        return
    counts = [(found["totals"][key], word) for key, word in _COUNTED]
    print(", ".join(f"{number} {word if number != 1 else word[:-1]}" for number, word in counts))


_COUNTED = (("agents", "agents"), ("claims", "claims"), ("waits", "waits"), ("commits", "commits"))
