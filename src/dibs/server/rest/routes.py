"""What a REST route is, and what its function receives.

How to add a route:

1. Write ``def act(call, body)`` in the module of its noun. It runs in a thread, calls one service of
   ``call.project``, and returns a shape from ``dibs.shapes``, or an ``Answer`` with another status. An error
   is raised as a ``DibsError``.
2. If it has arguments, write a ``Body`` with one field each. GET and DELETE take them from the query, the
   others from the JSON body. Unknown fields and wrong types are refused before ``act`` runs. Use ``Text``,
   ``Paths``, ``Span``, and ``Number`` from here; repeated parameters need a ``list`` field. A required field
   after an optional one needs ``kw_only=True``.
3. Add an ``ApiRoute`` to ``ROUTES``, and a new module to ``rest.app``. The path may contain ``{id}``
   (one segment, in which ``%2F`` is a slash) and, at its end, ``{path:path}`` (the rest).

A listing has a ``Listing`` body and returns ``call.page(body, "tasks", shapes, key)``. A write gets
``Idempotency-Key`` without further work: either the service takes ``call.request_id`` (then ``keeps_ids``),
or the dispatcher stores the answer. If ``waits`` and the body has a ``wait`` above 0, ``call.project`` stops
waiting when the client disconnects; ``act`` takes back what was granted if ``call.hung_up`` is then true.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta

from dibs.project.stopping import stopping_with
from dibs.server.rest.wire import paging
from dibs.server.security.identity import TokenScope

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from dibs.core.claims.agents import Caller
    from dibs.core.patterns.pattern import Pattern
    from dibs.project.project import Project
    from dibs.server.projects import ServedProject
    from dibs.server.resident import Resident
    from dibs.server.security.identity import RequestIdentity

#: The most patterns, and characters of a text, in one request.
MOST_PATHS, MOST_TEXT, MOST_PATH = 1_000, 100_000, 4_096
#: How many items a page has unless the request says otherwise, and at most.
PAGE, MOST_ITEMS = 100, 1_000

Text = Annotated[str, Meta(max_length=MOST_TEXT)]
Name = Annotated[str, Meta(max_length=200)]
SomeNames = Annotated[list[Name], Meta(min_length=1, max_length=MOST_PATHS)]
PathText = Annotated[str, Meta(min_length=1, max_length=MOST_PATH)]
Paths = Annotated[list[PathText], Meta(max_length=MOST_PATHS)]
SomePaths = Annotated[list[PathText], Meta(min_length=1, max_length=MOST_PATHS)]
#: Seconds, or text such as ``30s`` or ``1h30m``; the service checks the range.
Span = float | Annotated[str, Meta(min_length=1, max_length=32)]
#: A whole number that every engine can store.
Number = Annotated[int, Meta(ge=0, le=2**53 - 1)]
PageSize = Annotated[int, Meta(ge=1, le=MOST_ITEMS, description="the most items of one page")]
Cursor = Annotated[
    str, Meta(max_length=2_048, description="`next_cursor` of the page before this one")
]


class Body(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The arguments of a route: its JSON body, or for GET and DELETE its query parameters."""


class NoBody(Body, frozen=True):
    """No arguments."""


class Listing(Body, frozen=True):
    """The arguments of every listing; add filters in a subclass."""

    limit: PageSize = PAGE
    cursor: Cursor = ""


class Call(NamedTuple):
    """One request, as the function of its route sees it."""

    resident: Resident
    identity: RequestIdentity
    #: Who acts: the identity's caller, or the agent that a human names.
    caller: Caller
    #: The values in the path, already decoded.
    path: Mapping[str, str]
    served: ServedProject | None
    worktree: str
    #: From the header ``Idempotency-Key``, if the route has ``keeps_ids``.
    request_id: str
    #: The route's name; a cursor is valid for one route and project only.
    route: str
    #: Set when the client of a waiting request is gone; None if it does not wait.
    gone: threading.Event | None = None
    #: From the header ``If-Match``: the version that a task must have; None for any.
    version: int | None = None

    @property
    def project(self) -> Project:
        """The project, as seen from the working tree that the request names."""
        assert self.served is not None, "the route has project=False"
        self.resident.observations.flush(self.served.id)
        project = self.served.project(self.worktree)
        return project if self.gone is None else stopping_with(project, self.gone)

    @property
    def hung_up(self) -> bool:
        """Whether the client of a waiting request is gone, so that no one reads the answer."""
        return self.gone is not None and self.gone.is_set()

    def patterns(self, texts: Sequence[str], *, literal: bool = False) -> list[Pattern]:
        """Resolve patterns relative to the root of the working tree."""
        tree = self.project.tree
        return [tree.resolve(text, literal=literal) for text in texts]

    def seal(self, *about: str) -> paging.Seal:
        """Return the seal for the cursors of this listing."""
        project = self.served.id if self.served else ""
        return paging.Seal(self.resident.folder, self.route, project, *about)

    def page(
        self,
        body: Listing,
        name: str,
        items: Iterable[Any],
        key: Callable[[Any], Any],
        *,
        newest_first: bool = False,
        **others: Any,
    ) -> dict[str, Any]:
        """Return one page of ``items`` under ``name``, ordered by ``key``, with ``next_cursor``.

        A key is unique and a string, a number, or a tuple of these; an item keeps its own.
        """
        seal = self.seal()
        after = seal.open(body.cursor) if body.cursor else None
        chosen, last = paging.cut(items, key, after, body.limit, newest_first=newest_first)
        cursor = seal.close(last) if last is not None else None
        return {name: chosen, **others, "next_cursor": cursor}


class Answer(NamedTuple):
    """An answer with a status of its own."""

    status: int
    #: A shape, or bytes that are sent as they are.
    shape: Any
    kind: str = "application/json"


class ApiRoute(NamedTuple):
    """One operation of the API, below ``/api/v1``."""

    method: str
    #: Such as ``/tasks/{id}``; ``{path:path}`` matches slashes, too.
    path: str
    #: Unique; the operation's id in OpenAPI, such as ``claims.create``.
    name: str
    summary: str
    #: A key of ``shapes.contract.ANSWERS``, or a line of the contract.
    tells: str
    act: Callable[[Call, Any], Any]
    takes: type[Body] = NoBody
    scope: TokenScope = TokenScope.AGENT
    #: Statuses of a successful or denied answer; the first one is the default.
    statuses: tuple[int, ...] = (200,)
    #: Whether it is about one project.
    project: bool = True
    #: Whether it may block for a long time; it then gets a thread from another pool.
    waits: bool = False
    #: Whether its service takes ``call.request_id``; otherwise the dispatcher stores the answer.
    keeps_ids: bool = False
    #: Whether it takes ``call.version``.
    versioned: bool = False
    #: Whether it only reads and writes a few rows, so that calls of one project take turns in one thread.
    quick: bool = False
