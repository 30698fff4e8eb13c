"""Find what is wrong with the crew, its guards, the board, the state and git; --fix puts it right.

Examples:
  dibs doctor
  dibs doctor --fix
  dibs doctor --prove

No file that holds work of somebody is deleted: what cannot be settled is told, and kept. Of agents it tells
which are installed, which have hooks, whether their user has accepted these, and who wrote without. Of git
it tells commits and merges that a killed process has not finished, locks that it left, settings that name a
program, and hooks that changed since the last look.

--prove asks each guard that is installed for what it must refuse: it runs the hook commands of the agents'
settings, commits and pushes in a working tree of its own, and claims through the MCP server.

exit status: 0 nothing is wrong, 65 something of the board is or a guard does not refuse,
78 the engine is not safe to use
"""

from __future__ import annotations

import os

from dibs.core.text.findings import Level

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from dibs.cli.support.session import Session
    from dibs.core.text.findings import Finding
    from dibs.install.inspect.agents import AgentSetup
    from dibs.install.inspect.gaps import Gap
    from dibs.install.prove.run import GuardProof
    from dibs.services.commits.doctor import GitCare

WRONG, UNSAFE = 65, 78


def configure(parser: ArgumentParser) -> None:
    """Add the options of ``dibs doctor``."""
    parser.add_argument("--fix", action="store_true", help="put right what can be, then look again")
    parser.add_argument(
        "--prove", action="store_true", help="try every guard: each must refuse a write"
    )


def run(args: Namespace) -> int:
    """Look at everything, maybe repair it, maybe try the guards, and tell."""
    from dibs.cli.commands.doctor.text import DoctorReport
    from dibs.cli.support.session import Session
    from dibs.install.inspect.agents import look
    from dibs.install.inspect.gaps import gaps

    with Session(args) as session:
        repository = session.project.place.repository
        agents = look(repository.root, os.path.expanduser("~"), os.environ)
        done = _repair(session) if args.fix else None
        missing = gaps(repository, agents)
        found = _findings(session, agents, missing)
        proofs = _prove(session, agents, missing) if args.prove else None
        report = DoctorReport(found, agents, session.project.doctoring.standings(), proofs, done)
        session.show(report.shape, report.print)
    if _is_bad(found["engine"]):
        return UNSAFE
    return 0 if report.well else WRONG


def _git(session: Session) -> GitCare:
    from dibs.guard.git.install import GitHooks
    from dibs.services.commits.doctor import GitCare

    repository = session.project.place.repository
    ours: frozenset[str] = frozenset()
    if repository.common:
        hooks = GitHooks(repository.common, repository.state).look()
        ours = frozenset(hook.name for hook in hooks if hook.current)
    return GitCare(repository, session.project.gate, ours)


def _repair(session: Session) -> list[str]:
    import time

    from dibs.install.prove.git import sweep
    from dibs.services.board import check as boards

    project, caller = session.project, session.caller
    done = [*project.engine.repair(), *boards.repair(project.board, caller)]
    done += [*project.doctoring.repair(caller), *_git(session).repair()]
    return [*done, *sweep(project.place.repository, time.time())]


def _findings(
    session: Session, agents: Sequence[AgentSetup], missing: Sequence[Gap]
) -> dict[str, list[Finding]]:
    from dibs import __version__
    from dibs.install.inspect.agents import findings, unreachable, unwired
    from dibs.services.board import check as boards

    project = session.project
    root = project.place.repository.root
    wired = any(agent.wired for agent in agents)
    trees = project.doctoring.trees()
    return {
        "engine": project.engine.inspect(),
        "board": boards.check(project.board, root),
        "git": _git(session).inspect(),
        "crew": project.doctoring.inspect(__version__, wired=wired),
        "agents": [
            *findings(agents, root),
            *(gap.as_finding() for gap in missing),
            *unreachable(agents, os.environ),
            *unwired(root, trees, os.path.expanduser("~"), os.environ),
        ],
    }


def _prove(
    session: Session, agents: Sequence[AgentSetup], missing: Sequence[Gap]
) -> list[GuardProof]:
    from dibs.install.inspect.gaps import switched_off
    from dibs.install.prove.git import prove_gates
    from dibs.install.prove.hooks import prove_hooks
    from dibs.install.prove.mcp import prove_servers
    from dibs.install.prove.plugins import prove_plugins
    from dibs.services.guard.trial_claims import TrialClaim

    repository = session.project.place.repository
    hooks = [hook for agent in agents for hook in agent.hooks]
    with TrialClaim(session.project.store, repository.state) as scratch:
        proofs = prove_hooks(hooks, repository.root, scratch)
        proofs += prove_plugins(hooks, repository.root, scratch)
        proofs += prove_servers(agents, repository.root, scratch)
    proofs += prove_gates(repository)
    return [*proofs, *(gap.as_proof() for gap in (*missing, *switched_off(agents)))]


def _is_bad(found: Sequence[Finding]) -> bool:
    return any(finding.level == Level.BAD for finding in found)
