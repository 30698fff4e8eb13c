"""Resolve the recipients of a message: everyone, the humans, an agent, a group, or all agents with a role.

Pure. If a name fits several of these, the first in this order counts; ``agent:x``, ``group:x``, and
``role:x`` are unambiguous. All humans share one box.
"""

from __future__ import annotations

from dibs.core.claims.agents import HUMAN, is_terminal
from dibs.core.talk.mail import HUMANS, box_of
from dibs.core.text.names import quote, role_word
from dibs.errors import BadInput, NotFound
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dibs.core.claims.agents import Agent, Caller

ALL = "all"


class Group(Record):
    """A named set of agents and roles."""

    name: str
    members: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    by: str = ""
    at: float = 0.0


class Addressed(Record):
    """A resolved recipient."""

    #: The unambiguous form: an agent's id, ``human``, ``all``, ``group:x``, or ``role:x``.
    to: str
    boxes: tuple[str, ...]
    #: The boxes of agents that have ended.
    ended: tuple[str, ...] = ()

    @property
    def many(self) -> bool:
        """Whether it can mean more than one reader."""
        return self.to == ALL or ":" in self.to


class Crew(Record):
    """All possible recipients."""

    agents: Sequence[Agent]
    groups: Mapping[str, Group]

    def known(self, name: str) -> Agent | None:
        """Return the agent with this id."""
        return next((agent for agent in self.agents if agent.id == name), None)

    def working(self) -> list[Agent]:
        """Return the agents that have not ended."""
        return [agent for agent in self.agents if not is_terminal(agent.status)]

    def with_role(self, role: str) -> list[Agent]:
        """Return the working agents with a role, ignoring case."""
        return [agent for agent in self.working() if has_role(agent, role)]


def has_role(agent: Agent, role: str) -> bool:
    """Return whether an agent has a role, ignoring case, or by the name that tasks use for it."""
    return role.casefold() in {agent.role.casefold(), role_word(agent.role)}


def resolve(to: str, sender: Caller, crew: Crew) -> Addressed:
    """Return the boxes that ``to`` means; refuse an unknown recipient, or only the sender."""
    prefix, mark, name = to.partition(":")
    if not mark or prefix not in _READINGS:
        prefix, name = "", to
    for find in (_READINGS[prefix],) if prefix else (_common, *_READINGS.values()):
        found = find(name, sender, crew)
        if found is not None:
            return found
    raise _unknown(to)


def _common(name: str, sender: Caller, crew: Crew) -> Addressed | None:
    if name == HUMAN:
        return Addressed(HUMAN, (HUMANS,))
    if name != ALL:
        return None
    boxes = _boxes(crew.working(), sender)
    if not boxes:
        raise NotFound("no other agent is working here", code="NO_ADDRESSEE", field="to")
    return Addressed(ALL, boxes)


def _agent(name: str, sender: Caller, crew: Crew) -> Addressed | None:
    if name == sender.id:
        hint = "to share your progress, use `dibs agent report`"
        raise BadInput(f"{name} is you", code="TO_SELF", field="to", hint=hint)
    agent = crew.known(name)
    if agent is None:
        return None
    if agent.role == HUMAN:
        return Addressed(HUMAN, (HUMANS,))
    return Addressed(name, (name,), (name,) if is_terminal(agent.status) else ())


def _group(name: str, sender: Caller, crew: Crew) -> Addressed | None:
    group = crew.groups.get(name)
    if group is None:
        return None
    boxes = _boxes(members(group, crew), sender)
    if HUMAN in group.members and HUMANS not in boxes and not sender.human:
        boxes = (*boxes, HUMANS)
    if not boxes:
        message = f"no other member of group {name} is working here"
        hint = f"`dibs group show {name}` lists its members"
        raise NotFound(message, code="NO_ADDRESSEE", field="to", hint=hint)
    return Addressed(f"group:{name}", boxes)


def members(group: Group, crew: Crew) -> list[Agent]:
    """Return a group's working agents: its members, and those with one of its roles."""
    return [
        agent
        for agent in crew.working()
        if agent.id in group.members or any(has_role(agent, role) for role in group.roles)
    ]


def _role(name: str, sender: Caller, crew: Crew) -> Addressed | None:
    found = crew.with_role(name)
    if not found:
        return None
    boxes = _boxes(found, sender)
    if not boxes:
        message = f"no one else has the role {name}"
        raise BadInput(message, code="TO_SELF", field="to")
    return Addressed(f"role:{found[0].role}", boxes)


def _boxes(agents: Iterable[Agent], sender: Caller) -> tuple[str, ...]:
    """Return the boxes of agents, except the sender's own."""
    own = {sender.id, HUMANS} if sender.human else {sender.id}
    boxes = {box_of(agent.id, agent.role) for agent in agents}
    return tuple(sorted(boxes - own))


def _unknown(to: str) -> NotFound:
    return NotFound(
        f"no agent, group, or role {quote(to)}",
        code="NO_ADDRESSEE",
        field="to",
        hint="see `dibs agent ls` and `dibs group ls`",
    )


_READINGS = {"agent": _agent, "group": _group, "role": _role}
