"""Check agents, guards, the board, the store, and git; --fix repairs what it can.

Examples:
  dibs doctor
  dibs doctor --fix
  dibs doctor --prove

Each finding says what is wrong, why it matters, and what fixes it. No file that contains work is deleted.

--prove tests every installed guard: it runs the agents' hook commands, commits and pushes in a temporary
worktree, and claims through the MCP server. Each guard must block a write to a file that a test agent holds.
It runs no code from the repository: an entry that differs from what Dibs writes is reported instead. The test
leaves no trace in briefings or logs.

exit status: 0 healthy, 65 there is a problem, or with --prove a guard does not block or an agent skips its
hooks, 78 the engine is not safe to use
"""

from __future__ import annotations

from dibs.core.text.findings import Level
from dibs.errors import BadUsage, Misconfigured

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator, Sequence

    from dibs.cli.commands.doctor.text import DoctorReport
    from dibs.cli.support.session import Session
    from dibs.core.text.findings import Finding
    from dibs.install.inspect.agents import AgentSetup
    from dibs.install.inspect.gaps import Gap
    from dibs.install.prove.run import GuardProof

WRONG, UNSAFE = 65, 78


def configure(parser: ArgumentParser) -> None:
    """Add the options of ``dibs doctor``."""
    parser.add_argument("--fix", action="store_true", help="repair what it can, then check again")
    parser.add_argument(
        "--accept",
        action="store_true",
        help="with --fix: accept hooks and settings that agents' commands changed",
    )
    parser.add_argument(
        "--prove", action="store_true", help="test every guard: each must block a write"
    )


def run(args: Namespace) -> int:
    """Check everything, optionally repair it and test the guards, and report."""
    from dibs.cli.commands.doctor.text import DoctorReport
    from dibs.cli.support.progress import Progress
    from dibs.cli.support.session import Session, print_json
    from dibs.install.inspect.checkup import Checkup, check_up

    if args.accept and not args.fix:
        raise BadUsage("doctor: --accept needs --fix", hint="run: dibs doctor --fix --accept")
    wrong = _wrong_store(args)
    if wrong:
        report = DoctorReport(Checkup({"engine": wrong}, [], []), None, fix="")
        if args.json:
            print_json(report.shape())
        else:
            report.print()
        return UNSAFE
    with Session(args, lenient=True) as session:
        with Progress(quiet=args.json, delay=0.0) as progress:
            found = check_up(
                session.project, session.caller, fix=args.fix, accept=args.accept, progress=progress
            )
        report = DoctorReport(found, [] if args.prove else None)
        if args.prove:
            report = _with_proofs(session, report, _prove(session, found.agents, found.missing))
        else:
            session.show(report.shape, report.print)
    if _is_bad(found.found["engine"]):
        return UNSAFE
    return 0 if report.well else WRONG


def _wrong_store(args: Namespace) -> list[Finding]:
    """Return a finding if the settings here select another store than the clone's."""
    from dibs.core.text.findings import Finding
    from dibs.project.engines import is_recorded
    from dibs.project.location import locate

    try:
        is_recorded(locate(args.repo, lenient=True))
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


def _prove(
    session: Session, agents: Sequence[AgentSetup], missing: Sequence[Gap]
) -> Iterator[GuardProof]:
    """Test every guard, one at a time."""
    from dibs.install.inspect.gaps import inactive
    from dibs.install.prove.git import prove_gates
    from dibs.install.prove.hooks import prove_hooks
    from dibs.install.prove.mcp import prove_servers
    from dibs.install.prove.plugins import prove_plugins
    from dibs.services.guard.trial_claims import TrialClaim

    repository = session.project.place.repository
    hooks = [hook for agent in agents for hook in agent.hooks]
    store, state = session.project.store, repository.state
    with TrialClaim(store, state) as scratch:
        yield from prove_hooks(hooks, repository.root, scratch)
        yield from prove_plugins(hooks, repository.root, scratch)
    # The hooks made this process a test agent's, which may not use another name in an MCP server.
    with TrialClaim(store, state) as scratch:
        yield from prove_servers(agents, repository.root, scratch)
    yield from prove_gates(repository)
    yield from (gap.as_proof() for gap in (*missing, *inactive(agents)))


def _is_bad(found: Sequence[Finding]) -> bool:
    return any(finding.level == Level.BAD for finding in found)
