"""Drive an agent over the Agent Client Protocol with its official SDK.

The connection lives in an asyncio loop in its own thread. The runner's thread starts turns there and waits
for them, so an agent that misbehaves cannot stop the runner. The runner owns the process and ends it.
"""

from __future__ import annotations

import asyncio
import os
from concurrent import futures
from subprocess import TimeoutExpired
from threading import Thread
from time import monotonic
from typing import cast

from acp import PROTOCOL_VERSION, RequestError, text_block
from acp.client import ClientSideConnection
from acp.schema import (
    ClientCapabilities,
    EnvVariable,
    FileSystemCapabilities,
    Implementation,
    McpServerStdio,
)
from pydantic import ValidationError

from dibs import __version__
from dibs.core.text.durations import show_span
from dibs.core.text.names import cut, few, printable, quote
from dibs.crew.drivers.acp_client import AcpClient
from dibs.crew.drivers.acp_pipes import open_pipes
from dibs.crew.drivers.base import AgentCommandError, TurnEnd, TurnOutcome
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence
    from subprocess import Popen
    from typing import TypeVar

    from acp import Client
    from acp.schema import InitializeResponse

    from dibs.crew.drivers.base import AgentListener, Spawn

    T = TypeVar("T")

#: The code of the error that asks for a sign-in, by the protocol.
_SIGN_IN = -32000
#: The most characters of an agent's error.
_ERROR = 400


class McpCommand(Record):
    """An MCP server that the agent starts."""

    name: str
    argv: tuple[str, ...]
    environ: tuple[tuple[str, str], ...] = ()


class AcpDriver:
    """Drives one agent over its standard input and output.

    ``timeout`` is the most seconds for each answer before the first turn; opencode waits for more than a
    minute if npm is unreachable. ``grace`` is how long an agent that has closed its output may take to exit,
    and how long one that has exited may leave its output open.
    """

    def __init__(
        self,
        argv: Sequence[str],
        cwd: str,
        spawn: Spawn,
        listener: AgentListener,
        *,
        mcp_servers: Sequence[McpCommand] = (),
        name: str = "dibs",
        timeout: float = 180.0,
        grace: float = 2.0,
    ) -> None:
        self._argv = tuple(argv)
        self._cwd = cwd
        self._spawn = spawn
        self._listener = listener
        self._mcp_servers = mcp_servers
        self._name = name
        self._timeout, self._grace = timeout, grace
        self._client = AcpClient(cwd, listener)
        self._program = quote(os.path.basename(self._argv[0]))
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Thread | None = None
        self._process: Popen[bytes] | None = None
        self._connection: ClientSideConnection | None = None
        self._session = ""
        self._turn: futures.Future[str] | None = None
        self._lost_at = 0.0

    # -- for the runner

    def start(self) -> None:
        """Start the agent and open a session; raise ``AgentCommandError`` if that fails."""
        try:
            self._process = self._spawn(self._argv)
        except OSError as error:
            reason = error.strerror or str(error)
            raise AgentCommandError(f"cannot start {self._program}: {reason}") from error
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="dibs-acp", daemon=True)
        self._thread.start()
        try:
            opened = asyncio.run_coroutine_threadsafe(self._open(self._process), self._loop)
            self._session = opened.result()
        except ConnectionError as error:
            why = _exit(self._process, self._grace)
            raise AgentCommandError(f"{self._program} {why}") from error
        finally:
            if not self._session:
                self.close()

    def prompt(self, text: str) -> None:
        """Begin a turn."""
        assert self._loop is not None
        self._client.cancelled = False
        self._lost_at = 0.0
        whole = "\n".join([*self.pending_notes(), text])
        valid = whole.encode("utf-8", "replace").decode()
        self._turn = asyncio.run_coroutine_threadsafe(self._take_turn(valid), self._loop)

    def wait(self, timeout: float) -> TurnEnd | None:
        """Wait for the end of the turn; return None if it has not ended after ``timeout`` seconds."""
        assert self._turn is not None
        assert self._process is not None
        deadline = monotonic() + timeout
        futures.wait([self._turn], timeout)
        if self._turn.done() and not self._turn.cancelled():
            error = self._turn.exception()
            if not isinstance(error, ConnectionError):
                return self._ended(self._turn, error)
        elif not self._turn.done() and self._process.poll() is None:
            return None
        return self._lost(self._process, deadline)

    def pending_notes(self) -> list[str]:
        """Return, once, why tool calls were blocked; the next prompt begins with it."""
        notes = self._client.notes
        return [notes.popleft() for _ in range(len(notes))]

    def cancel(self) -> None:
        """Ask the agent to end its turn."""
        self._client.cancelled = True
        if self._connection is None or self._loop is None or self._turn is None:
            return
        asked = self._connection.cancel(session_id=self._session)
        asyncio.run_coroutine_threadsafe(asked, self._loop)

    def close(self) -> None:
        """Close the connection and end the thread."""
        if self._loop is None or self._thread is None:
            return
        thread, self._thread = self._thread, None
        try:
            asyncio.run_coroutine_threadsafe(self._shut(), self._loop).result()
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            thread.join()
            self._loop.close()

    # -- in the thread of the loop

    async def _open(self, process: Popen[bytes]) -> str:
        """Connect, and return the new session's id."""
        pipes = await open_pipes(process, self._listener.noted)
        connection = ClientSideConnection(cast("Client", self._client), pipes)
        self._connection = connection
        # Gemini cannot create files for a client that offers to read them.
        files = FileSystemCapabilities(read_text_file=False, write_text_file=True)
        hello = connection.initialize(
            protocol_version=PROTOCOL_VERSION,
            client_capabilities=ClientCapabilities(fs=files, terminal=False),
            client_info=Implementation(name=self._name, version=__version__),
        )
        about = await self._answer("initialize", hello)
        if about.protocol_version != PROTOCOL_VERSION:
            raise AgentCommandError(
                f"{self._program} uses version {about.protocol_version} of the Agent Client Protocol"
                f" (supported: {PROTOCOL_VERSION})"
            )
        servers = [_server(one) for one in self._mcp_servers]
        opening = connection.new_session(cwd=self._cwd, mcp_servers=[*servers])
        return (await self._answer("session/new", opening, about)).session_id

    async def _answer(
        self, method: str, call: Awaitable[T], about: InitializeResponse | None = None
    ) -> T:
        """Wait for the answer to a request; turn every failure into an error for the user."""
        try:
            return await asyncio.wait_for(call, self._timeout)
        except TimeoutError as error:
            limit = show_span(self._timeout)
            raise AgentCommandError(
                f"{self._program} did not answer {method} within {limit}"
            ) from error
        except ValidationError as error:
            raise AgentCommandError(
                f"{self._program} sent an invalid answer to {method}"
            ) from error
        except RequestError as error:
            if about is not None and error.code == _SIGN_IN:
                raise AgentCommandError(
                    f"{self._program} is not signed in: {_reason(error)}", _sign_in(about)
                ) from error
            raise AgentCommandError(
                f"{self._program} rejected {method}: {_reason(error)}"
            ) from error

    async def _take_turn(self, text: str) -> str:
        """Send a prompt, and return why the turn ended."""
        if self._connection is None:
            raise ConnectionError
        response = await self._connection.prompt(
            session_id=self._session, prompt=[text_block(text)]
        )
        self._client.end_turn(response.usage)
        return response.stop_reason

    async def _shut(self) -> None:
        if self._connection is not None:
            await self._connection.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    # -- ends

    def _ended(self, turn: futures.Future[str], error: BaseException | None) -> TurnEnd:
        if isinstance(error, RequestError):
            why = _reason(error)
        elif isinstance(error, ValidationError):
            why = "invalid answer to session/prompt"
        else:
            why = turn.result()  # raises any other error, which is a bug in this driver
        cancelled = self._client.cancelled or why == "cancelled"
        return TurnEnd(TurnOutcome.CANCELLED if cancelled else TurnOutcome.ENDED, why=why)

    def _lost(self, process: Popen[bytes], deadline: float) -> TurnEnd | None:
        """Return the end of a turn whose agent exited or closed its output, after the grace period."""
        now = monotonic()
        self._lost_at = self._lost_at or now
        over = self._lost_at + self._grace
        if self._turn is not None and not self._turn.done():  # a child holds the output open
            return TurnEnd(TurnOutcome.EXITED, process.poll()) if now >= over else None
        why = _exit(process, max(0.0, min(deadline, over) - now))
        if process.returncode is None and monotonic() < over:
            return None
        return TurnEnd(TurnOutcome.EXITED, process.returncode, why)


def _exit(process: Popen[bytes], limit: float) -> str:
    """Describe how an agent ended that no longer answers; wait at most ``limit`` seconds for its exit."""
    try:
        return f"exited with status {process.wait(limit)}"
    except TimeoutExpired:
        return "closed its output"


def _server(command: McpCommand) -> McpServerStdio:
    environ = [EnvVariable(name=name, value=value) for name, value in command.environ]
    program, *arguments = command.argv
    return McpServerStdio(name=command.name, command=program, args=arguments, env=environ)


def _sign_in(about: InitializeResponse) -> str:
    """Return how to sign in, by the methods that the agent offers."""
    ways = [printable(method.description or method.name) for method in about.auth_methods or ()]
    offered = f" ({few(ways)})" if ways else ""
    return f"start the agent's program once in a terminal and sign in{offered}"


def _reason(error: RequestError) -> str:
    """Return the agent's message with its details on one line."""
    details = error.data.get("details") if isinstance(error.data, dict) else None
    text = f"{error}: {details}" if isinstance(details, str) else str(error)
    return cut(printable(" ".join(text.split())), _ERROR)
