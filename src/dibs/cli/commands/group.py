"""Make and change groups of agents, to be written to together.

Examples:
  dibs group new backend alice bob role:tester
  dibs say backend "the schema changed"
  dibs group add backend carol
  dibs group show backend

A member is an agent, human, or role:NAME for all that have a role.

exit status: 0 done, 6 there is no such group or agent
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
    arg("member", nargs="*", metavar="MEMBER", help="an agent, human or role:NAME"),
)

_MEMBERS_OPTIONS = (
    *_NAME_OPTIONS,
    arg("member", nargs="+", metavar="MEMBER", help="an agent, human or role:NAME"),
)


def _new(session: Session, args: Namespace) -> None:
    """Make a group."""
    _changed(session, session.project.groups.new(session.caller, args.name, args.member))


def _add(session: Session, args: Namespace) -> None:
    """Add members to a group."""
    _changed(session, session.project.groups.add(session.caller, args.name, args.member))


def _remove(session: Session, args: Namespace) -> None:
    """Take members out of a group."""
    _changed(session, session.project.groups.remove(session.caller, args.name, args.member))


def _drop(session: Session, args: Namespace) -> None:
    """Forget a group; what was said to it stays with those who got it."""
    group = session.project.groups.drop(session.caller, args.name)
    session.show(lambda: mail.group(group), lambda: print(f"dropped the group {group.name}"))


def _changed(session: Session, group: Group) -> None:
    def text() -> None:
        quoted = _quoting(session, [group])
        print("\n".join(quoted.page([f"{group.name}: {_who(group, quoted) or 'nobody'}"])))

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
            print("there are no groups; make one with: dibs group new NAME AGENT…")
            return
        quoted = _quoting(session, groups)
        rows = [(group.name, _who(group, quoted), group.by) for group in groups]
        print("\n".join(quoted.page(table(("GROUP", "MEMBERS", "MADE BY"), rows, quoted.width))))

    session.show(lambda: {"groups": [mail.group(group) for group in groups]}, text)


def _show(session: Session, args: Namespace) -> None:
    """Show a group, whom it reaches now, and the last 20 messages to it."""
    shown = session.project.groups.show(args.name)
    now = session.now()
    session.show(lambda: mail.shown(shown), lambda: _print(session, shown, now))


def _print(session: Session, shown: GroupView, now: float) -> None:
    from dibs.services.talk.mail import Letter

    quoted = _quoting(session, [shown.group])
    who = f"{bold(shown.group.name)}: {_who(shown.group, quoted) or 'nobody'}"
    for line in quoted.page([who, f"  reaches {', '.join(shown.reaches) or 'nobody now'}"]):
        print(line)
    letters = [Letter(message) for message in shown.messages]
    for line in lines(letters, session.caller, now):
        print(line)


VERBS = {
    "new": ("make a group", _SOME_MEMBERS_OPTIONS, _new),
    "add": ("add members", _MEMBERS_OPTIONS, _add),
    "rm": ("take members out", _MEMBERS_OPTIONS, _remove),
    "drop": ("forget a group", _NAME_OPTIONS, _drop),
    "ls": ("list the groups", (), _list),
    "show": ("show its members and its last messages", _NAME_OPTIONS, _show),
}
