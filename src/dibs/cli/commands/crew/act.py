"""``dibs crew``: start, stop, restart, and limit agents."""

from __future__ import annotations

import time

from dibs.cli.commands.crew.look import print_crew, show_crew
from dibs.cli.support.parsing import arg, number
from dibs.cli.support.serving import PATIENCE, need_extra, only_humans, start_server
from dibs.cli.support.text import bold, green
from dibs.core.text.names import plural
from dibs.crew import control
from dibs.errors import Unavailable
from dibs.services.crew.service import CrewMembers
from dibs.shapes import crew as shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from dibs.cli.support.session import Session
    from dibs.core.crew.members import Member

#: How long ``stop`` waits for the end of all processes, in seconds.
_END_WITHIN = 40.0
_LOOK = 0.1

_SPAWN_OPTIONS = (
    arg(
        "role",
        nargs="?",
        default="",
        metavar="ROLE",
        help="a role of crew.toml (default: the first)",
    ),
    arg("--task", default="", metavar="TASK", help="start it for this task"),
)
_STOP_OPTIONS = (
    arg("names", nargs="*", metavar="AGENT", help="agents (default: all)"),
    arg("--reason", default="", metavar="TEXT", help="why; it is recorded"),
    arg("--no-wait", action="store_true", help="do not wait until their processes have ended"),
)
_SCALE_OPTIONS = (arg("limit", type=number, metavar="N", help="from 1 to 20"),)


def _up(session: Session, args: Namespace) -> None:
    """Read crew.toml, and let the crew work on the board until `dibs crew stop`.

    Changes to crew.toml count after another `dibs crew up`.
    """
    only_humans(args, "start the crew", "dibs crew up")
    # First the server: while agents run, a person without a terminal has to prove it.
    found = control.up(session.project, session.caller, lambda: _need_server(session))
    session.show(lambda: show_crew(found), lambda: _print_up(session, found))


def _print_up(session: Session, found: control.CrewOverview) -> None:
    roles = ", ".join(role.name for role in found.config.roles) if found.config else ""
    print(f"{green('the crew is up')}: roles {roles}; at most {plural(found.limit, 'agent')}")
    print_crew(session, found)
    print("next: dibs crew ls, dibs crew logs AGENT -f, or dibs open")


def _spawn(session: Session, args: Namespace) -> None:
    """Start an agent now, even if no task waits for one."""
    _need_server(session)
    made = control.spawn(session.project, session.caller, args.role, args.task)
    session.show(
        lambda: {"member": shapes.member(made)},
        lambda: print(f"{green('starting')} {bold(made.agent)} ({made.role})"),
    )


def _stop(session: Session, args: Namespace) -> None:
    """Stop agents and all their subagents: interrupt, terminate, and kill their processes.

    Claims are released after the processes have ended. Uncommitted work stays in the worktrees.
    """
    if not args.names:
        only_humans(args, "stop the crew", "dibs crew stop")
    chosen = control.stop(session.project, session.caller, args.names, args.reason)
    ended = chosen if args.no_wait else wait_for_end(session, [one.agent for one in chosen])
    _print_ended(session, ended, "stopped")


def _restart(session: Session, args: Namespace) -> None:
    """Stop agents and start them again, with their tasks, claims, and worktrees."""
    only_humans(args, "restart agents", "dibs crew restart")
    chosen = control.stop(session.project, session.caller, args.names, args.reason, again=True)
    ended = chosen if args.no_wait else wait_for_end(session, [one.agent for one in chosen])
    _print_ended(session, ended, "restarted")


def _print_ended(session: Session, members: Sequence[Member], word: str) -> None:
    def text() -> None:
        if not members:
            print("no agent was running")
        for one in members:
            print(f"{green(word)} {bold(one.agent)}")

    session.show(lambda: {word: [shapes.member(one) for one in members]}, text)


def wait_for_end(session: Session, agents: Sequence[str]) -> list[Member]:
    """Wait until the supervisor has ended the processes of agents that it runs; return those."""
    crew = CrewMembers(session.project.store)
    before = {one.agent: one.nonce for one in crew.members() if one.agent in agents}
    if any(not crew.member(name).is_over for name in before):
        _need_server(session)
    from dibs.cli.support.progress import Progress

    until = time.monotonic() + _END_WITHIN
    with Progress(quiet=session.json) as progress:
        while True:
            found = [crew.member(name) for name in before]
            left = [one for one in found if not one.is_over and one.nonce == before[one.agent]]
            if not left:
                return found
            if time.monotonic() > until:
                names = ", ".join(one.agent for one in left)
                raise Unavailable(f"{names} did not end in time", hint="see: dibs crew ls")
            progress("stopping agents", len(found) - len(left), len(found))
            time.sleep(_LOOK)


def _scale(session: Session, args: Namespace) -> None:
    """Change how many agents the crew may have, from 1 to 20. Running agents are not stopped."""
    only_humans(args, "change the limit", "dibs crew scale N")
    _changed(session, control.scale(session.project, session.caller, args.limit))


def _pause(session: Session, args: Namespace) -> None:
    """Assign no more tasks. Agents finish the tasks that they have."""
    only_humans(args, "pause the crew", "dibs crew pause")
    _changed(session, control.pause(session.project, session.caller, paused=True))


def _resume(session: Session, args: Namespace) -> None:
    """Assign tasks again after a pause."""
    only_humans(args, "resume the crew", "dibs crew resume")
    _changed(session, control.pause(session.project, session.caller, paused=False))


def _changed(session: Session, found: control.CrewOverview) -> None:
    session.show(lambda: show_crew(found), lambda: print_crew(session, found))


def _need_server(session: Session) -> None:
    """Start the server if it is not running, and let it look after this project."""
    from dibs.client.client import Client
    from dibs.local.server_files import running_server, server_folder

    info = running_server(server_folder())
    root = session.project.place.repository.root
    if info is None:
        need_extra("crew")
        try:
            info = start_server(repo=root)
        except Unavailable:  # another user's server may have the usual port
            info = start_server(repo=root, port=0)
    if not session.caller.human:
        return  # a person opened the project when the crew was started
    with Client(f"unix://{info.socket}", timeout=PATIENCE) as client:
        client.address = client.address._replace(project="")
        client.call("POST", "/projects", {"folder": root})


VERBS = {
    "up": ((), _up),
    "spawn": (_SPAWN_OPTIONS, _spawn),
    "stop": (_STOP_OPTIONS, _stop),
    "restart": (_STOP_OPTIONS, _restart),
    "scale": (_SCALE_OPTIONS, _scale),
    "pause": ((), _pause),
    "resume": ((), _resume),
}
