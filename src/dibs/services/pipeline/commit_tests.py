"""Built in: when someone commits, run the project's tests at that commit and report the result.

The tests run as before a merge: in a temporary working tree without anyone's work, which is removed
afterwards. If more commits arrive during a run, the next run tests only the newest one of each branch.
"""

from __future__ import annotations

from dibs.core.claims.ledger import Kind
from dibs.core.talk.mail import HUMANS, MailKind, Message, box_of
from dibs.core.text.names import few, printable
from dibs.core.text.secrets import mask
from dibs.errors import Fenced
from dibs.git.refs import HEADS
from dibs.services.pipeline.handlers import MARK, HandlerStopped
from dibs.services.state import mailbox
from dibs.services.state.commits import get_commit
from dibs.services.state.serving.faults import DIBS
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dibs.core.claims.ledger import Entry
    from dibs.services.merging.service import Merges
    from dibs.services.merging.values import Run
    from dibs.services.pipeline.handlers import Finish
    from dibs.services.state.rows import Rows

#: The name of the handler, and how many commits a result names.
NAME = "tests"
_NAMED = 20


class Tested(Record):
    """A tested commit: its entry, the entries of all commits it covers, and the run."""

    entry: Entry
    covers: tuple[Entry, ...]
    run: Run


class _Going:
    """Ends a run when the server stops."""

    def __init__(self, stopping: Callable[[], bool]) -> None:
        self._stopping = stopping

    @property
    def lost(self) -> str:
        return "the server stops" if self._stopping() else ""


def of_clone(rows: Rows, entries: Iterable[Entry], clone: str) -> list[Entry]:
    """Return the commits that were made in this clone; others do not have their objects here."""
    found = []
    for entry in entries:
        record = get_commit(rows, str(entry.details.get("commit", "")))
        if record is not None and record.get("clone") == clone:
            found.append(entry)
    return found


def newest(entries: Iterable[Entry]) -> list[tuple[Entry, tuple[Entry, ...]]]:
    """Return the newest commit of each branch, with all of the branch's commits."""
    branches: dict[str, list[Entry]] = {}
    for entry in entries:
        branches.setdefault(str(entry.details.get("ref", "")), []).append(entry)
    return [(group[-1], tuple(group)) for group in branches.values()]


def run_tests(
    merges: Merges, entries: Sequence[Entry], stopping: Callable[[], bool]
) -> Finish | None:
    """Test the newest commit of each branch; return the function that reports the results."""
    done: list[Tested] = []
    for entry, covers in newest(entries):
        commit = str(entry.details["commit"])
        try:
            run = merges.test(commit, f"commit {commit[:12]}", _Going(stopping))
        except Fenced as stopped:
            raise HandlerStopped from stopped
        if run is None:
            return None
        done.append(Tested(entry, covers, run))

    def finish(rows: Rows) -> None:
        for one in done:
            _report(rows, one)

    return finish


def _report(rows: Rows, tested: Tested) -> None:
    entry, run = tested.entry, tested.run
    commit, ref = str(entry.details["commit"]), str(entry.details.get("ref", ""))
    at = f"{commit[:10]} on {printable(ref.removeprefix(HEADS))}"
    said = f"the tests passed at {at}" if run.ok else f"the tests failed at {at}: {run.how}"
    commits = [str(one.details["commit"]) for one in tested.covers]
    lines = [mask(line) for line in run.tail]
    more = {} if run.ok else {"how": run.how, "output": lines, "log": run.log}
    rows.emit(
        DIBS, DIBS, Kind.TESTS_PASSED if run.ok else Kind.TESTS_FAILED, said,
        commit=commit, ref=ref, commits=commits[-_NAMED:], author=entry.agent, **{MARK: NAME}, **more,
    )  # fmt: skip
    _tell(rows, tested, said, lines)


def _tell(rows: Rows, tested: Tested, said: str, output: Sequence[str]) -> None:
    """Send the result to everyone whose commits the run covers and who still reads messages."""
    authors: dict[str, list[str]] = {}
    for one in tested.covers:
        authors.setdefault(box_of(one.agent, one.role), []).append(str(one.details["commit"])[:10])
    tip = str(tested.entry.details["commit"])[:10]
    for box, own in authors.items():
        if box != HUMANS and rows.beat(box) is None:
            continue
        earlier = [commit for commit in own if commit != tip]
        first = said + (f" (it contains your {few(earlier)})" if earlier else "")
        lines = [first, *output, *([f"all output: {tested.run.log}"] if output else [])]
        number = mailbox.next_id(rows)
        data = {"commit": tested.entry.details["commit"], "passed": tested.run.ok}
        text = "\n".join(lines)
        mailbox.put(
            rows,
            Message(number, rows.now, "", "", MailKind.TESTS, text, box, (box,), number, data=data),
        )
