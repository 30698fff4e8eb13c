"""Print the answer to a claim: granted, queued, or denied, and what to do next."""

from __future__ import annotations

from dibs.cli.support.text import (
    claim_line,
    claim_terms,
    conflict_details,
    conflict_line,
    dim,
    green,
    printable,
    red,
    yellow,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.core.claims.agents import Caller
    from dibs.core.claims.rules import Denied, Granted, LeftWork, Outcome, Queued
    from dibs.shapes.quoting import Quoting

#: More lines than this become a summary with the first few.
_MANY, _FIRST = 10, 5


def show_outcome(
    value: Outcome,
    now: float,
    reader: Caller,
    own_reason: str = "",
    *,
    verbose: bool = False,
    waited: str | float | None = None,
    steps: Sequence[str] = (),
) -> None:
    """Print the answer to a claim that its reader made for ``own_reason`` and ``waited`` for.

    ``steps`` replace the usual next steps.
    """
    from dibs.core.claims.rules import Granted

    if isinstance(value, Granted):
        _show_granted(value, now, reader, own_reason, verbose=verbose)
        for line in shortened([_left_line(one) for one in value.left], verbose=verbose):
            print(line)
        return
    from dibs.shapes.claims import next_steps
    from dibs.shapes.quoting import Quoting

    quoted = Quoting(reader, [str(value)])
    for line in quoted.page(_conflict_lines(value, quoted), _headlines(value, quoted, waited)):
        print(line)
    for step in steps or next_steps(value, human=reader.human):
        print(f"  {dim('-')} {printable(step)}")


def show_warnings(warnings: Sequence[str]) -> None:
    """Print warnings on standard error."""
    import sys

    sys.stdout.flush()
    for line in shortened(
        [f"dibs: warning: {printable(text)}" for text in warnings], verbose=False
    ):
        print(line, file=sys.stderr)


def shortened(lines: Sequence[str], *, verbose: bool) -> list[str]:
    """Return the first few of many lines and how many are left out, or all with ``-v``."""
    if verbose or len(lines) <= _MANY:
        return list(lines)
    return [*lines[:_FIRST], f"  ... and {len(lines) - _FIRST} more (-v lists all)"]


def _show_granted(
    value: Granted, now: float, reader: Caller, own_reason: str, *, verbose: bool
) -> None:
    token = verbose or not reader.human
    left = [expires - now for expires in value.expires]
    if len(value.claims) > _MANY and not verbose:
        terms = claim_terms(value.claims[0], min(left), token=token)
        print(f"{green('granted')} {len(value.claims)} paths ({terms})")
        paths = [f"  {printable(claim.pattern)}" for claim in value.claims]
        print("\n".join(shortened(paths, verbose=False)))
        return
    quoted = None
    if any(claim.reason not in {"", own_reason} for claim in value.claims):
        from dibs.shapes.quoting import Quoting

        quoted = Quoting(reader, [str(value)])  # a transferred claim keeps its reason
    lines = [
        f"{green('granted')} {claim_line(claim, seconds, quoted, token=token)}"
        for claim, seconds in zip(value.claims, left, strict=True)
    ]
    print("\n".join(quoted.page(lines) if quoted else lines))


def _left_line(left: LeftWork) -> str:
    """Return whose uncommitted changes a claimed file contains."""
    path = printable(left.path)
    whose = f"{path} contains {left.agent}'s uncommitted changes ({left.about}"
    return f"  {yellow('note')}: {whose}; to commit both: dibs commit --inherited -m MESSAGE)"


def _headlines(value: Queued | Denied, quoted: Quoting, waited: str | float | None) -> list[str]:
    """Return the first line, which names the only conflict or counts them."""
    from dibs.core.claims.rules import Queued

    count = len(value.conflicts)
    found = conflict_line(value.conflicts[0], quoted) if count == 1 else f"{count} conflicts"
    if isinstance(value, Queued):
        return [f"{yellow('queued')} at position {value.ahead + 1}: {found}"]
    denied = red("denied")
    if value.why == "deadlock":
        cycle = ", ".join(
            f"{w.agent} waits for {w.holder} ({quoted.path(w.pattern, w.agent)})"
            for w in value.cycle
        )
        return [f"{denied}: waiting would deadlock: {cycle}", f"  {found}"]
    if value.why == "timeout":
        from dibs.core.text.durations import check_wait, show_span

        after = f" after {show_span(check_wait(waited))}" if waited else ""
        left = found if count > 1 else conflict_line(value.conflicts[0], quoted, still=" still")
        return [f"{red('timed out')}{after}: {left}"]
    if value.why == "refused":
        reason = f": {quoted.word(value.reason, value.by)}" if value.reason else ""
        return [f"{denied}: {value.by} refused it ({value.decision}){reason}", f"  {found}"]
    return [f"{denied}: {found}"]


def _conflict_lines(value: Queued | Denied, quoted: Quoting) -> list[str]:
    """Return the reasons, and the conflicts themselves where there are several."""
    lines = []
    for conflict in value.conflicts:
        details = conflict_details(conflict, quoted)
        if len(value.conflicts) > 1:
            lines.append(f"  {conflict_line(conflict, quoted)}")
            details = [f"  {detail}" for detail in details]
        lines += [f"  {detail}" for detail in details]
    return lines
