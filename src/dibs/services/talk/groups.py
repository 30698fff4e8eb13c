"""Groups: named sets of agents and roles that can be messaged together.

Any agent may change a group; the ledger records who did.
"""

from __future__ import annotations

from dibs.core.claims.agents import HUMAN
from dibs.core.claims.ledger import Kind
from dibs.core.claims.rules import check_text
from dibs.core.talk.recipients import ALL, Crew, Group
from dibs.core.text.names import check_agent_id, is_agent_id, quote
from dibs.errors import BadInput, NotFound
from dibs.services.state import mailbox
from dibs.services.state.presence import arrive
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dibs.core.claims.agents import Caller
    from dibs.core.talk.mail import Message
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

MAX_GROUPS = 1_000
MAX_MEMBERS = 1_000
#: How many of a group's messages are shown.
SHOWN = 20
_ROLE = "role:"
_AGENT = "agent:"


class GroupView(Record):
    """A group with its reach and recent messages."""

    group: Group
    #: The agents that a message to it would reach now.
    reaches: tuple[str, ...]
    #: The newest messages to it, oldest first.
    messages: tuple[Message, ...]


class Groups:
    """Use cases of groups."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def new(self, caller: Caller, name: str, members: Sequence[str] = ()) -> Group:
        """Create a group of agents and roles (``role:x``)."""
        check_name(name)

        def make(rows: Rows) -> Group:
            if mailbox.get_group(rows, name) is not None:
                hint = f"add members with `dibs group add {name} AGENT`"
                message = f"group {name} already exists"
                raise BadInput(message, code="GROUP_EXISTS", field="group", hint=hint)
            if len(mailbox.groups(rows)) >= MAX_GROUPS:
                hint = "delete one with `dibs group drop NAME`"
                raise BadInput(f"there are already {MAX_GROUPS} groups", code="LIMIT", hint=hint)
            return _with(rows, Group(name, by=caller.id, at=rows.now), members)

        return self._change(caller, "created", make)

    def add(self, caller: Caller, name: str, members: Sequence[str]) -> Group:
        """Add agents and roles to a group."""
        return self._change(caller, "added to", lambda rows: _with(rows, need(rows, name), members))

    def remove(self, caller: Caller, name: str, members: Sequence[str]) -> Group:
        """Remove agents and roles from a group."""
        return self._change(
            caller, "removed from", lambda rows: _without(need(rows, name), members)
        )

    def _change(self, caller: Caller, verb: str, change: Callable[[Rows], Group]) -> Group:
        """Write the group that ``change`` returns, and a ledger entry."""

        def step(rows: Rows) -> Group:
            role = arrive(rows, caller).role
            group = change(rows)
            mailbox.put_group(rows, group)
            rows.emit(
                caller.id, role, Kind.GROUP_CHANGED, f"{caller.id} {verb} group {group.name}",
                group=group.name, members=list(group.members), roles=list(group.roles),
            )  # fmt: skip
            return group

        return self._store.apply(step)

    def drop(self, caller: Caller, name: str) -> Group:
        """Delete a group; its messages stay."""

        def step(rows: Rows) -> Group:
            role = arrive(rows, caller).role
            group = need(rows, name)
            mailbox.drop_group(rows, name)
            summary = f"{caller.id} deleted group {name}"
            rows.emit(caller.id, role, Kind.GROUP_CHANGED, summary, group=name, dropped=True)
            return group

        return self._store.apply(step)

    def all(self) -> list[Group]:
        """Return all groups, by name."""
        return self._store.look(lambda rows: list(mailbox.groups(rows).values()))

    def show(self, name: str) -> GroupView:
        """Return a group, the agents it reaches now, and its recent messages."""

        def step(rows: Rows) -> GroupView:
            from dibs.core.talk.recipients import members

            group = need(rows, name)
            reached = {agent.id for agent in members(group, crew_of(rows))}
            said = [m for m in mailbox.messages(rows) if m.to == f"group:{name}"]
            humans = {HUMAN} & set(group.members)
            return GroupView(group, tuple(sorted(reached | humans)), tuple(said[-SHOWN:]))

        return self._store.look(step)


def check_name(name: str) -> str:
    """Return a valid group name; the rules are those of agent ids."""
    try:
        check_agent_id(name)
    except BadInput as error:
        message = f"invalid group name {quote(name)}"
        raise BadInput(message, code="GROUP_NAME", field="group", hint=error.hint) from None
    if name in {ALL, HUMAN}:
        message = f"a group cannot be named {name}: that name is reserved"
        raise BadInput(message, code="GROUP_NAME", field="group")
    return name


def crew_of(rows: Rows) -> Crew:
    """Return all possible recipients."""
    return Crew(rows.agents(), mailbox.groups(rows))


def need(rows: Rows, name: str) -> Group:
    """Return an existing group."""
    group = mailbox.get_group(rows, name) if is_agent_id(name) else None
    if group is not None:
        return group
    hint = "`dibs group ls` lists the groups"
    raise NotFound(f"no group {quote(name)}", code="NO_GROUP", field="group", hint=hint)


def _with(rows: Rows, group: Group, words: Sequence[str]) -> Group:
    """Return the group with more members; refuse an unknown agent, so that no message is lost."""
    known = {agent.id for agent in rows.agents()} | {HUMAN}
    members, roles = list(group.members), list(group.roles)
    for word in words:
        if word.startswith(_ROLE):
            roles.append(check_text(word.removeprefix(_ROLE).strip(), "role"))
            continue
        name = word.removeprefix(_AGENT)
        if name not in known:
            hint = "use role:NAME for everyone with a role"
            message = f"no agent {quote(name)} here"
            raise NotFound(message, code="NO_AGENT", field="member", hint=hint)
        members.append(name)
    if len(members) + len(roles) > MAX_MEMBERS:
        message = f"a group can have at most {MAX_MEMBERS} members and roles"
        raise BadInput(message, code="LIMIT", field="member", hint="use role:NAME")
    if "" in roles:
        raise BadInput("role: needs a name, as in role:tester", code="GROUP_NAME", field="member")
    return group._replace(members=tuple(dict.fromkeys(members)), roles=tuple(dict.fromkeys(roles)))


def _without(group: Group, words: Sequence[str]) -> Group:
    gone = {word.removeprefix(_AGENT) for word in words}
    there = {*group.members, *(f"{_ROLE}{role}" for role in group.roles)}
    strange = sorted(gone - there)
    if strange:
        message = f"{quote(strange[0])} is not in group {group.name}"
        hint = f"`dibs group show {group.name}` lists its members"
        raise NotFound(message, code="NOT_IN_GROUP", field="member", hint=hint)
    return group._replace(
        members=tuple(m for m in group.members if m not in gone),
        roles=tuple(r for r in group.roles if f"{_ROLE}{r}" not in gone),
    )
