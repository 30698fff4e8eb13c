"""Prove the MCP server: start it as the settings say, ask for a claim that another holds, and be refused."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
from threading import Timer

from dibs.install.inspect.settings import shown
from dibs.install.prove.run import GuardProof, ProofOutcome, failed, kill, surroundings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import IO, Any

    from dibs.install.inspect.agents import AgentSetup
    from dibs.install.inspect.settings import McpRegistration
    from dibs.services.guard.trial_claims import TrialClaim

#: How long the server may take to start and to answer, in seconds.
_PATIENCE = 20.0
_WHAT, _PROTOCOL = "mcp claim", "2025-06-18"
_MOST = 1 << 20
#: How much is read of what a server said beside its answers.
_TOLD = 2000


def prove_servers(seen: Sequence[AgentSetup], root: str, scratch: TrialClaim) -> list[GuardProof]:
    """Try each way in which the server is started, once."""
    found = []
    tried: dict[tuple[str, ...], GuardProof] = {}
    for server in (server for one in seen for server in one.servers):
        file = shown(server.file, root)
        if not server.argv:
            said = f"it is reached at {server.url}, which is not asked"
            found.append(GuardProof(server.agent, _WHAT, ProofOutcome.UNTRIED, said, file))
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
    """Return the last thing that a server said beside its answers: mostly why it ended."""
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
        return ProofOutcome.FAILED, "the server does not answer"
    _send(process, {"method": "notifications/initialized"})
    call = {"name": "claim", "arguments": {"paths": [scratch.path]}}
    answer = _ask(process, 2, "tools/call", call)
    if answer is None:
        return ProofOutcome.FAILED, "the server does not answer a claim"
    result = answer.get("result")
    told = result.get("structuredContent") if isinstance(result, dict) else None
    if not isinstance(told, dict):
        said = json.dumps(answer.get("error") or result)
        return ProofOutcome.FAILED, f"no answer to a claim: {said}"
    if told.get("outcome") != "denied" or scratch.holder not in json.dumps(told):
        return ProofOutcome.FAILED, "the claim of another's file was not refused"
    return ProofOutcome.PROVED, f"outcome: denied; {scratch.holder} holds {scratch.path}"


def _send(process: subprocess.Popen[bytes], message: dict[str, object]) -> None:
    assert process.stdin is not None
    with contextlib.suppress(OSError):  # that it has ended is seen by its silence
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        process.stdin.flush()


def _ask(
    process: subprocess.Popen[bytes], number: int, method: str, params: Mapping[str, object]
) -> dict[str, Any] | None:
    """Return the answer to a request; None if the server ends first, or is killed because it is late."""
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
    """Close its input, by which it ends; what does not go is killed with its children."""
    assert process.stdin is not None
    with contextlib.suppress(OSError):
        process.stdin.close()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        kill(process)
