"""Execute the text commands of an agent, and return the replies in the words of the crew document.

A command calls the same service as the command line. A refusal is a reply as well: who, why, and which
command helps. A reply contains no command, so that an agent that repeats it does nothing by that.
"""

from __future__ import annotations

from dibs.core.crew.text_commands import CommandError
from dibs.core.text.names import printable
from dibs.errors import DibsError
from dibs.services.crew.agent_commands import HANDLERS as AGENT_HANDLERS
from dibs.services.crew.command_call import CommandCall
from dibs.services.crew.command_replies import refusal, reply
from dibs.services.crew.file_commands import HANDLERS as FILE_HANDLERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.claims.agents import Caller
    from dibs.core.crew.text_commands import TextCommand
    from dibs.services.crew.command_call import CommandServices, CrewControl, Handler

HANDLERS: dict[str, Handler] = {**FILE_HANDLERS, **AGENT_HANDLERS}


class TextCommands:
    """Executes the text commands of one agent."""

    def __init__(self, services: CommandServices, caller: Caller, control: CrewControl) -> None:
        self._services, self._caller, self._control = services, caller, control

    def execute(self, command: TextCommand | CommandError) -> str:
        """Execute a command, and return the reply; an error is only reported."""
        if isinstance(command, CommandError):
            return reply([(f"Invalid command: {printable(command.message)}",)])
        call = CommandCall(self._services, self._control, self._caller, command.fields)
        try:
            return reply(HANDLERS[command.name](call))
        except DibsError as error:
            return reply([refusal(command.name, error)])
