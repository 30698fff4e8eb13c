"""What a plain ``git commit`` may contain: the rule that the git hooks enforce.

Pure. A path is refused if another agent than the commit's author holds a live exclusive claim on it. A commit
that only repeats a replaced one (an amended message, a rebase) passes.
"""

from __future__ import annotations

from dibs.core.claims.rules import EXCLUSIVE
from dibs.core.patterns.pattern import parse
from dibs.core.patterns.spelling import MAX_DEPTH, join_scheme
from dibs.core.patterns.tokens import FORBIDDEN
from dibs.errors import BadInput
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.core.claims.rules import Claim
    from dibs.core.patterns.pattern import Pattern

_SPECIAL = frozenset("*?[]{}\\")


class PlainCommit(Record):
    """The paths of a commit, and who made it, if known."""

    paths: tuple[str, ...]
    commit: str = ""
    #: The agent that made it according to the store; empty if unknown.
    maker: str = ""


def pattern_of(path: str, *, fold_case: bool) -> Pattern:
    """Return the pattern that claims on ``path`` overlap.

    A path that cannot be claimed itself, because it is too long or has control characters, can still be
    inside a claimed folder.
    """
    try:
        return parse(join_scheme("", path), literal=True, fold_case=fold_case)
    except BadInput:
        pass
    # Nothing deeper can be claimed, and trying one segment at a time takes seconds.
    within = "/".join(path.split("/", MAX_DEPTH)[:MAX_DEPTH])
    spelled = "".join(_spelled(character) for character in within)
    spelled += "/" if within != path else ""
    while spelled:
        try:
            return parse(f"./{spelled}", fold_case=fold_case)
        except BadInput:
            spelled = spelled.rstrip("/").rpartition("/")[0]
            spelled += "/" if spelled else ""
    return parse("**", fold_case=fold_case)


def _spelled(character: str) -> str:
    if character in FORBIDDEN:
        return "?"
    return f"\\{character}" if character in _SPECIAL else character


def stands_against(claim: Claim, agents: Iterable[str]) -> bool:
    """Return whether a live claim prevents all of ``agents`` from committing."""
    return claim.mode == EXCLUSIVE and claim.agent not in agents


def only_new(
    changes: Iterable[tuple[str, str, str]], replaced: Sequence[Iterable[tuple[str, str, str]]]
) -> tuple[str, ...]:
    """Return the paths of ``changes`` (path, before, after) that the ``replaced`` commits did not contain.

    Several replaced commits may have become one. The same result from a different start is new: it undoes
    a change that happened in between.
    """
    said = [change for commit in replaced for change in commit]
    starts = {(path, before) for path, before, _ in said}
    ends = {(path, after) for path, _, after in said}
    return tuple(
        dict.fromkeys(
            path
            for path, before, after in changes
            if (path, before) not in starts or (path, after) not in ends
        )
    )
