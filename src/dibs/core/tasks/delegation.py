"""Work that is sent to another agent: who gets it, and who has something like it already.

Pure. Work is what the board has open, and what agents say that they do.
"""

from __future__ import annotations

from dibs.core.claims.agents import alive
from dibs.core.talk.recipients import ALL, Crew, resolve
from dibs.core.tasks.names import role_word
from dibs.core.tasks.rules import Status, Task
from dibs.core.tasks.similarity import Active
from dibs.core.text.names import is_agent_id, quote
from dibs.errors import BadInput
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.core.claims.agents import Agent, Caller
    from dibs.core.talk.recipients import Addressed

#: What stands before an agent's id where work has no other name: no task can be called so.
_SAID_BY = "agent:"


class Alike(Record):
    """Active work that new work looks like, and whose it is."""

    #: The task of the board, empty for what an agent only says that it does.
    task: str
    #: Who does it or shall do it, empty if anybody may.
    agent: str
    title: str
    #: Which part of the words of both they share, from 0 to 1.
    share: float
    paths: tuple[str, ...] = ()


def like(
    new: Task, tasks: Iterable[Task], agents: Iterable[Agent], *, fold_case: bool = True
) -> tuple[Alike, ...]:
    """Return the active work that ``new`` may repeat, the likest first."""
    known = {task.id: task for task in tasks}
    said = {
        f"{_SAID_BY}{agent.id}": Task(
            f"{_SAID_BY}{agent.id}", Status.IN_PROGRESS, agent.id, agent.task
        )
        for agent in alive(agents)
        if agent.task and agent.task not in known
    }
    both = {**known, **said}
    found = Active(both.values(), fold_case=fold_case).like(new)
    return tuple(
        Alike("" if f.id in said else f.id, both[f.id].agent, f.title, f.share, f.paths)
        for f in found
    )


def receivers(to: str, sender: Caller, agents: Sequence[Agent]) -> Addressed:
    """Return who is told of work for ``to``: that agent, or all that work and have that role.

    Refuses what nobody answers to, the sender alone, and everybody: work is somebody's.
    """
    found = resolve(to, sender, Crew(agents, {}))
    if found.to == ALL:
        hint = "name an agent or a role; `dibs task new` makes a task for anybody"
        raise BadInput("work for all is nobody's", code="NO_ADDRESSEE", field="to", hint=hint)
    return found


def owner(addressed: Addressed) -> str:
    """Return the word that a task's file has for whom it is; a role without a Latin letter has none."""
    name = addressed.to.removeprefix("role:")
    found = role_word(name)
    if is_agent_id(found):
        return found
    raise BadInput(
        f"no task can name the role {quote(name)}",
        code="AGENT_ID",
        field="to",
        hint=f"name one of its agents: {', '.join(addressed.boxes[:5])}",
    )
