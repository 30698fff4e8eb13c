"""A third-party MCP server on standard input: it writes and reads files, and knows nothing of Dibs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def _tool(name: str, about: str, *fields: str) -> dict[str, Any]:
    given = {field: {"type": "string"} for field in fields}
    schema = {"type": "object", "properties": given, "required": list(fields)}
    return {"name": name, "description": about, "inputSchema": schema}


TOOLS = [
    _tool("save_note", "Write a text to a file.", "path", "text"),
    _tool("read_note", "Return the text of a file.", "path"),
    _tool("tidy", "Clean up."),
]


def answer(method: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a request."""
    if method == "initialize":
        about = {"name": "notes", "version": "1"}
        capabilities: dict[str, Any] = {"tools": {}}
        version = given.get("protocolVersion", "2025-06-18")
        return {"protocolVersion": version, "capabilities": capabilities, "serverInfo": about}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        said = run(given["name"], given.get("arguments") or {})
        return {"content": [{"type": "text", "text": said}]}
    return {}


def run(tool: str, given: dict[str, str]) -> str:
    """Run a tool. ``tidy`` writes the file that the server was started with: its call names none."""
    if tool == "read_note":
        return Path(given["path"]).read_text()
    place, text = (sys.argv[1], "tidied\n") if tool == "tidy" else (given["path"], given["text"])
    Path(place).write_text(text)
    return "saved"


def main() -> None:
    """Answer requests until the input ends."""
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" in asked:
            result = answer(asked["method"], asked.get("params") or {})
            sys.stdout.write(
                json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}) + "\n"
            )
            sys.stdout.flush()


if __name__ == "__main__":
    main()
