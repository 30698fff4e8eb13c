"""Test the MCP server: start it as the settings say and request a claim that another agent holds.

A command in the repository's files is started only if it is the one that ``dibs init`` writes.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
from threading import Timer

from dibs.install.inspect.settings import shown
from dibs.install.prove.known_entries import different, may_start_server
from dibs.install.prove.run import GuardProof, ProofOutcome, failed, kill, surroundings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import IO, Any

    from dibs.install.inspect.agents import AgentSetup
    from dibs.install.inspect.settings import McpRegistration
    from dibs.services.guard.trial_claims import TrialClaim

#: How long the server may take to start and to answer, in seconds.
_PATIENCE = 20.0
_WHAT, _PROTOCOL = "mcp claim", "2025-06-18"
_MOST = 1 << 20
#: How many bytes of a server's error output are read.
_TOLD = 2000


def prove_servers(
    seen: Sequence[AgentSetup], root: str, scratch: TrialClaim
) -> Iterator[GuardProof]:
    """Test each command that starts the server, once."""
    tried: dict[tuple[str, ...], GuardProof] = {}
    for server in (server for one in seen for server in one.servers):
        file = shown(server.file, root)
        if not server.argv:
            said = f"the server runs at {server.url}"
            yield GuardProof(server.agent, _WHAT, ProofOutcome.UNTRIED, said, file)
            continue
        if not may_start_server(server, root):
            yield different(server.agent, _WHAT, file)
            continue
        if server.argv not in tried:
            tried[server.argv] = _prove(server, root, scratch)
        yield tried[server.argv]._replace(guard=server.agent, file=file)


def _prove(server: McpRegistration, root: str, scratch: TrialClaim) -> GuardProof:
    environ = surroundings(root, {**dict(server.environ), "DIBS_AGENT": f"{scratch.holder}-mcp"})
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
            said = f"cannot start {server.argv[0]}: {error.strerror}"
            return failed(server.agent, _WHAT, said)
        with process:
            timer = Timer(_PATIENCE, kill, (process,))
            timer.start()
            try:
                outcome, said = _converse(process, scratch)
            finally:
                timer.cancel()
                _end(process)
        why = _last_line(errors) if outcome == ProofOutcome.FAILED else ""
    return GuardProof(server.agent, _WHAT, outcome, f"{said}: {why}" if why else said)


def _last_line(errors: IO[bytes]) -> str:
    """Return the last line of a server's error output, which usually says why it exited."""
    errors.seek(max(0, errors.seek(0, os.SEEK_END) - _TOLD))
    lines = errors.read().decode("utf-8", "replace").splitlines()
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def _converse(process: subprocess.Popen[bytes], scratch: TrialClaim) -> tuple[str, str]:
    hello = {
        "protocolVersion": _PROTOCOL,
        "capabilities": {},
        "clientInfo": {"name": "dibs-doctor", "version": "1"},
    }
    if _ask(process, 1, "initialize", hello) is None:
        return ProofOutcome.FAILED, "the server did not answer"
    _send(process, {"method": "notifications/initialized"})
    call = {"name": "claim", "arguments": {"paths": [scratch.path]}}
    answer = _ask(process, 2, "tools/call", call)
    if answer is None:
        return ProofOutcome.FAILED, "the server did not answer a claim request"
    result = answer.get("result")
    told = result.get("structuredContent") if isinstance(result, dict) else None
    if not isinstance(told, dict):
        said = json.dumps(answer.get("error") or result)
        return ProofOutcome.FAILED, f"unexpected answer to a claim request: {said}"
    if told.get("outcome") != "denied" or scratch.holder not in json.dumps(told):
        return ProofOutcome.FAILED, "a claim on a held file was not denied"
    return ProofOutcome.PROVED, f"denied: {scratch.holder} holds {scratch.path}"


def _send(process: subprocess.Popen[bytes], message: dict[str, object]) -> None:
    assert process.stdin is not None
    with contextlib.suppress(OSError):  # a server that has exited does not answer
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        process.stdin.flush()


def _ask(
    process: subprocess.Popen[bytes], number: int, method: str, params: Mapping[str, object]
) -> dict[str, Any] | None:
    """Return the answer to a request; None if the server exits first or is killed at the timeout."""
    assert process.stdout is not None
    _send(process, {"id": number, "method": method, "params": params})
    while line := process.stdout.readline(_MOST):
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict) and found.get("id") == number:
            return found
    return None


def _end(process: subprocess.Popen[bytes]) -> None:
    """Close its input, so that it exits; kill it and its children if it does not."""
    assert process.stdin is not None
    with contextlib.suppress(OSError):
        process.stdin.close()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        kill(process)
