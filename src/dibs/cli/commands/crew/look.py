"""``dibs crew``: list and show agents, and follow their output."""

from __future__ import annotations

import sys
import time

from dibs.cli.support.parsing import arg, number
from dibs.cli.support.tables import table
from dibs.cli.support.text import bold, clock, dim, green, red, span, yellow
from dibs.core.crew.members import MemberState
from dibs.core.text.names import plural
from dibs.crew import control
from dibs.shapes import crew as shapes
from dibs.shapes.quoting import Quoting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

    from dibs.cli.support.session import Session
    from dibs.core.crew.members import Member

_PAINT = {
    MemberState.WORKING: green, MemberState.IDLE: dim, MemberState.CRASHED: red, MemberState.FAILED: red,
    MemberState.STOPPING: yellow, MemberState.STARTING: yellow,
}  # fmt: skip
#: How many waiting tasks are listed, and how often a followed log is read, in seconds.
_WAITING, _LOOK = 8, 0.25

_LS_OPTIONS = (arg("--all", action="store_true", help="include agents that ended"),)
_SHOW_OPTIONS = (arg("name", metavar="AGENT", help="an agent of the crew"),)
_LOG_OPTIONS = (
    *_SHOW_OPTIONS,
    arg("-f", "--follow", action="store_true", help="go on as it prints more"),
    arg("-n", "--lines", type=number, metavar="N", help="only the last N lines"),
)


def _ls(session: Session, args: Namespace) -> None:
    """List the agents of the crew, and the tasks that wait for one."""
    found = control.overview(session.project, ended=args.all)
    session.show(lambda: show_crew(found), lambda: print_crew(session, found))


def show_crew(found: control.CrewOverview) -> dict[str, Any]:
    """Shape the crew, and whether a server looks after it."""
    return shapes.crew(
        found.state, found.config, found.limit, found.members, found.tasks, found.waiting,
        supervisor=_has_server(),
    )  # fmt: skip


def print_crew(session: Session, found: control.CrewOverview) -> None:
    """Print the crew as a table, then what waits."""
    if found.config is None:
        print("the crew is not up (create crew.toml, then run: dibs crew up)")
        return
    quoted = Quoting(session.caller, [str(found.waiting)])
    now = session.now()
    live = sum(not one.is_over for one in found.members)
    words = "paused" if found.state.paused else "up" if found.state.up else "stopped"
    print(f"crew {bold(words)}: {live} of at most {plural(found.limit, 'agent')}")
    if found.members:
        rows = [_row(one, found.tasks.get(one.agent, ""), now, quoted) for one in found.members]
        headings = ("AGENT", "ROLE", "STATE", "FOR", "TASK", "RESTARTS", "NOTE")
        print("\n".join(table(headings, rows, quoted.width)))
    for task, why in found.waiting[:_WAITING]:
        print(f"waiting: {quoted(task, 'board')}: {quoted(why, 'dibs')}")
    if len(found.waiting) > _WAITING:
        print(f"and {len(found.waiting) - _WAITING} more tasks")
    if live and not _has_server():
        print(yellow("no supervisor is running: start it with `dibs crew up`"), file=sys.stderr)


def _row(member: Member, task: str, now: float, quoted: Quoting) -> tuple[str, ...]:
    note = (
        member.cause
        if member.state in {MemberState.CRASHED, MemberState.FAILED}
        else member.stop_why
    )
    if member.state == MemberState.CRASHED and not member.gave_up and member.restart_at > now:
        note = f"{member.cause}; starts again in {span(member.restart_at - now)}"
    return (
        member.agent, member.role, _PAINT.get(member.state, str)(member.state), span(now - member.since),
        quoted(task, "board") if task else "", str(member.restarts or ""), quoted(note, member.agent),
    )  # fmt: skip


def _show(session: Session, args: Namespace) -> None:
    """Show an agent: what it does, where it works, its crashes, and the end of its output."""
    found = control.details(session.project, args.name)

    def shape() -> dict[str, Any]:
        return {
            "member": shapes.member(found.member, found.task),
            "crashes": [shapes.crash(one) for one in found.crashes],
            "output": found.output,
        }

    session.show(shape, lambda: _print_details(session, found))


def _print_details(session: Session, found: control.MemberDetails) -> None:
    member, now = found.member, session.now()
    quoted = Quoting(session.caller, [found.output, str(found.crashes)])
    state = _PAINT.get(member.state, str)(member.state)
    lines = [f"{bold(member.agent)} {state} for {span(now - member.since)}, role {member.role}"]
    facts = {
        "task": found.task, "parent": member.parent, "worktree": member.tree, "branch": member.branch,
        "process": str(member.pid or ""), "restarts": str(member.restarts or ""),
        "tokens": str(member.tokens or ""), "context": f"{member.context:.0%}" if member.context >= 0 else "",
    }  # fmt: skip
    lines += [f"  {name}: {quoted(value, 'dibs')}" for name, value in facts.items() if value]
    for crash in found.crashes:
        lines.append(
            f"  crashed {clock(crash['at'], now)}: {quoted(str(crash['cause']), member.agent)}"
        )
    print("\n".join(quoted.page(lines)))
    if found.output.strip():
        print(dim("last output:"))
        _write(session, found.output, member.agent)


def _logs(session: Session, args: Namespace) -> None:
    """Show the output of an agent, without terminal escapes."""
    part = control.output(session.project, args.name)
    text = part.text
    if args.lines is not None:
        text = "".join(text.splitlines(keepends=True)[-args.lines :])
    session.show(
        lambda: {"agent": args.name, **part._asdict(), "text": text},
        lambda: _write(session, text, args.name),
    )
    while args.follow:
        time.sleep(_LOOK)
        part = control.output(session.project, args.name, part.offset, file=part.file)
        if part.text:
            session.show(
                lambda part=part: {"agent": args.name, **part._asdict()},  # type: ignore[misc]
                lambda part=part: _write(session, part.text, args.name),  # type: ignore[misc]
            )


def _write(session: Session, text: str, agent: str) -> None:
    """Print an agent's output: as it is for a person, as quoted data for an agent."""
    if not session.caller.human:
        quoted = Quoting(session.caller, [text])
        print("\n".join(quoted.page([quoted(text, agent)])))
        return
    sys.stdout.write(text if text.endswith("\n") or not text else f"{text}\n")
    sys.stdout.flush()


def _has_server() -> bool:
    from dibs.local.server_files import running_server, server_folder

    return running_server(server_folder()) is not None


VERBS = {
    "ls": (_LS_OPTIONS, _ls),
    "show": (_SHOW_OPTIONS, _show),
    "logs": (_LOG_OPTIONS, _logs),
}
