"""Check agents, guards, the board, the store, and git; --fix repairs what it can.

Examples:
  dibs doctor
  dibs doctor --fix
  dibs doctor --prove

Each finding says what is wrong, why it matters, and what fixes it. No file that contains work is deleted.

--prove tests every installed guard: it runs the agents' hook commands, commits and pushes in a temporary
worktree, and claims through the MCP server. Each guard must block a write to a file that a test agent holds.
The test leaves no trace in briefings or logs.

exit status: 0 healthy, 65 there is a problem or a guard does not block, 78 the engine is not safe to use
"""

from __future__ import annotations

import os

from dibs.core.text.findings import Level
from dibs.errors import Misconfigured, Unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Iterator, Sequence
    from typing import TypeVar

    from dibs.cli.commands.doctor.text import DoctorReport
    from dibs.cli.support.progress import Progress
    from dibs.cli.support.session import Session
    from dibs.core.claims.agents import Caller
    from dibs.core.text.findings import Finding
    from dibs.install.inspect.agents import AgentSetup
    from dibs.install.inspect.gaps import Gap
    from dibs.install.prove.run import GuardProof
    from dibs.project.project import Project
    from dibs.services.commits.doctor import GitCare

    T = TypeVar("T")

WRONG, UNSAFE = 65, 78


def configure(parser: ArgumentParser) -> None:
    """Add the options of ``dibs doctor``."""
    parser.add_argument("--fix", action="store_true", help="repair what it can, then check again")
    parser.add_argument(
        "--prove", action="store_true", help="test every guard: each must block a write"
    )


def run(args: Namespace) -> int:
    """Check everything, optionally repair it and test the guards, and report."""
    from dibs.cli.commands.doctor.text import DoctorReport
    from dibs.cli.support.progress import Progress
    from dibs.cli.support.session import Session, print_json
    from dibs.install.inspect.agents import look
    from dibs.install.inspect.gaps import gaps

    wrong = _wrong_store(args)
    if wrong:
        report = DoctorReport({"engine": wrong}, [], [], None, None, fix="")
        if args.json:
            print_json(report.shape())
        else:
            report.print()
        return UNSAFE
    with Session(args) as session:
        repository = session.project.place.repository
        with Progress(quiet=args.json, delay=0.0) as progress:
            progress("checking agents")
            agents = look(repository.root, os.path.expanduser("~"), os.environ)
            done = _repair(session, progress) if args.fix else None
            missing = gaps(repository, agents)
            found = _findings(session, agents, missing, progress)
            standings = _despite_damage(session.project.doctoring.standings)
        report = DoctorReport(found, agents, standings, [] if args.prove else None, done)
        if args.prove:
            report = _with_proofs(session, report, _prove(session, agents, missing))
        else:
            session.show(report.shape, report.print)
    if _is_bad(found["engine"]):
        return UNSAFE
    return 0 if report.well else WRONG


def _wrong_store(args: Namespace) -> list[Finding]:
    """Return a finding if the settings here select another store than the clone's."""
    from dibs.core.text.findings import Finding
    from dibs.project.engines import is_recorded
    from dibs.project.project import locate

    try:
        is_recorded(locate(args.repo))
    except Misconfigured as error:
        if error.code != "ENGINE_MISMATCH":
            raise
        return [Finding(Level.BAD, "clone", f"{error.message}; {error.hint}")]
    return []


def _with_proofs(
    session: Session, report: DoctorReport, proofs: Iterator[GuardProof]
) -> DoctorReport:
    """Test the guards and return the report with the results; people see each one as it arrives."""
    tested: list[GuardProof] = []
    if session.json:
        tested.extend(proofs)
    report = report._replace(proofs=tested)
    session.show(report.shape, lambda: report.print_as_tested(proofs))
    tested.extend(proofs)  # the rest, if nobody reads the output anymore
    return report


def _git(session: Session) -> GitCare:
    from dibs.guard.git.install import GitHooks
    from dibs.services.commits.doctor import GitCare

    repository = session.project.place.repository
    ours: frozenset[str] = frozenset()
    if repository.common:
        hooks = GitHooks(repository.common, repository.state).look()
        ours = frozenset(hook.name for hook in hooks if hook.current)
    return GitCare(repository, session.project.gate, ours)


def _repair(session: Session, progress: Progress) -> list[str]:
    import time

    from dibs.install.prove.git import sweep
    from dibs.services.board import check as boards

    progress("repairing")
    project, caller = session.project, session.caller
    done = _repair_store(project, caller)
    done += _despite_damage(lambda: boards.repair(project.board, caller))
    done += _despite_damage(lambda: project.doctoring.repair(caller))
    done += _despite_damage(lambda: _git(session).repair())
    return [*done, *sweep(project.place.repository, time.time())]


def _repair_store(project: Project, caller: Caller) -> list[str]:
    from dibs.services.state.row_repair import move_aside

    if not caller.human:
        return ["left the store as it is: only a human can repair it"]
    state = project.place.repository.state
    return [*project.engine.repair(), *move_aside(project.store, caller, state)]


def _despite_damage(look: Callable[[], list[T]]) -> list[T]:
    """Return the result; nothing if rows are damaged, which the check of the store reports."""
    try:
        return look()
    except Unavailable as error:
        if error.code != "STORE_DAMAGED":
            raise
        return []


def _findings(
    session: Session, agents: Sequence[AgentSetup], missing: Sequence[Gap], progress: Progress
) -> dict[str, list[Finding]]:
    from dibs import __version__
    from dibs.install.inspect.agents import findings, unreachable, unwired
    from dibs.services.board import check as boards
    from dibs.services.state.damage import findings as damaged

    project = session.project
    root = project.place.repository.root
    wired = any(agent.wired for agent in agents)
    found: dict[str, list[Finding]] = {}
    progress("checking the store")
    found["engine"] = [*project.engine.inspect(), *damaged(project.engine)]
    progress("checking the board")
    found["board"] = _despite_damage(lambda: boards.check(project.board, root))
    progress("checking git")
    found["git"] = _despite_damage(lambda: [*_git(session).inspect(), *project.check_queue()])
    progress("checking worktrees and agents")
    found["crew"] = _despite_damage(lambda: project.doctoring.inspect(__version__, wired=wired))
    found["agents"] = [
        *findings(agents, root),
        *(gap.as_finding() for gap in missing),
        *unreachable(agents, os.environ),
        *unwired(
            root, _despite_damage(project.doctoring.trees), os.path.expanduser("~"), os.environ
        ),
    ]
    return found


def _prove(
    session: Session, agents: Sequence[AgentSetup], missing: Sequence[Gap]
) -> Iterator[GuardProof]:
    """Test every guard, one at a time."""
    from dibs.install.inspect.gaps import switched_off
    from dibs.install.prove.git import prove_gates
    from dibs.install.prove.hooks import prove_hooks
    from dibs.install.prove.mcp import prove_servers
    from dibs.install.prove.plugins import prove_plugins
    from dibs.services.guard.trial_claims import TrialClaim

    repository = session.project.place.repository
    hooks = [hook for agent in agents for hook in agent.hooks]
    with TrialClaim(session.project.store, repository.state) as scratch:
        yield from prove_hooks(hooks, repository.root, scratch)
        yield from prove_plugins(hooks, repository.root, scratch)
        yield from prove_servers(agents, repository.root, scratch)
    yield from prove_gates(repository)
    yield from (gap.as_proof() for gap in (*missing, *switched_off(agents)))


def _is_bad(found: Sequence[Finding]) -> bool:
    return any(finding.level == Level.BAD for finding in found)
