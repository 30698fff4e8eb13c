"""The dashboard: static pages and assets, which contain no data and need no token."""

from __future__ import annotations

import mimetypes
from typing import TYPE_CHECKING

from anyio import to_thread
from starlette.responses import Response

from dibs import dashboard
from dibs.errors import NotFound
from dibs.server.security.checks import accepts_pages
from dibs.server.security.refusals import HEADERS, answer

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from dibs.errors import DibsError

#: The paths of the views. Each returns the same page, whose script shows the view.
VIEWS = tuple(f"/{name}" for name in dashboard.VIEWS)
ASSETS = "/assets/"
ICON = "/icon.svg"
#: Pages may load scripts, styles, and data from this server, and nothing from anywhere else. A script cannot
#: turn text into HTML.
POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    b" connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none';"
    b" require-trusted-types-for 'script'; trusted-types 'none'"
)


def is_page(scope: Scope) -> bool:
    """Return whether a request is for a page or an asset of the dashboard."""
    path = scope["path"]
    if scope["type"] != "http" or scope["method"] not in {"GET", "HEAD"}:
        return False
    if path == "/":
        return accepts_pages(scope)
    return path in VIEWS or path == ICON or path.startswith(ASSETS)


async def send_page(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request for a page or an asset (ASGI)."""
    path = scope["path"]
    is_asset = path == ICON or path.startswith(ASSETS)
    found = dashboard.path_of(path.lstrip("/") if is_asset else "index.html")
    if found is None:
        await answer(_missing(), scope, send)
        return
    scope[HEADERS] = {
        b"content-security-policy": POLICY,
        # The name of an asset contains a digest of its content.
        b"cache-control": b"max-age=31536000, immutable"
        if path.startswith(ASSETS)
        else b"no-cache",
    }
    content = await to_thread.run_sync(_read, found)
    await Response(content, media_type=mimetypes.guess_type(found)[0])(scope, receive, send)


def _missing() -> DibsError:
    if dashboard.is_built():
        return NotFound("no such page", code="NO_ROUTE")
    return NotFound(
        "this installation has no dashboard",
        code="NO_DASHBOARD",
        hint="install Dibs again on a machine that can reach npm's registry",
    )


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
