"""Calls to a server, with its errors as exceptions, and its events as an iterator."""

from __future__ import annotations

import http.client
import json
import os
import time
import uuid
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from dibs.client.calls import ServerCalls
from dibs.client.connection import SERVER, ServerAddress, read_address
from dibs.core.text.durations import check_wait
from dibs.errors import BadInput, DibsError, NotAllowed, NotFound, Unavailable, Unknown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import TracebackType

PREFIX = "/api/v1"
#: Seconds that a call may take, in addition to the time that it waits for a claim.
TIMEOUT = 30.0
#: Seconds between attempts to reach a server that starts again with new code.
ATTEMPTS = (0.1, 0.5, 1.5)
_WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
#: Statuses of an answer that is not an error: a denied claim has its own shape.
_DENIED = 409
_FIRST_ERROR = 400


class Client(ServerCalls):
    """A connection to one server, for one thread; the calls are methods by noun."""

    def __init__(
        self,
        url: str = "",
        *,
        token: str = "",
        project: str = "",
        agent: str = "",
        timeout: float = TIMEOUT,
    ) -> None:
        found = url or os.environ.get(SERVER, "")
        if not found:
            raise BadInput(f"no server is named: give a URL, or set {SERVER}", code="SERVER_URL")
        self.address: ServerAddress = read_address(found, os.environ, token=token, project=project)
        super().__init__(self._send_call)
        self._agent = agent
        self._timeout = timeout
        self._link: http.client.HTTPConnection | None = None

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        if self._link is not None:
            self._link.close()
            self._link = None

    def _send_call(self, method: str, path: str, given: dict[str, Any]) -> Any:
        """Send the arguments of a call: as a query where there is no body."""
        if method in {"GET", "DELETE"}:
            return self.call(method, path, query=given)
        wait = given.get("wait") or 0.0
        seconds = check_wait(wait) if isinstance(wait, (int, float, str)) else 0.0
        return self.call(method, path, given, wait=seconds)

    def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        query: Mapping[str, Any] | None = None,
        wait: float = 0.0,
        request_id: str = "",
    ) -> Any:
        """Call one operation below ``/api/v1`` and return its answer; raise its error.

        A write gets an idempotency key, so that a repeated attempt after a lost connection happens once.
        """
        headers = {"Accept": "application/json"}
        if method in _WRITES:
            headers["Idempotency-Key"] = request_id or uuid.uuid4().hex
        data = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            data = json.dumps(body).encode()
        response = self.open(method, path, data, headers, query, self._timeout + wait)
        try:
            given = response.read()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise self._lost(method, error) from error
        answer = _decoded(given, response.status)
        if response.status >= _FIRST_ERROR and not (
            response.status == _DENIED and "error" not in answer
        ):
            raise error_of(answer, response.status)
        return answer

    def open(
        self,
        method: str,
        path: str,
        data: bytes | None,
        headers: dict[str, str],
        query: Mapping[str, Any] | None = None,
        timeout: float | None = TIMEOUT,
    ) -> http.client.HTTPResponse:
        """Send a request, again if the server starts again, and return its response."""
        if self.address.token:
            headers["Authorization"] = f"Bearer {self.address.token}"
        if self._agent:
            headers["Dibs-Agent"] = self._agent
        asked = {key: value for key, value in (query or {}).items() if value is not None}
        if self.address.project:
            asked["project"] = self.address.project
        target = PREFIX + path + (f"?{urlencode(asked, doseq=True)}" if asked else "")
        for pause in (*ATTEMPTS, None):
            fresh = self._link is None
            link = self._link = self._link or self.address.connect(timeout)
            link.timeout = timeout
            if link.sock is not None:
                link.sock.settimeout(timeout)
            try:
                link.request(method, target, data, headers)
                return link.getresponse()
            except (ConnectionRefusedError, FileNotFoundError) as error:
                self.close()
                if pause is None:
                    raise self._unreachable(error) from error
            except (OSError, http.client.HTTPException) as error:
                self.close()
                if isinstance(error, TimeoutError) or (fresh and pause is None):
                    raise self._lost(method, error) from error
            time.sleep(pause or 0.0)
        raise AssertionError

    def events(self, after: int | None = None, **filters: str) -> Iterator[dict[str, Any]]:
        """Yield the snapshot and then each event, forever; reconnect and resume after an interruption.

        With ``after``, start behind that number instead of with a snapshot.
        """
        from dibs.client.events import follow

        return follow(self.address, after, filters)

    def _unreachable(self, error: OSError) -> Unavailable:
        return Unavailable(
            f"cannot reach {self.address.url}: {error.strerror or error}",
            code="SERVER_UNREACHABLE",
            hint="start it there with: dibs serve",
        )

    def _lost(self, method: str, error: Exception) -> DibsError:
        what = f"the connection to {self.address.url} was lost: {error}"
        if method in _WRITES:
            return Unknown(what, hint="repeat with the same request id")
        return Unavailable(what, code="SERVER_UNREACHABLE")


def _decoded(given: bytes, status: int) -> Any:
    try:
        return json.loads(given) if given else {}
    except ValueError:
        raise Unavailable(
            f"the answer is not from a Dibs server (status {status})",
            code="SERVER_URL",
            hint=f"check {SERVER}",
        ) from None


def error_of(answer: Any, status: int) -> DibsError:
    """Return the exception for an error that a server reported."""
    from dibs.errors.codes import CODES

    told = answer.get("error") if isinstance(answer, dict) else None
    told = told if isinstance(told, dict) else {}
    code = str(told.get("code") or "ERROR")
    row = CODES.get(code)
    known = [kind for kind in row.kinds if issubclass(kind, DibsError)] if row is not None else []
    by_status = {400: BadInput, 401: NotAllowed, 403: NotAllowed, 404: NotFound}
    exact = [kind for kind in known if kind.http_status == status]
    kind = (exact or known or [by_status.get(status, Unavailable)])[0]
    return kind(
        str(told.get("message") or f"the server answered with status {status}"),
        code=code,
        hint=str(told.get("hint") or ""),
        field=str(told.get("field") or ""),
    )


def failing_handlers(socket: str, timeout: float) -> list[dict[str, str]]:
    """Return the handlers of events that fail in any project of this machine's server, and why."""
    with Client(f"unix://{socket}", timeout=timeout) as server:
        server.address = server.address._replace(project="")  # whatever the environment names
        return [
            {"project": served["root"], "name": name, "failing": why}
            for served in server.projects.list()["projects"]
            for name, why in _failing(server, served["id"])
        ]


def _failing(server: Client, project: str) -> Iterator[tuple[str, str]]:
    """Yield names and reasons; the name is ``*`` if the project's store does not answer."""
    try:
        listed = server.call("GET", "/handlers", query={"project": project})["handlers"]
    except DibsError as error:
        yield "*", error.message
        return
    for one in listed:
        if one["failing"]:
            yield one["name"], one["failing"]
