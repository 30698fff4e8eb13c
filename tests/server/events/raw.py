"""WebSocket clients that send and read whatever bytes a test wants."""

from __future__ import annotations

import base64
import json
import os
import socket
import struct
from typing import Any


class RawSocket:
    """A connection over the Unix socket; used as a context manager."""

    def __init__(self, path: str, query: str = "", *, lazy: bool = False) -> None:
        self.link = socket.socket(socket.AF_UNIX)
        self.link.settimeout(10)
        if lazy:
            self.link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.link.connect(path)
        key = base64.b64encode(os.urandom(16)).decode()
        self.link.sendall(
            f"GET /ws{query} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n"
            "Sec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += self.link.recv(1)
        assert b" 101 " in head, self.link.recv(500)
        self._data = b""

    def __enter__(self) -> RawSocket:
        return self

    def __exit__(self, *_: object) -> None:
        self.link.close()

    def frame(self) -> tuple[int, bytes]:
        """Return the first byte and the content of the next frame."""
        head = self._take(2)
        size = head[1] & 127
        if size >= 126:
            size = int.from_bytes(self._take(2 if size == 126 else 8))
        return head[0], self._take(size)

    def close_code(self) -> int:
        """Return the code of the close frame."""
        while True:
            head, content = self.frame()
            if head == 0x88:
                return int.from_bytes(content[:2])

    def until(self, seq: int) -> list[dict[str, Any]]:
        """Return all messages up to the event or snapshot with a number."""
        found: list[dict[str, Any]] = [{}]
        while found[-1].get("seq") != seq or found[-1]["type"] == "resync":
            found.append(json.loads(self.frame()[1]))
        return found[1:]

    def _take(self, size: int) -> bytes:
        while len(self._data) < size:
            part = self.link.recv(1 << 16)
            assert part, "the connection ended"
            self._data += part
        taken, self._data = self._data[:size], self._data[size:]
        return taken


def framed(head: int, payload: bytes, *, size: int | None = None, mask: bool = True) -> bytes:
    """Return a frame with any first byte and announced size."""
    length = len(payload) if size is None else size
    bit = 0x80 if mask else 0
    if length < 126:
        start = struct.pack("!BB", head, bit | length)
    elif length < 65536:
        start = struct.pack("!BBH", head, bit | 126, length)
    else:
        start = struct.pack("!BBQ", head, bit | 127, length)
    return start + (b"\0\0\0\0" if mask else b"") + payload
