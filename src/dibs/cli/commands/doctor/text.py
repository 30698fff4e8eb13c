"""What ``dibs doctor`` found, for people and as JSON."""

from __future__ import annotations

from dibs.cli.support.tables import table
from dibs.cli.support.text import green, printable, red, yellow
from dibs.core.text.findings import Level
from dibs.install.inspect.gaps import guarded_by
from dibs.install.prove.run import ProofOutcome
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.text.findings import Finding
    from dibs.core.toolcalls.coverage import GuardStatus
    from dibs.install.inspect.agents import AgentSetup
    from dibs.install.prove.run import GuardProof


class DoctorReport(Record):
    """The result of one ``dibs doctor``."""

    found: dict[str, list[Finding]]
    agents: list[AgentSetup]
    standings: list[GuardStatus]
    #: What came of trying the guards; None if they were not tried.
    proofs: list[GuardProof] | None
    #: The repairs that were made; None without ``--fix``.
    done: list[str] | None

    @property
    def guarded(self) -> bool:
        """Whether every guard that was tried refused; that there is none guards nothing."""
        tried = [proof.outcome for proof in self.proofs or ()]
        return ProofOutcome.FAILED not in tried and ProofOutcome.PROVED in tried

    @property
    def well(self) -> bool:
        """Whether nothing is wrong, the guards among it if they were tried."""
        return not self._count(Level.BAD) and (self.proofs is None or self.guarded)

    def shape(self) -> dict[str, object]:
        """Return it as JSON."""
        shape: dict[str, object] = {
            "well": self.well,
            "findings": [
                {"part": part, **finding._asdict()}
                for part, findings in self.found.items()
                for finding in findings
            ],
            "agents": [_agent(agent) for agent in self.agents],
            "crew": [standing._asdict() for standing in self.standings],
        }
        if self.proofs is not None:
            shape["proofs"] = [proof._asdict() for proof in self.proofs]
        return shape if self.done is None else {**shape, "done": self.done}

    def print(self) -> None:
        """Print it."""
        if self.done is not None:
            done = "\n".join(map(printable, self.done))
            print(done or "there was nothing to put right", end="\n\n")
        _print_table(("LEVEL", "PART", "WHAT", "FINDING"), [
            (finding.level, part, printable(finding.what), printable(finding.text))
            for part, findings in self.found.items()
            for finding in findings
        ])  # fmt: skip
        _print_table(("AGENT", "INSTALLED", "HOOKS", "ACCEPTED", "MCP"), [
            (
                agent.name,
                printable(agent.version or "yes") if agent.program else "no",
                _hooks(agent.name, guarded_by(agent.name, self.agents)),
                agent.consent.trusted if agent.wired else "-",
                "yes" if agent.servers else "no",
            )
            for agent in self.agents
        ])  # fmt: skip
        _print_table(("PROOF", "GUARD", "TRIED", "ANSWER"), [
            (proof.outcome.upper(), proof.guard, proof.what, printable(proof.said))
            for proof in self.proofs or ()
        ])  # fmt: skip
        if self.proofs == []:
            print("no guard is installed, so nothing is proved: `dibs init --agents claude,…`\n")
        self._print_end()

    def _count(self, level: str) -> int:
        return sum(finding.level == level for part in self.found.values() for finding in part)

    def _print_end(self) -> None:
        bad, warned = self._count(Level.BAD), self._count(Level.WARN)
        if self.proofs:
            tried = [proof.outcome for proof in self.proofs]
            failed, proved = tried.count(ProofOutcome.FAILED), tried.count(ProofOutcome.PROVED)
            if self.guarded:
                print(f"{green('guarded')}: {proved} of {len(tried)} were tried, and refuse")
            elif failed:
                print(f"{red('not guarded')}: {failed} of {len(tried)} do not refuse")
            else:
                print(f"{red('not guarded')}: none of {len(tried)} could be tried")
        if bad:
            more = "" if self.done is not None else "; `dibs doctor --fix` puts right what can be"
            print(f"{red('not well')}: {bad} to settle{more}")
        elif self.well:
            print(f"{yellow('well')}, with {warned} to know" if warned else green("all is well"))


def _print_table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    if rows:
        print("\n".join(table(head, rows)), end="\n\n")


def _agent(agent: AgentSetup) -> dict[str, object]:
    return {
        "agent": agent.name,
        "installed": bool(agent.program),
        "version": agent.version or None,
        "hooks": [
            {"event": hook.event, "file": hook.file, "refuses": hook.refuses}
            for hook in agent.hooks
        ],
        "mcp": [server.file for server in agent.servers],
        "guarded": agent.wired,
        "accepted": agent.consent.trusted if agent.wired else None,
        "note": agent.consent.text if agent.wired else "",
    }


def _hooks(agent: str, lender: str) -> str:
    """Return whether an agent has hooks, and whose they are where they are not its own."""
    return f"{lender}'s" if lender not in {"", agent} else "yes" if lender else "no"
