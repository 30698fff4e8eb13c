"""What a commit may contain: the claim that covers each path, and the owners of the other changed paths.

Pure. A path is covered by the agent's live, exclusive claim on a pattern that matches it. A shared claim
never allows writing.
"""

from __future__ import annotations

from dibs.core.claims.protected import guarded
from dibs.core.claims.rules import EXCLUSIVE, from_top
from dibs.core.patterns.pattern import matches
from dibs.core.text.names import typed_in
from dibs.startup.records import Record, TextEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from dibs.core.claims.rules import Claim
    from dibs.core.patterns.pattern import Pattern


class BlockReason(metaclass=TextEnum):
    """Why a path cannot be in a commit."""

    HELD = "held"
    UNCLAIMED = "unclaimed"
    SHARED = "shared"
    GUARDED = "guarded"
    NESTED = "nested"
    #: It contains another agent's lines that are in no commit.
    INHERITED = "inherited"
    #: It would undo what others committed since the agent last read the file.
    UNDOES = "undoes"
    #: A hook staged a version of it without lines that have landed.
    DROPPED = "dropped"


class OwnedPattern(Record):
    """A live claim with its parsed pattern, and the seconds until it expires."""

    claim: Claim
    pattern: Pattern
    expires_in: float
    #: The key of its row.
    key: str = ""
    #: Whether it lasts while its owner's process runs.
    while_running: bool = False


class Blocked(Record):
    """A path that cannot be in a commit: who holds it, until when, and what to do."""

    path: str
    why: str
    holder: str = ""
    pattern: str = ""
    expires_in: float = 0.0
    hint: str = ""
    #: The owner's reason.
    reason: str = ""
    task: str = ""
    #: The commit that would be undone, if any, the other version's lines, and the committer's own.
    commit: str = ""
    landed: tuple[str, ...] = ()
    yours: tuple[str, ...] = ()
    #: Whether the claim lasts while its owner's process runs.
    while_running: bool = False
    #: How many lines of the other version are in no commit; 0 if unknown.
    lines: int = 0


class Sorted(Record):
    """Changed paths by owner."""

    #: Path to the claim that covers it.
    mine: dict[str, OwnedPattern]
    #: Paths that other agents hold, or that the agent holds only as a shared claim.
    others: tuple[Blocked, ...]
    #: Unclaimed paths.
    nobody: tuple[str, ...]
    #: Paths that the agent holds but may not commit.
    guarded: tuple[Blocked, ...]


class Cover:
    """An index of live claims on paths."""

    __slots__ = ("_exact", "_other")

    def __init__(self, claims: Iterable[OwnedPattern]) -> None:
        self._exact: dict[str, list[OwnedPattern]] = {}
        self._other: list[tuple[str, OwnedPattern]] = []
        for held in claims:
            pattern = held.pattern
            if pattern.scheme:
                continue
            text = pattern.text
            plain = text.isascii() and "\\" not in text and text[:2] != "./"
            if pattern.literal and plain and pattern.key in {text, text.lower()}:
                self._exact.setdefault(pattern.key, []).append(held)
            else:
                self._other.append((_start(pattern) if plain else "", held))

    def of(self, path: str) -> Iterator[OwnedPattern]:
        """Yield the claims that match ``path``, spelled as in the file system."""
        if path.isascii():
            yield from (h for h in self._exact.get(path.lower(), ()) if _fits(h, path))
            if path.lower() != path:
                yield from self._exact.get(path, ())
            lowered = path.lower()
            for start, held in self._other:
                if lowered.startswith(start) and matches(held.pattern, f"./{path}"):
                    yield held
            return
        # A letter may fold to ASCII, so every claim is checked.
        for some in self._exact.values():
            yield from (held for held in some if matches(held.pattern, f"./{path}"))
        for _, held in self._other:
            if matches(held.pattern, f"./{path}"):
                yield held

    def holder(self, path: str) -> str:
        """Return the agent with a claim on ``path``; empty if there is none."""
        return next((held.claim.agent for held in self.of(path)), "")

    def exclusive(self, agent: str, path: str) -> OwnedPattern | None:
        """Return the claim that lets ``agent`` write ``path``."""
        for held in self.of(path):
            if held.claim.agent == agent and held.claim.mode == EXCLUSIVE:
                return held
        return None


def _start(pattern: Pattern) -> str:
    """Return the lower-case prefix of every match of a plain ASCII glob."""
    text = pattern.text.lower()
    special = min((at for at in map(text.find, "*?[{") if at >= 0), default=len(text))
    return text[: max(0, text.rfind("/", 0, special))]  # "a/" matches "a" as well


def _fits(held: OwnedPattern, path: str) -> bool:
    return held.pattern.folded or held.pattern.text == path


def sort(agent: str, paths: Iterable[str], cover: Cover, *, guards: bool) -> Sorted:
    """Sort changed paths by owner; with ``guards``, separate the agent's own protected files."""
    mine: dict[str, OwnedPattern] = {}
    others: list[Blocked] = []
    nobody: list[str] = []
    kept: list[Blocked] = []
    for path in paths:
        found = list(cover.of(path))
        own = next((h for h in found if _writes(h, agent)), None)
        if own is not None and guards and guarded(path):
            kept.append(guarded_path(path))
        elif own is not None:
            mine[path] = own
        elif found:
            others.append(in_the_way(agent, path, found))
        else:
            nobody.append(path)
    return Sorted(mine, tuple(others), tuple(nobody), tuple(kept))


def _writes(held: OwnedPattern, agent: str) -> bool:
    return held.claim.agent == agent and held.claim.mode == EXCLUSIVE


def in_the_way(agent: str, path: str, found: Iterable[OwnedPattern]) -> Blocked:
    """Return why ``agent`` may not commit ``path``; ``found`` are the claims that match it."""
    ranked = sorted(found, key=lambda h: (h.claim.agent == agent, h.claim.mode != EXCLUSIVE))
    first = ranked[0]
    if first.claim.agent == agent:
        return Blocked(
            path, BlockReason.SHARED, agent, first.claim.pattern, first.expires_in,
            "your claim is shared; claim it exclusively to commit it",
        )  # fmt: skip
    return held_path(path, first.claim, first.expires_in, while_running=first.while_running)


def held_path(
    path: str, claim: Claim, expires_in: float, *, while_running: bool = False
) -> Blocked:
    """Return that another agent holds ``path``."""
    return Blocked(
        path, BlockReason.HELD, claim.agent, claim.pattern, expires_in, _held_hint(path),
        claim.reason, claim.task, while_running=while_running,
    )  # fmt: skip


def unclaimed(path: str) -> Blocked:
    """Return that ``path`` is unclaimed."""
    return Blocked(path, BlockReason.UNCLAIMED, hint=_unclaimed_hint(path))


def in_folder(item: Blocked, folder: str) -> Blocked:
    """Return a blocked path with commands that work in ``folder`` of the repository."""
    here = typed_in(folder, item.path)
    hint = item.hint.replace(_held_hint(item.path), _held_hint(here))
    return item._replace(hint=hint.replace(_unclaimed_hint(item.path), _unclaimed_hint(here)))


def _held_hint(path: str) -> str:
    word = _shell_word(path)
    return f"request it: dibs ask {word}; or wait: dibs claim {word} --wait 5m"


def _unclaimed_hint(path: str) -> str:
    return f"claim it first: dibs claim {_shell_word(path)}"


def guarded_path(path: str) -> Blocked:
    """Return that ``path`` configures tools, so only humans may commit it."""
    return Blocked(
        path,
        BlockReason.GUARDED,
        hint="it configures tools: let a human commit it, or set [commit] guarded = anyone",
    )


def inherited_path(path: str, agent: str, view: str, lines: int = 0) -> Blocked:
    """Return that ``path`` has another agent's lines that are in no commit; 0 if their number is unknown."""
    return Blocked(path, BlockReason.INHERITED, agent, hint=f"compare: {view}", lines=lines)


def inherited_lines(item: Blocked) -> str:
    """Return whose lines a path has that are in no commit."""
    if not item.lines:
        return f"changes of {item.holder} are in no commit"
    one = item.lines == 1
    return f"{item.lines} line{'' if one else 's'} of {item.holder} {'is' if one else 'are'} in no commit"


def dropped_path(path: str, lines: tuple[str, ...], hook: str) -> Blocked:
    """Return that a hook staged ``path`` without these lines, which have landed and are on disk."""
    hint = f"let the {hook} hook change the file on disk, too, and stage it from there"
    return Blocked(path, BlockReason.DROPPED, hint=hint, landed=lines, lines=len(lines))


def undoing_path(path: str, agent: str, commit: str) -> Blocked:
    """Return that git's index still has ``path`` as it was before a commit."""
    hint = f"git read its index before that commit; update it: git reset -q -- {from_top(path)}"
    return Blocked(path, BlockReason.UNDOES, agent, hint=hint, commit=commit)


def staged_by(hook: str, blocked: Iterable[Blocked], chosen: Container[str]) -> list[Blocked]:
    """Name the hook in the hints for paths that it staged."""
    return [
        item
        if item.path in chosen
        else item._replace(hint=f"the {hook} hook staged it: change the hook, or {item.hint}")
        for item in blocked
    ]


def uncovered(agent: str, paths: Iterable[str], cover: Cover, *, guards: bool) -> list[Blocked]:
    """Return the paths that ``agent`` may not commit, with reasons."""
    found = sort(agent, paths, cover, guards=guards)
    return [*found.others, *map(unclaimed, found.nobody), *found.guarded]


def _shell_word(text: str) -> str:
    from shlex import (
        quote,  # imports re, which a hook that blocks nothing does not need
    )

    return quote(text)
