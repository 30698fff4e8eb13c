"""The operations of a server as methods, by noun: ``calls.claims.create(patterns=["src/"])``.

``operations.json`` lists them, and ``calls.pyi`` has their types; scripts/client.py generates both from the
server's table of routes.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Callable

    Send = Callable[[str, str, dict[str, Any]], Any]
    Operation = tuple[str, str, list[str]]

_IN_PATH = re.compile(r"\{(\w+)(?::\w+)?\}")


class ServerCalls:
    """All operations, by noun."""

    def __init__(self, send: Send) -> None:
        self._send = send

    def __getattr__(self, noun: str) -> NounCalls:
        found = {
            name.partition(".")[2].replace(".", "_").replace("-", "_"): row
            for name, row in operations().items()
            if name.partition(".")[0] == noun
        }
        if not found:
            raise AttributeError(noun)
        return NounCalls(self._send, noun, found)


class NounCalls:
    """The operations of one noun."""

    def __init__(self, send: Send, noun: str, found: dict[str, Operation]) -> None:
        self._send, self._noun, self._found = send, noun, found

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        row = self._found.get(verb.rstrip("_"))
        if row is None:
            raise AttributeError(f"{self._noun}.{verb}")
        method, path, names = row

        def call(*words: str, **given: Any) -> Any:
            in_path = _IN_PATH.findall(path)
            places = dict(zip(in_path, words, strict=False))
            places |= {name: given.pop(name) for name in in_path[len(words) :] if name in given}
            sent = {key.rstrip("_"): value for key, value in given.items() if value is not None}
            if len(words) > len(in_path) or len(places) < len(in_path) or sent.keys() - {*names}:
                expected = ", ".join([*in_path, *names]) or "nothing"
                raise TypeError(f"{self._noun}.{verb} takes {expected}")
            target = _IN_PATH.sub(lambda match: quote(places[match[1]], safe=""), path)
            return self._send(method, target, sent)

        return call


@cache
def operations() -> dict[str, Operation]:
    """Return the table of operations."""
    text = Path(__file__).with_name("operations.json").read_text("utf-8")
    found: dict[str, Operation] = json.loads(text)
    return found
