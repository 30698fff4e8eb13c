"""What a plain commit may hold: the rule that hooks of git keep.

Pure. A path of a new commit is stopped by a live exclusive claim of somebody other than whoever made the
commit. A commit that only says again what a replaced one said (an amended message, a rebase) changes nothing
that anybody could hold, and so passes.
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
    """Paths that somebody commits: the commit if there is one already, and who is known to have made it."""

    paths: tuple[str, ...]
    commit: str = ""
    #: Whoever the store says made it; empty for a commit that it knows nothing of.
    maker: str = ""


def pattern_of(path: str, *, fold_case: bool) -> Pattern:
    """Return the pattern that claims on ``path`` overlap.

    A name that cannot be claimed as it stands, because of a control character in it or its length, can still
    be inside of what somebody claims.
    """
    try:
        return parse(join_scheme("", path), literal=True, fold_case=fold_case)
    except BadInput:
        pass
    # Deeper than this nothing can be claimed; to find that out one segment at a time takes seconds.
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
    """Tell whether a live claim keeps all of ``agents`` from committing what it names."""
    return claim.mode == EXCLUSIVE and claim.agent not in agents


def only_new(
    changes: Iterable[tuple[str, str, str]], replaced: Sequence[Iterable[tuple[str, str, str]]]
) -> tuple[str, ...]:
    """Return the paths of ``changes`` (path, before, after) that ``replaced`` commits did not change so.

    Several of these may be one now. What comes to the same from something else is new: it undoes what
    somebody made of the path meanwhile.
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
