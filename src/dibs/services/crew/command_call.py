"""What a text command needs: the project's services, control over the crew, its agent, and its fields."""

from __future__ import annotations

from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    from dibs.core.claims.agents import Caller
    from dibs.core.text.untrusted import Part
    from dibs.local.paths import PathResolver
    from dibs.services.board.delegation import Delegation
    from dibs.services.board.tasks import Tasks
    from dibs.services.claims.agents import Agents
    from dibs.services.claims.holdings import Holdings
    from dibs.services.claims.service import Claims
    from dibs.services.commits.service import Commits

    class CommandServices(Protocol):
        """The services that text commands call; a ``Project`` has them."""

        tree: PathResolver
        holdings: Holdings
        agents: Agents

        @property
        def claims(self) -> Claims: ...
        @property
        def commits(self) -> Commits: ...
        @property
        def tasks(self) -> Tasks: ...
        @property
        def delegation(self) -> Delegation: ...

    class CrewControl(Protocol):
        """Starts and stops the agents of a crew, and calls tools for them."""

        def spawn(self, role: str, *, task: str, parent: str) -> str:
            """Start an agent of a role for a task of the board, empty for any; return its id."""

        def stop(self, agent: str, *, by: str, reason: str) -> list[str]:
            """Stop an agent and its subagents; return their ids.

            It refuses an agent that is not ``by`` or one of its subagents, which only it knows of an agent
            that has not joined.
            """

        def call_tool(self, caller: Caller, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
            """Return what an MCP tool answers."""

    #: The lines of a reply; text from other agents is untrusted.
    Lines = list[tuple[Part, ...]]
    Handler = Callable[["CommandCall"], Lines]


class CommandCall(Record):
    """One text command of one agent."""

    services: CommandServices
    control: CrewControl
    caller: Caller
    fields: dict[str, Any]

    def text(self, name: str) -> str:
        """Return the value of a string field; empty if it is absent."""
        value: str = self.fields.get(name, "")
        return value

    def texts(self, name: str) -> list[str]:
        """Return the value of an array field."""
        values: list[str] = self.fields.get(name, [])
        return values
