"""The verbs of ``dibs group``."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from dibs.cli.support.session import Session
    from dibs.core.talk.recipients import Group
    from dibs.services.talk.groups import GroupView
    from dibs.shapes.quoting import Quoting


def _no_options(_: ArgumentParser) -> None:
    pass


def _name(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the group")


def _some_members(parser: ArgumentParser) -> None:
    _name(parser)
    parser.add_argument("member", nargs="*", metavar="MEMBER", help="an agent, human or role:NAME")


def _members(parser: ArgumentParser) -> None:
    _name(parser)
    parser.add_argument("member", nargs="+", metavar="MEMBER", help="an agent, human or role:NAME")


def _new(session: Session, args: Namespace) -> int:
    """Make a group."""
    return _changed(session, session.project.groups.new(session.caller, args.name, args.member))


def _add(session: Session, args: Namespace) -> int:
    """Add members to a group."""
    return _changed(session, session.project.groups.add(session.caller, args.name, args.member))


def _remove(session: Session, args: Namespace) -> int:
    """Take members out of a group."""
    return _changed(session, session.project.groups.remove(session.caller, args.name, args.member))


def _drop(session: Session, args: Namespace) -> int:
    """Forget a group; what was said to it stays with those who got it."""
    from dibs.shapes import mail

    group = session.project.groups.drop(session.caller, args.name)
    session.show(lambda: mail.group(group), lambda: print(f"dropped the group {group.name}"))
    return 0


def _changed(session: Session, group: Group) -> int:
    from dibs.shapes import mail

    def text() -> None:
        quoted = _quoting(session, [group])
        print("\n".join(quoted.page([f"{group.name}: {_who(group, quoted) or 'nobody'}"])))

    session.show(lambda: mail.group(group), text)
    return 0


def _quoting(session: Session, groups: list[Group]) -> Quoting:
    from dibs.shapes.quoting import Quoting

    return Quoting(session.caller, map(str, groups))


def _who(group: Group, quoted: Quoting) -> str:
    roles = (f"role:{quoted.word(role, group.by)}" for role in group.roles)
    return ", ".join([*group.members, *roles])


def _list(session: Session, _: Namespace) -> int:
    """List the groups by name."""
    from dibs.shapes import mail

    groups = session.project.groups.all()

    def text() -> None:
        from dibs.cli.support.tables import table

        if not groups:
            print("there are no groups; make one with: dibs group new NAME AGENT…")
            return
        quoted = _quoting(session, groups)
        rows = [(group.name, _who(group, quoted), group.by) for group in groups]
        print("\n".join(quoted.page(table(("GROUP", "MEMBERS", "MADE BY"), rows, quoted.width))))

    session.show(lambda: {"groups": [mail.group(group) for group in groups]}, text)
    return 0


def _show(session: Session, args: Namespace) -> int:
    """Show a group, whom it reaches now, and the last 20 messages to it."""
    from dibs.shapes import mail

    shown = session.project.groups.show(args.name)
    now = session.now()
    session.show(lambda: mail.shown(shown), lambda: _print(session, shown, now))
    return 0


def _print(session: Session, shown: GroupView, now: float) -> None:
    from dibs.cli.support.messages import lines
    from dibs.cli.support.text import bold
    from dibs.services.talk.mail import Letter

    quoted = _quoting(session, [shown.group])
    who = f"{bold(shown.group.name)}: {_who(shown.group, quoted) or 'nobody'}"
    for line in quoted.page([who, f"  reaches {', '.join(shown.reaches) or 'nobody now'}"]):
        print(line)
    letters = [Letter(message) for message in shown.messages]
    for line in lines(letters, session.caller, now):
        print(line)


VERBS = {
    "new": (_some_members, _new),
    "add": (_members, _add),
    "rm": (_members, _remove),
    "drop": (_name, _drop),
    "ls": (_no_options, _list),
    "show": (_name, _show),
}
