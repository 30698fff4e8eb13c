"""The model server: one for each running agent, with that agent's script.

It is stateless: the response is step *i* when the conversation contains *i* tool results, so a retry gets the
same response. Requests are recorded, because they are everything that a model sees.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from tests.e2e.model import anthropic, chat, gemini, responses
from tests.e2e.model.script import Late, Say

if TYPE_CHECKING:
    from types import ModuleType, TracebackType

    from tests.e2e.model.script import Script

#: The end of a URL, and the API behind it.
WIRES = {
    "/messages": anthropic,
    "/responses": responses,
    "/chat/completions": chat,
    ":streamGenerateContent": gemini,
    ":generateContent": gemini,
}


@dataclass
class Asked:
    """One request to the model."""

    path: str
    body: dict[str, Any]
    wire: ModuleType

    @property
    def has_tools(self) -> bool:
        """Whether this is the agent's work; a request without tools asks for a title or a summary."""
        given = self.body.get("input")
        items = given if isinstance(given, list) else []
        return bool(self.body.get("tools")) or any(
            item.get("type") == "additional_tools" for item in items
        )

    @property
    def opening(self) -> str:
        """The first message of the conversation."""
        return self.wire.opening(self.body)

    @property
    def results(self) -> list[str]:
        """The tool results so far, as the model sees them."""
        return self.wire.results(self.body)

    @property
    def text(self) -> str:
        """Everything that the model sees."""
        return json.dumps(self.body, ensure_ascii=False)

    @property
    def texts(self) -> list[str]:
        """Each text that the model sees."""
        return texts(self.body)


class Model:
    """A scripted model on its own port."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.asked: list[Asked] = []
        self.unknown: list[str] = []
        self.late: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Model:
        """Serve until the end of the block."""
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()

    @property
    def work(self) -> list[Asked]:
        """The requests that are the agent's work, in order."""
        return [asked for asked in self.asked if asked.has_tools]

    def results(self, word: str = "") -> list[str]:
        """Return the tool results of the agent, or of the subagent whose task contains ``word``."""
        seen: list[str] = []
        for asked in self.work:
            if self.script.of(asked.opening) == word and len(asked.results) >= len(seen):
                seen = asked.results
        return seen

    def result(self, label: str, word: str = "") -> str:
        """Return the result of the step ``label`` as the model saw it; empty if there is none."""
        results, number = self.results(word), self.script.number(label, word)
        return results[number] if number < len(results) else ""

    def learned(self, label: str) -> list[str]:
        """Return each text that the model saw after the step ``label`` but not before."""
        number = self.script.number(label)
        before, after = (
            next((texts(a.body) for a in self.work if len(a.results) == n), [])
            for n in (number, number + 1)
        )
        return [text for text in after if text not in before]

    def answer(self, asked: Asked) -> tuple[str, bytes]:
        """Return the content type and the content of the response to ``asked``."""
        self.asked.append(asked)
        step: Any = Say("ok")
        if asked.has_tools:
            step = self.script.next(asked)
            try:
                step.come_to()
            except Late as late:
                self.late.append(str(late))
                step = Say("late")
        streams = bool(asked.body.get("stream")) or "streamGenerate" in asked.path
        return asked.wire.say(step, len(asked.results), streams=streams)


def texts(value: Any) -> list[str]:
    """Return every string in ``value``, at any depth."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for each in inner for text in texts(each)]


def _handler(model: Model) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: Any) -> None:
            """Log nothing."""

        def do_GET(self) -> None:
            self._unknown()

        def do_HEAD(self) -> None:
            self._send("text/plain", b"", 200)

        def do_POST(self) -> None:
            given = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            path = self.path.partition("?")[0]
            wire = next((WIRES[end] for end in WIRES if path.endswith(end)), None)
            if wire is None:
                self._unknown()
                return
            self._send(*model.answer(Asked(self.path, json.loads(given), wire)), 200)

        def _unknown(self) -> None:
            model.unknown.append(f"{self.command} {self.path}")
            self._send("application/json", b"{}", 404)

        def _send(self, kind: str, content: bytes, status: int) -> None:
            try:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(content)
            except OSError:  # the client has disconnected
                self.close_connection = True

    return Handler
