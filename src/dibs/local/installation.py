"""How Dibs was installed on this machine, and the command that adds an optional part to it."""

from __future__ import annotations

import os
import sys

from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

_NAME = "dibs"
_UV_RECEIPT, _PIPX_RECEIPT = "uv-receipt.toml", "pipx_metadata.json"


class Installation(Record):
    """What the package metadata says about this installation."""

    #: The environment's folder, and its Python.
    prefix: str
    python: str
    #: The content of ``direct_url.json``: where the package came from, unless from an index.
    origin: dict[str, Any]
    #: The tool that installed it, such as ``pip`` or ``uv``.
    installer: str
    #: Whether the environment is the active one, so that its tools come first on the PATH.
    active: bool


def install_command(extra: str, found: Installation | None = None) -> str:
    """Return the shell command that adds an extra, such as ``mcp``, to this installation."""
    here = this_installation() if found is None else found
    if os.path.exists(os.path.join(here.prefix, _UV_RECEIPT)):
        return _uv_tool(extra, here)
    if os.path.exists(os.path.join(here.prefix, _PIPX_RECEIPT)):
        return _pipx(extra, here)
    words = _required([extra], here.origin)
    if here.installer == "uv":
        where = [] if here.active else ["--python", here.python]
        return _line("uv", "pip", "install", *where, *words)
    pip = ["pip"] if here.active else [here.python, "-m", "pip"]
    return _line(*pip, "install", *words)


def this_installation(environ: Mapping[str, str] | None = None) -> Installation:
    """Return the installation that this process runs from."""
    import json
    from importlib.metadata import PackageNotFoundError, distribution

    variables = os.environ if environ is None else environ
    active = variables.get("VIRTUAL_ENV", "") == sys.prefix
    try:
        package = distribution(_NAME)
    except PackageNotFoundError:  # run from a source tree
        return Installation(sys.prefix, sys.executable, {}, "pip", active)
    try:
        origin = json.loads(package.read_text("direct_url.json") or "{}")
    except ValueError:
        origin = {}
    installer = (package.read_text("INSTALLER") or "pip").strip()
    return Installation(sys.prefix, sys.executable, origin, installer, active)


def _required(extras: Sequence[str], origin: Mapping[str, Any]) -> list[str]:
    """Return the words that name Dibs with some extras, from the place that it came from."""
    parts = f"[{','.join(extras)}]"
    url = origin.get("url", "")
    if "vcs_info" in origin:
        info = origin["vcs_info"]
        revision = f"@{info['requested_revision']}" if info.get("requested_revision") else ""
        return [f"{_NAME}{parts} @ {info.get('vcs', 'git')}+{url}{revision}"]
    if "dir_info" in origin and url.startswith("file://"):
        from urllib.parse import unquote

        folder = unquote(url.removeprefix("file://"))
        return [*(["-e"] if origin["dir_info"].get("editable") else []), f"{folder}{parts}"]
    return [f"{_NAME}{parts} @ {url}"] if url else [f"{_NAME}{parts}"]


def _uv_tool(extra: str, here: Installation) -> str:
    """Return how uv installs the tool again, with the extras and packages that it has already."""
    import tomllib

    try:
        with open(os.path.join(here.prefix, _UV_RECEIPT), "rb") as file:
            rows = [dict(row) for row in tomllib.load(file)["tool"]["requirements"]]
    except (OSError, ValueError, KeyError, TypeError):
        rows = []
    own = next((row for row in rows if row.get("name") == _NAME), {})
    extras = dict.fromkeys([*own.get("extras", ()), extra])
    beside = [row["name"] for row in rows if row.get("name") not in {_NAME, None}]
    more = [word for name in beside for word in ("--with", name)]
    return _line("uv", "tool", "install", *_required(list(extras), here.origin), *more)


def _pipx(extra: str, here: Installation) -> str:
    """Return how pipx installs the tool again, with the extras that it has already."""
    import json

    try:
        with open(os.path.join(here.prefix, _PIPX_RECEIPT), encoding="utf-8") as file:
            asked = str(json.load(file)["main_package"]["package_or_url"])
    except (OSError, ValueError, KeyError, TypeError):
        asked = ""
    before = asked.partition("[")[2].partition("]")[0].split(",")
    extras = dict.fromkeys([*filter(None, map(str.strip, before)), extra])
    *options, what = _required(list(extras), here.origin)
    editable = ["--editable"] if options else []
    return _line("pipx", "install", "--force", *editable, what)


def _line(*words: str) -> str:
    from shlex import join

    return join(words)
