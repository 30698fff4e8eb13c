"""Guards that ``dibs init`` installed and that no longer work: removed, narrowed, or switched off.

Testing the guards that exist does not reveal a missing one.
"""

from __future__ import annotations

from dibs.core.text.findings import Finding, Level
from dibs.core.text.names import few
from dibs.guard.git.install import GitHooks
from dibs.install import manifest
from dibs.install.agents.table import AGENTS
from dibs.install.inspect.consent import Trusted
from dibs.install.prove.hooks import covers
from dibs.install.prove.run import failed
from dibs.install.prove.trials import SHELL, WRITE
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dibs.install.inspect.agents import AgentSetup
    from dibs.install.prove.run import GuardProof
    from dibs.local.repository import Repository


#: The result for an agent whose hooks the user has not accepted.
NOT_ACTIVE = "NOT active until trusted"


class Gap(Record):
    """One guard that is missing."""

    guard: str
    what: str
    text: str

    def as_proof(self) -> GuardProof:
        """Return it as a failed guard test: nothing blocks the write."""
        return failed(self.guard, self.what, self.text)


def as_findings(missing: Sequence[Gap]) -> list[Finding]:
    """Return a warning for all gaps with the same guard and repair."""
    same: dict[tuple[str, str], list[str]] = {}
    for gap in missing:
        same.setdefault((gap.guard, gap.text), []).append(gap.what)
    return [
        Finding(Level.WARN, guard, f"{few(names)}: {text}") for (guard, text), names in same.items()
    ]


def gaps(repository: Repository, seen: Sequence[AgentSetup]) -> list[Gap]:
    """Return the guards that ``dibs init`` installed in this working tree and that are missing."""
    known = manifest.load(repository)
    agents = {one.name: one for one in seen}
    found = [gap for name in known.agents for gap in _of_agent(name, agents)]
    if known.gates and repository.common:
        there = GitHooks(repository.common, repository.state).look()
        found += [
            Gap("git", hook.name, "not installed, or cannot run: run `dibs git install`")
            for hook in there
            if not hook.installed
        ]
    return found


def inactive(seen: Sequence[AgentSetup]) -> list[Gap]:
    """Return the agents that have hooks and do not run them: untrusted, or disabled by a setting."""
    return [_inactive(one) for one in seen if one.wired and one.consent.missing]


def _inactive(one: AgentSetup) -> Gap:
    if one.consent.trusted == Trusted.OFF:
        return Gap(one.name, "hooks", one.consent.text)
    return Gap(one.name, NOT_ACTIVE, one.consent.how)


def _of_agent(name: str, agents: dict[str, AgentSetup]) -> Iterator[Gap]:
    lenders = AGENTS[name].lenders
    wired = [agents[lender] for lender in lenders if lender in agents and agents[lender].wired]
    if not wired:
        yield Gap(name, "hooks", f"no hook blocks writes: {_repair(name, agents)}")
        return
    if name not in lenders:
        return
    for what in (WRITE, SHELL):
        if not any(covers(hook, what) for hook in wired[0].hooks if hook.refuses):
            yield Gap(name, what, f"no hook checks it: {_repair(name, agents)}")


def _repair(name: str, agents: dict[str, AgentSetup]) -> str:
    """Return how to install an agent's hooks again; a file that cannot be read has to be fixed first."""
    lenders = [agents[lender] for lender in AGENTS[name].lenders if lender in agents]
    bad = [file.file for one in lenders for file in one.unreadable]
    before = f"fix {bad[0]}, then " if bad else ""
    return f"{before}run `dibs init --agents {name}`"
