"""Open the dashboard in your browser, signed in.

Examples:
  dibs open                  start the server if it is not running, and open the dashboard
  dibs open --view board     open another view
  dibs open --print          print the link instead, for a browser of your choice

The link signs one browser in, once, within a minute; the browser stays signed in for 12 hours. Over ssh or
without a display, dibs open prints the link. With DIBS_SERVER, the link is for that server.

exit status: 0 done, 6 not a Dibs project, or no dashboard is installed, 69 the server cannot be started or
reached, 77 only a human may do this, 78 the extra `server` is not installed
"""

from __future__ import annotations

import os
import sys

from dibs.cli.support.parsing import arg
from dibs.cli.support.serving import PATIENCE, need_extra, only_humans, port_number, start_server
from dibs.dashboard import HOME, VIEWS
from dibs.errors import NotFound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

    from dibs.client.client import Client

_SIGNS_OF_SSH = ("SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY")
_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")

OPTIONS = (
    arg("--view", choices=(HOME, *VIEWS), metavar="VIEW", help=f"{HOME}, {', '.join(VIEWS)}"),
    arg(
        "--port",
        metavar="N",
        type=port_number,
        help="port of a server that has to be started (default: 7341; 0: any)",
    ),
    arg("--print", action="store_true", help="print the link, and open nothing"),
)


def run(args: Namespace) -> int:
    """Start the server if needed, create a link, and open it."""
    from urllib.parse import urlencode

    from dibs.client.client import Client
    from dibs.client.connection import SERVER

    only_humans(args, "open the dashboard", "dibs open")
    started = False
    if os.environ.get(SERVER):
        with Client() as client:
            project = _project_there(client)
            link = _link(client)
    else:
        root = _root(args)
        socket, started = _running(root, args)
        with Client(f"unix://{socket}", timeout=PATIENCE) as client:
            client.address = client.address._replace(project="")  # whatever the environment names
            project = client.call("POST", "/projects", {"folder": root})["project"]["id"]
            link = _link(client)
    more = {"project": project, "view": args.view if args.view != HOME else None}
    link["url"] += "".join(f"&{urlencode({name: text})}" for name, text in more.items() if text)
    opened = not args.print and _can_open() and _open(link["url"])
    if args.json:
        from dibs.cli.support.session import print_json

        print_json({**link, "project": project, "opened": opened, "started": started})
    elif opened:
        print(f"opened {link['url'].partition('/login?')[0]} in your browser")
    else:
        print(link["url"], flush=True)
        if not args.print:
            print("dibs: open this link in a browser within a minute", file=sys.stderr)
    return 0


def _root(args: Namespace) -> str:
    """Return the root of the project here."""
    from dibs.cli.support.session import warn_of_unknown
    from dibs.core.text.names import printable
    from dibs.project.location import locate

    place = locate(args.repo)
    warn_of_unknown(place.loaded)
    if not place.is_project:
        raise NotFound(
            f"{printable(place.repository.root)} is not a Dibs project",
            code="NO_PROJECT",
            hint="run: dibs init",
        )
    return place.repository.root


def _running(root: str, args: Namespace) -> tuple[str, bool]:
    """Return the running server's socket, and whether it had to be started."""
    from dibs.cli.support.progress import Progress
    from dibs.dashboard import is_built
    from dibs.local.server_files import running_server, server_folder

    info = running_server(server_folder())
    if info is not None:
        return info.socket, False
    need_extra("open")
    if not is_built():
        raise _no_dashboard("this installation")
    given = {"repo": root} | ({} if args.port is None else {"port": args.port})
    with Progress(quiet=args.json) as progress:
        progress("starting the server")
        return start_server(**given).socket, True


def _link(client: Client) -> dict[str, Any]:
    """Return a link that works from here, if the server has a dashboard."""
    from urllib.parse import urlsplit

    name = "the running server" if client.address.scheme == "unix" else client.address.url
    page = client.address.connect(PATIENCE)
    try:
        page.request("GET", "/icon.svg")
        if page.getresponse().status != 200:  # noqa: PLR2004
            raise _no_dashboard(name)
    finally:
        page.close()
    link = client.call("POST", "/login", {})
    if client.address.scheme != "unix":
        # The server may be behind a tunnel or a proxy: its own address means nothing here.
        parts = urlsplit(link["url"])
        link["url"] = f"{client.address.url}{parts.path}?{parts.query}"
    return dict(link)


def _project_there(client: Client) -> str:
    """Return the id of the project that the environment names, or of the only one; empty if unknown."""
    found = client.call("GET", "/projects")["projects"]
    wanted = client.address.project
    ids = [
        one["id"] for one in found if not wanted or wanted in {one["id"], one["name"], one["root"]}
    ]
    return str(ids[0]) if len(ids) == 1 else ""


def _can_open() -> bool:
    """Return whether a browser that opens here is in front of the user."""
    if os.environ.get("BROWSER"):
        return True
    if any(os.environ.get(name) for name in _SIGNS_OF_SSH):
        return False
    return sys.platform in {"darwin", "win32"} or any(map(os.environ.get, _DISPLAYS))


def _open(url: str) -> bool:
    import webbrowser

    try:
        return webbrowser.open(url)
    except (webbrowser.Error, OSError):
        return False


def _no_dashboard(where: str) -> NotFound:
    return NotFound(
        f"{where} has no dashboard",
        code="NO_DASHBOARD",
        hint="install Dibs again on a machine that can reach npm's registry",
    )
