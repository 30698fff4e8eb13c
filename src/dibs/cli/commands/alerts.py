"""Show what needs attention, and acknowledge it.

Examples:
  dibs alerts
  dibs alerts check
  dibs alerts ack a41 --reason "looking into it"

Without a subcommand, this lists the open alerts. An alert is resolved when its condition ends. The server
checks every minute; without it, run `dibs alerts check`.

exit status: 0 done, even if there are alerts, 6 no such alert, 65 already resolved
"""

from __future__ import annotations

from dibs.cli.support.parsing import arg
from dibs.cli.support.tables import table
from dibs.cli.support.text import bold, dim, green, red, span, yellow
from dibs.core.alerts.values import AlertState, Severity, rank
from dibs.shapes import alerts as shapes
from dibs.shapes.quoting import Quoting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from dibs.cli.support.session import Session
    from dibs.core.alerts.values import Alert
    from dibs.services.alerts.service import AlertCheck

#: The subcommand without any.
DEFAULT = "ls"
_PAINT = {Severity.CRITICAL: red, Severity.WARNING: yellow, Severity.INFO: dim}
_NONE = "no open alerts"

_LS_OPTIONS = (arg("--all", action="store_true", help="include resolved alerts"),)
_ID_OPTIONS = (arg("id", metavar="ID", help="the alert, such as a41"),)
_WHY_OPTIONS = (
    arg("id", nargs="+", metavar="ID", help="one or more alerts, all or nothing: a41 a43"),
    arg("--reason", default="", metavar="TEXT", help="why; it is recorded"),
)


def _ls(session: Session, args: Namespace) -> None:
    """List the open alerts, the most severe first."""
    found = session.project.alerts.all(resolved=args.all)
    found.sort(key=lambda one: (not one.is_open, -rank(one.severity), one.at))
    now = session.now()

    def text() -> None:
        if not found:
            print(_NONE if not args.all else "no alerts")
            return
        print("\n".join(_list(session, found, now)))

    session.show(lambda: {"alerts": [shapes.alert(one) for one in found]}, text)


def _list(session: Session, found: Sequence[Alert], now: float) -> list[str]:
    quoted = Quoting(session.caller, map(str, found))
    rows = [
        (one.id, _severity(one), "" if one.state == AlertState.OPEN else one.state, one.kind,
         span(now - one.at), _said(one, quoted))
        for one in found
    ]  # fmt: skip
    lines = table(("ID", "SEVERITY", "STATE", "KIND", "AGE", "WHAT"), rows, quoted.width)
    first = next((one for one in found if one.is_open), None)
    hint = [f"next: {_command(first, quoted)}"] if first is not None else []
    return quoted.page([*lines, *hint])


def _severity(alert: Alert) -> str:
    return _PAINT.get(alert.severity, dim)(alert.severity)


def _said(alert: Alert, quoted: Quoting) -> str:
    return quoted(alert.text, alert.agents[0] if alert.agents else "dibs")


def _command(alert: Alert, quoted: Quoting) -> str:
    from dibs.core.text.untrusted import is_plain_path

    if all(map(is_plain_path, alert.command.split(" "))):
        return alert.command
    return quoted(alert.command, alert.agents[0] if alert.agents else "dibs")


def _show(session: Session, args: Namespace) -> None:
    """Show an alert: what it is about, what to do next, and who acknowledged it."""
    alert = session.project.alerts.show(args.id)
    now = session.now()
    session.show(
        lambda: {"alert": shapes.alert(alert)},
        lambda: print("\n".join(_page(session, alert, now))),
    )


def _page(session: Session, alert: Alert, now: float) -> list[str]:
    quoted = Quoting(session.caller, [str(alert)])
    lines = [
        f"{bold(alert.id)} {_severity(alert)} {alert.kind}, {alert.state}: {_said(alert, quoted)}",
        f"  opened {span(now - alert.at)} ago",
    ]
    if alert.changed and alert.state != AlertState.OPEN:
        who = f" by {alert.by}" if alert.by else ""
        why = f": {quoted(alert.reason, alert.by or 'dibs')}" if alert.reason else ""
        lines.append(f"  {alert.state} {span(now - alert.changed)} ago{who}{why}")
    if alert.is_open:
        lines.append(f"  next: {_command(alert, quoted)}")
    return quoted.page(lines)


def _ack(session: Session, args: Namespace) -> None:
    """Acknowledge alerts: you take care of them. They stay until their conditions end."""
    done = session.project.alerts.acknowledge(session.caller, args.id, args.reason)

    def text() -> None:
        quoted = Quoting(session.caller, map(str, done))
        lines = [f"{green('acknowledged')} {bold(one.id)}: {_said(one, quoted)}" for one in done]
        print("\n".join(quoted.page(lines)))

    session.show(lambda: {"acknowledged": [shapes.alert(one) for one in done]}, text)


def _check(session: Session, _: Namespace) -> None:
    """Run the rules now: open alerts for new conditions, and resolve those that ended."""
    alerts = session.project.alerts
    done = alerts.check()
    still = alerts.all()
    now = session.now()
    session.show(
        lambda: shapes.checked(done, still), lambda: _print_check(session, done, still, now)
    )


def _print_check(session: Session, done: AlertCheck, still: list[Alert], now: float) -> None:
    counts = f"{len(done.opened)} opened, {len(done.resolved)} resolved"
    print(f"{counts}, {len(still)} open" if still else f"{counts}, none open")
    if still:
        print("\n".join(_list(session, still, now)))


VERBS = {
    "ls": ("list open alerts (the default)", _LS_OPTIONS, _ls),
    "show": ("show an alert", _ID_OPTIONS, _show),
    "ack": ("acknowledge alerts", _WHY_OPTIONS, _ack),
    "check": ("run the rules now", (), _check),
}
