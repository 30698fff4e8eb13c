"""List, show, register, and stop agents.

Examples:
  dibs agent ls
  dibs agent join --agent tester-1 --parent lead --role tester --task 42
  dibs agent report --agent tester-1 --status idle --context 0.7
  dibs agent stop tester-1 --reason "stuck in a loop"
"""

from __future__ import annotations

from dibs.cli.support.parsing import arg, number
from dibs.cli.support.text import bold, claim_line, clock, printable, span, waiter_line
from dibs.core.claims.agents import Agent
from dibs.core.text.names import quote
from dibs.errors import BadInput, BadUsage, Fenced
from dibs.shapes import claims
from dibs.shapes.quoting import Quoting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

    from dibs.cli.support.session import Session
    from dibs.core.claims.rules import Claim, Lost
    from dibs.services.claims.agents import AgentView

#: What ``report`` can change; each is an option.
REPORTED = ("status", "task", "model", "context", "name", "role")

_LIST_OPTIONS = (arg("--all", action="store_true", help="include agents that ended"),)

_SHOW_OPTIONS = (arg("id", metavar="AGENT", help="the agent"),)

_LEAVE_OPTIONS = (
    arg("--status", default="exited", metavar="WORD", help="exited, completed, or failed"),
    arg("--note", default="", metavar="TEXT", help="why, or the result"),
)

_STOP_OPTIONS = (
    arg("id", metavar="AGENT", help="the agent; its subagents stop too"),
    arg("--reason", default="", metavar="TEXT", help="why; the agent sees it"),
)

_JOIN_OPTIONS = (
    arg("--name", default="", metavar="TEXT", help="a readable name"),
    arg("--role", default="", metavar="WORD", help="such as lead or tester (default: agent)"),
    arg("--parent", default="", metavar="AGENT", help="the agent that started it"),
    arg("--pid", type=number, default=0, metavar="N", help="its process ID"),
    arg("--model", default="", metavar="TEXT", help="the model it uses"),
    arg("--task", default="", metavar="TASK", help="its task"),
    arg("--host", default="", metavar="NAME", help="where it runs (default: this host)"),
)


def _share(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        message = f"context use must be a number from 0 to 1, not {quote(text)}"
        raise BadInput(message, code="CONTEXT", field="context") from None


_REPORT_OPTIONS = (
    arg("--status", metavar="WORD", help="running or idle"),
    arg("--task", metavar="TASK", help="your task"),
    arg("--model", metavar="TEXT", help="the model you use"),
    arg("--context", type=_share, metavar="SHARE", help="context used, from 0 to 1"),
    arg("--name", metavar="TEXT", help="your readable name"),
    arg("--role", metavar="WORD", help="your role"),
    arg("--note", default="", metavar="TEXT", help="a note for the ledger"),
)


def _list(session: Session, args: Namespace) -> None:
    """List agents and people."""
    seen = session.project.agents.all(ended=args.all)
    session.show(
        lambda: {"agents": [claims.agent(s) for s in seen]},
        lambda: _print_list(seen, session),
    )


def _print_list(seen: list[AgentView], session: Session) -> None:
    from dibs.cli.commands.status import agent_table

    if seen:
        quoted = Quoting(session.caller, map(str, seen))
        table = agent_table(seen, quoted, session.project.config.ttl)
        print("\n".join(quoted.page(table)))
    else:
        print("no agents: an agent joins with its first command")


def _show(session: Session, args: Namespace) -> None:
    """Show one agent, its claims, and the claims that it lost."""
    seen, lost = session.project.agents.show(args.id)
    held, waiting = session.project.claims.all(args.id)
    shape = claims.shown_agent(seen, held, waiting, lost)

    def text() -> None:
        quoted = Quoting(session.caller, map(str, (seen, lost, held, waiting)))
        lines = _agent_lines(seen, quoted, session)
        lines += [
            f"holds {claim_line(h.claim, h.expires_in, quoted, token=session.tokens)}" for h in held
        ]
        lines += [waiter_line(waiter, quoted) for waiter in waiting]
        lines += _lost_lines(lost, session.now(), quoted)
        print("\n".join(quoted.page(lines)))

    session.show(lambda: shape, text)


def _agent_lines(seen: AgentView, quoted: Quoting, session: Session) -> list[str]:
    a = seen.agent
    status = seen.activity(session.project.config.ttl)
    facts = {
        "name": a.name, "role": a.role, "status": status, "parent": a.parent, "host": a.host,
        "pid": str(a.pid or ""), "model": a.model, "task": a.task,
        "context": f"{a.context:.0%} used" if a.context >= 0 else "",
        "guarded": f"yes ({seen.guarded})" if seen.guarded else "",
        "seen": f"{span(seen.silent_for)} ago", "ended": a.ended,
    }  # fmt: skip
    ours = {"context", "guarded", "seen"}
    return [bold(a.id)] + [
        f"  {fact:<8} {value if fact in ours else quoted.word(value, a.id)}"
        for fact, value in facts.items()
        if value
    ]


def _lost_lines(lost: list[Lost], now: float, quoted: Quoting) -> list[str]:
    lines = []
    for item in lost:
        by = f" by {item.by}" if item.by else ""
        why = f": {quoted.word(item.reason, item.by or 'dibs')}" if item.reason else ""
        what = quoted.path(item.pattern, "dibs")
        lines.append(f"lost {what}: {item.why}{by} at {clock(item.at, now)}{why}")
    return lines


def _join(session: Session, args: Namespace) -> None:
    """Register the agent that --agent names. Safe to repeat."""
    caller = session.caller
    agent = Agent(
        caller.id,
        args.name,
        args.role or caller.role,
        args.parent,
        args.host or caller.host,
        args.pid,
        model=args.model,
        task=args.task,
    )
    joined = session.project.agents.join(agent, caller)
    seen, _ = session.project.agents.show(joined.id)

    def text() -> None:
        parent = f", subagent of {joined.parent}" if joined.parent else ""
        print(f"{bold(joined.id)} joined as {printable(joined.role)}{parent}")

    session.show(lambda: {"agent": claims.agent(seen)}, text)


def _beat(session: Session, _: Namespace) -> int:
    """Renew your claims (heartbeat). Prints the same as `dibs renew`."""
    from dibs.cli.commands.renew import show_news

    answer = session.project.holdings.renew(session.caller)
    now = session.now()
    session.show(lambda: claims.renewed(answer), lambda: show_news(answer, now, session))
    return Fenced.exit_status if answer.lost else 0


def _report(session: Session, args: Namespace) -> None:
    """Report your status, task, or model. Other agents see it."""
    given = {name: getattr(args, name) for name in REPORTED}
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if not changes and not args.note:
        raise BadUsage("agent report: nothing to report", hint="see `dibs agent report --help`")
    agent = session.project.agents.report(session.caller, note=args.note, **changes)
    seen, _ = session.project.agents.show(agent.id)

    def text() -> None:
        quoted = Quoting(session.caller, [str(seen)])
        print("\n".join(quoted.page(_agent_lines(seen, quoted, session))))

    session.show(lambda: {"agent": claims.agent(seen)}, text)


def _leave(session: Session, args: Namespace) -> None:
    """End your session and release all your claims."""
    released = session.project.agents.leave(session.caller, status=args.status, note=args.note)
    shape = {"agent": session.caller.id, "released": claims.claims(released)}
    session.show(lambda: shape, lambda: _print_left(session.caller.id, released))


def _print_left(agent: str, released: list[Claim]) -> None:
    for claim in released:
        print(f"released {printable(claim.pattern)}")
    print(f"{agent} left")


def _stop(session: Session, args: Namespace) -> None:
    """Stop an agent and its subagents, and release their claims.

    Processes that `dibs crew` runs are ended. Others go on, but Dibs blocks their tool calls.
    """
    from dibs.cli.commands.crew.act import wait_for_end
    from dibs.crew.control import stop_agent

    stopped = stop_agent(session.project, session.caller, args.id, args.reason)
    wait_for_end(session, stopped)

    def text() -> None:
        for agent in stopped:
            print(f"stopped {printable(agent)}")
        if not stopped:
            print(f"{printable(args.id)} had already ended")

    session.show(lambda: {"stopped": stopped}, text)


VERBS = {
    "ls": ("list agents and people", _LIST_OPTIONS, _list),
    "show": ("show one agent, its claims, and what it lost", _SHOW_OPTIONS, _show),
    "join": ("register an agent", _JOIN_OPTIONS, _join),
    "beat": ("renew your claims (heartbeat)", (), _beat),
    "report": ("report your status, task, or model", _REPORT_OPTIONS, _report),
    "leave": ("end your session", _LEAVE_OPTIONS, _leave),
    "stop": ("stop an agent and its subagents", _STOP_OPTIONS, _stop),
}
