"""Manage groups of agents, so that one message reaches them all.

Examples:
  dibs group new backend alice bob role:tester
  dibs say backend "the schema changed"
  dibs group add backend carol
  dibs group show backend

A member is an agent, `human`, or role:NAME, which means every agent with that role.

exit status: 0 done, 6 no such group or agent
"""

from __future__ import annotations

from dibs.cli.support.messages import lines
from dibs.cli.support.parsing import arg
from dibs.cli.support.tables import table
from dibs.cli.support.text import bold
from dibs.shapes import mail
from dibs.shapes.quoting import Quoting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from dibs.cli.support.session import Session
    from dibs.core.talk.recipients import Group
    from dibs.services.talk.groups import GroupView


_NAME_OPTIONS = (arg("name", metavar="NAME", help="the group"),)

_SOME_MEMBERS_OPTIONS = (
    *_NAME_OPTIONS,
    arg("member", nargs="*", metavar="MEMBER", help="an agent, human, or role:NAME"),
)

_MEMBERS_OPTIONS = (
    *_NAME_OPTIONS,
    arg("member", nargs="+", metavar="MEMBER", help="an agent, human, or role:NAME"),
)


def _new(session: Session, args: Namespace) -> None:
    """Create a group."""
    _changed(session, session.project.groups.new(session.caller, args.name, args.member))


def _add(session: Session, args: Namespace) -> None:
    """Add members to a group."""
    _changed(session, session.project.groups.add(session.caller, args.name, args.member))


def _remove(session: Session, args: Namespace) -> None:
    """Remove members from a group."""
    _changed(session, session.project.groups.remove(session.caller, args.name, args.member))


def _drop(session: Session, args: Namespace) -> None:
    """Delete a group; messages sent to it stay in the inboxes."""
    group = session.project.groups.drop(session.caller, args.name)
    session.show(lambda: mail.group(group), lambda: print(f"deleted group {group.name}"))


def _changed(session: Session, group: Group) -> None:
    def text() -> None:
        quoted = _quoting(session, [group])
        print("\n".join(quoted.page([f"{group.name}: {_who(group, quoted) or 'no members'}"])))

    session.show(lambda: mail.group(group), text)


def _quoting(session: Session, groups: list[Group]) -> Quoting:
    return Quoting(session.caller, map(str, groups))


def _who(group: Group, quoted: Quoting) -> str:
    roles = (f"role:{quoted.word(role, group.by)}" for role in group.roles)
    return ", ".join([*group.members, *roles])


def _list(session: Session, _: Namespace) -> None:
    """List the groups by name."""
    groups = session.project.groups.all()

    def text() -> None:
        if not groups:
            print("no groups: create one with `dibs group new NAME AGENT`")
            return
        quoted = _quoting(session, groups)
        rows = [(group.name, _who(group, quoted), group.by) for group in groups]
        print("\n".join(quoted.page(table(("GROUP", "MEMBERS", "CREATED BY"), rows, quoted.width))))

    session.show(lambda: mail.groups(groups), text)


def _show(session: Session, args: Namespace) -> None:
    """Show a group's members, the agents it reaches now, and its last 20 messages."""
    shown = session.project.groups.show(args.name)
    now = session.now()
    session.show(lambda: mail.shown(shown), lambda: _print(session, shown, now))


def _print(session: Session, shown: GroupView, now: float) -> None:
    from dibs.services.talk.mail import Letter

    quoted = _quoting(session, [shown.group])
    who = f"{bold(shown.group.name)}: {_who(shown.group, quoted) or 'no members'}"
    reaches = ", ".join(shown.reaches) or "no one right now"
    for line in quoted.page([who, f"  reaches {reaches}"]):
        print(line)
    letters = [Letter(message) for message in shown.messages]
    for line in lines(letters, session.caller, now):
        print(line)


VERBS = {
    "new": ("create a group", _SOME_MEMBERS_OPTIONS, _new),
    "add": ("add members", _MEMBERS_OPTIONS, _add),
    "rm": ("remove members", _MEMBERS_OPTIONS, _remove),
    "drop": ("delete a group", _NAME_OPTIONS, _drop),
    "ls": ("list groups", (), _list),
    "show": ("show members and recent messages", _NAME_OPTIONS, _show),
}
