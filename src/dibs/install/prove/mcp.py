"""Prove the MCP server: start it as the settings say, ask for a claim that another holds, and be refused."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import tempfile
import time

from dibs.install.prove.run import GuardProof, ProofOutcome, surroundings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import IO, Any

    from dibs.install.inspect.agents import AgentSetup
    from dibs.install.inspect.servers import McpRegistration
    from dibs.services.guard.trial_claims import TrialClaim

#: How long the server may take to start and to answer, in seconds.
_PATIENCE = 20.0
_PROTOCOL = "2025-06-18"
_MOST = 1 << 20
#: How much is read of what a server said beside its answers.
_TOLD = 2000


def prove_servers(seen: Sequence[AgentSetup], root: str, scratch: TrialClaim) -> list[GuardProof]:
    """Try each way in which the server is started, once."""
    found = []
    tried: dict[tuple[str, ...], GuardProof] = {}
    for server in (server for one in seen for server in one.servers):
        file = server.file
        file = os.path.relpath(file, root) if file.startswith(root + os.sep) else file
        if not server.argv:
            said = f"it is reached at {server.url}, which is not asked"
            found.append(GuardProof(server.agent, "mcp claim", ProofOutcome.UNTRIED, said, file))
            continue
        if server.argv not in tried:
            tried[server.argv] = _prove(server, root, scratch)
        found.append(tried[server.argv]._replace(guard=server.agent, file=file))
    return found


def _prove(server: McpRegistration, root: str, scratch: TrialClaim) -> GuardProof:
    environ = surroundings({**dict(server.environ), "DIBS_AGENT": f"{scratch.holder}-mcp"})
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(  # noqa: S603 - the very command that the user's settings name
                server.argv,
                cwd=root,
                env=environ,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )
        except OSError as error:
            said = f"{server.argv[0]} cannot be started: {error.strerror}"
            return GuardProof(server.agent, "mcp claim", ProofOutcome.FAILED, said)
        try:
            outcome, said = _converse(process, scratch)
        finally:
            _end(process)
        why = _last_line(errors) if outcome == ProofOutcome.FAILED else ""
    return GuardProof(server.agent, "mcp claim", outcome, f"{said}: {why}" if why else said)


def _last_line(errors: IO[bytes]) -> str:
    """Return the last thing that a server said beside its answers: mostly why it ended."""
    errors.seek(max(0, errors.seek(0, os.SEEK_END) - _TOLD))
    lines = errors.read().decode("utf-8", "replace").splitlines()
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def _converse(process: subprocess.Popen[bytes], scratch: TrialClaim) -> tuple[str, str]:
    until = time.monotonic() + _PATIENCE
    hello = {
        "protocolVersion": _PROTOCOL,
        "capabilities": {},
        "clientInfo": {"name": "dibs-doctor", "version": "1"},
    }
    _send(process, {"id": 1, "method": "initialize", "params": hello})
    if _receive(process, 1, until) is None:
        return ProofOutcome.FAILED, "the server does not answer"
    _send(process, {"method": "notifications/initialized"})
    call = {"name": "claim", "arguments": {"paths": [scratch.path]}}
    _send(process, {"id": 2, "method": "tools/call", "params": call})
    answer = _receive(process, 2, until)
    if answer is None:
        return ProofOutcome.FAILED, "the server does not answer a claim"
    result = answer.get("result")
    told = result.get("structuredContent") if isinstance(result, dict) else None
    if not isinstance(told, dict):
        return (
            ProofOutcome.FAILED,
            f"no answer to a claim: {json.dumps(answer.get('error') or result)}",
        )
    if told.get("granted") is not False or scratch.holder not in json.dumps(told):
        return ProofOutcome.FAILED, "the claim of another's file was not refused"
    return ProofOutcome.PROVED, f"granted: false; {scratch.holder} holds {scratch.path}"


def _send(process: subprocess.Popen[bytes], message: dict[str, object]) -> None:
    assert process.stdin is not None
    with contextlib.suppress(OSError):  # that it has ended is seen by its silence
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        process.stdin.flush()


def _receive(process: subprocess.Popen[bytes], number: int, until: float) -> dict[str, Any] | None:
    """Return the answer with this number; None if none comes in time, or what comes is no answer."""
    assert process.stdout is not None
    handle = process.stdout.fileno()
    text = b""
    with selectors.DefaultSelector() as selector:
        selector.register(handle, selectors.EVENT_READ)
        while len(text) < _MOST and selector.select(max(0.0, until - time.monotonic())):
            part = os.read(handle, 1 << 16)
            if not part:
                return None
            text += part
            *lines, text = text.split(b"\n")
            for line in lines:
                found = _parsed(line)
                if found is not None and found.get("id") == number:
                    return found
    return None


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _end(process: subprocess.Popen[bytes]) -> None:
    """Close its input, by which it ends; what does not go is killed with its children."""
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(OSError):
        process.stdin.close()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        process.wait()
    process.stdout.close()
