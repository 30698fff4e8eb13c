"""The report of ``dibs doctor``, for people and as JSON."""

from __future__ import annotations

from dibs.cli.support.tables import fold, page_width, table
from dibs.cli.support.text import bold, green, printable, red, yellow
from dibs.core.text.findings import Level
from dibs.core.text.names import few, plural
from dibs.install.inspect.agents import guarded_by
from dibs.install.inspect.gaps import NOT_ACTIVE
from dibs.install.prove.run import ProofOutcome
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dibs.install.inspect.checkup import Checkup
    from dibs.install.prove.run import GuardProof

#: The word for a level or an outcome on the screen, and its color.
_WORDS: dict[str, tuple[str, Callable[[str], str]]] = {
    Level.OK: ("ok", green),
    Level.WARN: ("warning", yellow),
    Level.BAD: ("problem", red),
    ProofOutcome.PROVED: ("blocked", green),
    ProofOutcome.FAILED: ("FAILED", red),
    ProofOutcome.UNTRIED: ("skipped", yellow),
}
_WORD, _NAME = 7, 12
#: On a narrower page, texts continue below their heading.
_NARROW = 60


class DoctorReport(Record):
    """The result of one ``dibs doctor``."""

    checkup: Checkup
    #: The results of testing the guards; None if they were not tested.
    proofs: list[GuardProof] | None
    #: What to run if there are problems; empty if that is in the findings.
    fix: str = "run `dibs doctor --fix` to repair what it can"

    @property
    def guarded(self) -> bool:
        """Whether at least one guard was tested and none failed."""
        outcomes = [proof.outcome for proof in self.proofs or ()]
        return ProofOutcome.FAILED not in outcomes and ProofOutcome.PROVED in outcomes

    @property
    def well(self) -> bool:
        """Whether nothing is wrong and no tested guard failed."""
        return self.checkup.well and (self.proofs is None or self.guarded)

    def shape(self) -> dict[str, object]:
        """Return it as JSON."""
        shape = {**self.checkup.shape(), "well": self.well}
        if self.proofs is not None:
            shape["proofs"] = [proof._asdict() for proof in self.proofs]
        return shape

    def print(self) -> None:
        """Print the findings and the verdict."""
        self._print_findings()
        self._print_health()

    def print_as_tested(self, proofs: Iterator[GuardProof]) -> None:
        """Print the findings, each guard as soon as it is tested, and the verdict."""
        assert self.proofs is not None
        self._print_findings()
        print(bold("testing guards: each must block a write to a claimed file"), flush=True)
        for proof in proofs:
            self.proofs.append(proof)
            said = "" if proof.outcome == ProofOutcome.PROVED else f": {printable(proof.said)}"
            _print_item(proof.outcome, proof.guard, proof.what + said)
        print()
        self._print_guarded()
        self._print_health()

    def _count(self, level: str) -> int:
        return sum(
            finding.level == level for part in self.checkup.found.values() for finding in part
        )

    def _print_findings(self) -> None:
        if self.checkup.done is not None:
            done = "\n".join(map(printable, self.checkup.done))
            print(done or "nothing to repair", end="\n\n")
        for part in self.checkup.found.values():
            for finding in part:
                _print_item(finding.level, printable(finding.what), printable(finding.text))
        print()
        rows = [
            (
                agent.name,
                printable(agent.version or "yes") if agent.program else "no",
                _hooks(agent.name, guarded_by(agent.name, self.checkup.agents)),
                agent.accepted or "-",
                "yes" if agent.servers else "no",
            )
            for agent in self.checkup.agents
        ]
        if rows:
            heading = ("AGENT", "INSTALLED", "HOOKS", "ACCEPTED", "MCP")
            print("\n".join(table(heading, rows)), end="\n\n", flush=True)

    def _print_guarded(self) -> None:
        proofs = self.proofs or ()
        outcomes = [proof.outcome for proof in proofs if proof.what != NOT_ACTIVE]
        skipping = [proof.guard for proof in proofs if proof.what == NOT_ACTIVE]
        passed, failed = (
            outcomes.count(word) for word in (ProofOutcome.PROVED, ProofOutcome.FAILED)
        )
        if not proofs:
            print(red("no guards are installed:"), "run `dibs init --agents claude`")
        elif failed:
            print(red(f"{failed} of {plural(len(outcomes), 'guard')} did not block the test write"))
        elif not passed:
            print(red(f"none of {plural(len(outcomes), 'guard')} could be tested"))
        else:
            untested = len(outcomes) - passed
            which = "the only guard" if passed == 1 else f"all {passed} guards"
            more = f", {untested} could not be tested" if untested else ""
            print(green(f"{which} blocked the test write") + more)
        if skipping:
            print(red(f"not guarded yet: {few(skipping)}"))

    def _print_health(self) -> None:
        bad, warned = self._count(Level.BAD), self._count(Level.WARN)
        warnings = f", {plural(warned, 'warning')}" if warned else ""
        if bad:
            fix = "" if self.checkup.done is not None or not self.fix else f": {self.fix}"
            print(f"{red(plural(bad, 'problem'))}{warnings}{fix}")
        elif self.well:
            print(green("healthy") + warnings)


def _print_item(level: str, name: str, text: str) -> None:
    """Print one line for a finding or a tested guard; a long text continues under its beginning."""
    word, paint = _WORDS[level]
    width = page_width()
    if len(f"{word} {name}: {text}") <= width < _NARROW:
        print(f"{paint(word)} {bold(name)}: {text}")
        lines, before = [], ""
    elif width < _NARROW:
        print(f"{paint(word)} {bold(name)}")
        lines, before = fold(text, width - 2), "  "
    else:
        column = _WORD + _NAME + 4
        print(paint(word) + " " * (_WORD + 2 - len(word)) + name.ljust(_NAME), end="  ")
        lines = fold(text, width - column) or [""]
        print(lines.pop(0))
        before = " " * column
    print("".join(f"{before}{line}\n" for line in lines), end="", flush=True)


def _hooks(agent: str, lender: str) -> str:
    """Return whether an agent has hooks, and whose they are if it uses another agent's."""
    return f"{lender}'s" if lender not in {"", agent} else "yes" if lender else "no"
