"""The page of ``dibs report``: one HTML file that needs no server and loads nothing.

The content security policy allows exactly the script and the style in the page, by their digests. Everything
that agents wrote is inside a block of JSON, in which no character can end the block.
"""

from __future__ import annotations

import json
import re
from html import escape

from dibs.dashboard import path_of
from dibs.errors import NotFound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: How the page begins; ``dibs report`` replaces no other file.
FIRST_LINE = "<!doctype html><!-- dibs report -->"
_POLICY = (
    "default-src 'none'; script-src {script}; style-src {style}; img-src data:; base-uri 'none';"
    " form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
_PAGE = """{first}
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<div id="report"><noscript>This report needs JavaScript. For a list: dibs log</noscript></div>
<script type="application/json" id="data">{data}</script>
<script>{script}</script>
</body>
</html>
"""
#: What would end a script, or begin a comment in one; in the built script these are in texts only.
_ENDS_SCRIPT = re.compile(r"<(?=/script|script|!--)", re.IGNORECASE)
_ENDS_STYLE = re.compile(r"</(?=style)", re.IGNORECASE)


def report_page(timeline: dict[str, Any]) -> str:
    """Return the page that shows a timeline, as ``GET /timeline`` returns it."""
    script = _ENDS_SCRIPT.sub(r"\\x3c", _built("report.js"))
    style = _ENDS_STYLE.sub(r"<\\/", _built("report.css"))
    policy = _POLICY.format(script=_digest(script), style=_digest(style))
    return _PAGE.format(
        first=FIRST_LINE, policy=policy, title=escape(f"{timeline['project']}: Dibs report"),
        style=style, data=inert(timeline), script=script,
    )  # fmt: skip


def inert(value: Any) -> str:
    """Return JSON that is only text inside HTML, whatever it contains."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _built(name: str) -> str:
    """Return a file of the built dashboard, with the line ends that a browser sees."""
    path = path_of(name)
    if path is None:
        raise NotFound(
            "this installation has no report page",
            code="NO_DASHBOARD",
            hint="install Dibs again on a machine that can reach npm's registry; --json works anyway",
        )
    with open(path, encoding="utf-8") as file:  # which makes all line ends \n
        return file.read()


def _digest(text: str) -> str:
    """Return what the policy has for an inline script or style."""
    from base64 import b64encode
    from hashlib import sha256

    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
