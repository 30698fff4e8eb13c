"""Merge commits with ``git merge-tree``, without checking anything out or moving a branch."""

from __future__ import annotations

import os
import re

from dibs.core.changes.forecasts import ForecastConflict
from dibs.core.changes.hunks import conflicting
from dibs.errors import Unavailable
from dibs.git.calls import checked, require_version
from dibs.git.objects import FILES, TreeEntry
from dibs.git.temp_objects import QUICK
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dibs.core.changes.hunks import Hunk
    from dibs.git.calls import GitCalls
    from dibs.git.temp_objects import TempObjects

#: The largest file that is searched for conflicting lines, in bytes.
LONGEST = 1 << 20
#: The first git that reads pairs to merge from its input.
OLDEST = (2, 39)
#: The most merges for one process, so that it does not time out.
BATCH = 100

_REASON = re.compile(r"CONFLICT \(([^)]*)\)")
_BINARY = "CONFLICT (binary)"
#: Git's exit status for conflicts.
_CONFLICTS = 1


class MergeConflict(Record):
    """A path that two branches changed in ways that git cannot merge."""

    path: str
    #: Git's term: ``contents``, ``modify/delete``, and so on.
    kind: str
    #: The number of conflicting hunks, or 0 if it is not text.
    hunks: int = 0


class MergeOutcome(Record):
    """The result of a merge; without conflicts, ``tree`` is the merged tree."""

    tree: str
    clashes: tuple[MergeConflict, ...] = ()


class MergeMessage(Record):
    """A message from git about some paths."""

    paths: tuple[str, ...]
    kind: str
    text: str


class Merged(Record):
    """The result of one merge in a batch."""

    clean: bool
    #: The merged files, with conflict markers.
    tree: str
    #: The sides of each conflicting path: 1 is the common ancestor, 2 the first commit, 3 the second.
    stages: dict[str, dict[int, TreeEntry]]
    messages: tuple[MergeMessage, ...]


def merged(git: GitCalls, ours: str, theirs: str) -> MergeOutcome:
    """Merge two commits; only write objects."""
    # Git must not move files by guessing folder renames, because scope is checked by path.
    result = git.run(
        "-c", "merge.directoryRenames=conflict", "merge-tree", "--write-tree", "-z", "--messages",
        "--end-of-options", ours, theirs,
    )  # fmt: skip
    if result.code != _CONFLICTS:
        return MergeOutcome(checked(result, "merge-tree").split(b"\0")[0].decode().strip())
    words = iter(result.out.split(b"\0"))
    tree = next(words).decode().strip()
    stages, messages = _conflicts(words)
    kinds: dict[str, str] = {}
    for message in messages:
        if message.kind.startswith("CONFLICT") and message.paths:
            kinds.setdefault(message.paths[0], message.kind.removeprefix("CONFLICT").strip(" ()"))
    return MergeOutcome(
        tree,
        tuple(
            MergeConflict(path, kinds.get(path, "contents"), _marks(git, tree, path))
            for path in dict.fromkeys([*stages, *kinds])
        ),
    )


def _marks(git: GitCalls, tree: str, path: str) -> int:
    """Count the conflicting hunks by the markers in the merged text."""
    result = git.run("cat-file", "blob", f"{tree}:{path}")
    return (
        0 if result.code else sum(line.startswith(b"<<<<<<< ") for line in result.out.split(b"\n"))
    )


class Merger:
    """Merges pairs of commits in ``scratch`` or in the repository."""

    def __init__(self, git: GitCalls, scratch: TempObjects) -> None:
        self._git = git
        self._scratch = scratch

    def merge(self, pairs: Sequence[tuple[str, str]]) -> list[Merged | Unavailable]:
        """Merge pairs of related commits, given by object name.

        A pair on which git fails does not stop the others.
        """
        found: list[Merged | Unavailable] = []
        for start in range(0, len(pairs), BATCH):
            batch = pairs[start : start + BATCH]
            try:
                found += self._merge_all(batch)
            except Unavailable as error:
                require_version(self._git, OLDEST)
                found += [error] if len(batch) == 1 else [self.merge([pair])[0] for pair in batch]
        return found

    def _merge_all(self, pairs: Sequence[tuple[str, str]]) -> list[Merged]:
        given = "".join(f"{one} {other}\n" for one, other in pairs)
        output = self._git.must(
            *QUICK, "merge-tree", "--write-tree", "--messages", "-z", "--stdin",
            given=given.encode(), variables=self._scratch.variables,
        )  # fmt: skip
        words = iter(output.split(b"\0")[:-1])
        return [_merged(word, words) for word in words]

    def clashes(
        self, pairs: Sequence[tuple[str, str]]
    ) -> list[tuple[ForecastConflict, ...] | Unavailable]:
        """Return the conflicts of each pair, with the kind and the lines of both sides."""
        return [
            merged if isinstance(merged, Unavailable) else self._clashes(*pair, merged)
            for pair, merged in zip(pairs, self.merge(pairs), strict=True)
        ]

    def _clashes(self, one: str, other: str, merged: Merged) -> tuple[ForecastConflict, ...]:
        if merged.clean:
            return ()
        plain = re.compile(f"~(?:{one}|{other})(?:_[0-9]+)?$")
        found: dict[str, ForecastConflict] = {}
        for path, sides in merged.stages.items():
            kind, note = _reason(path, sides, merged.messages)
            shown = plain.sub("", path)
            hunks: tuple[Hunk, ...] = ()
            if kind not in {"binary", "modify/delete"}:
                hunks = self._hunks(merged.tree, path, sides, one, other)
            if shown not in found or hunks:
                found[shown] = ForecastConflict(shown, kind, _named(note, one, other), hunks)
        if not found:  # git reports a conflict without a conflicting path
            for message in merged.messages:
                if message.kind.startswith("CONFLICT"):
                    path = plain.sub("", message.paths[0]) if message.paths else ""
                    note = _named(message.text, one, other)
                    found[path] = ForecastConflict(path, _kind(message), note, ())
        return tuple(found[path] for path in sorted(found))

    def _hunks(
        self, tree: str, path: str, sides: dict[int, TreeEntry], one: str, other: str
    ) -> tuple[Hunk, ...]:
        """Return the conflicting lines, if both sides are text files."""
        ours, theirs = sides.get(2), sides.get(3)
        if ours is None or theirs is None or not {ours.mode, theirs.mode} <= set(FILES):
            return ()
        texts = []
        whole = self._scratch.within(tree, path)
        if whole.mode not in FILES:
            return ()
        for oid in (whole.oid, ours.oid, theirs.oid):
            found = self._scratch.read(oid)
            if found is None or found[0] != "blob" or len(found[1]) > LONGEST:
                return ()
            texts.append(found[1])
        merged, mine, yours = texts
        return conflicting(merged, mine, yours, (one.encode(), other.encode()))


def _merged(first: bytes, words: Iterator[bytes]) -> Merged:
    """Parse one result of a batch; ``first`` is its first word."""
    tree = next(words).decode()
    return Merged(first == b"1", tree, *_conflicts(words))


def _conflicts(
    words: Iterator[bytes],
) -> tuple[dict[str, dict[int, TreeEntry]], tuple[MergeMessage, ...]]:
    """Parse what follows the merged tree: the sides of each path, then git's messages."""
    stages: dict[str, dict[int, TreeEntry]] = {}
    while line := next(words):
        about, _, path = line.partition(b"\t")
        mode, oid, number = about.decode().split()
        sides = stages.setdefault(os.fsdecode(path), {})
        sides[int(number)] = TreeEntry(mode, oid)
    messages = []
    # The messages end with nothing, or with advice about submodules.
    while (count := next(words, b"")).isdigit():
        paths = tuple(os.fsdecode(next(words)) for _ in range(int(count)))
        kind, text = (next(words).decode("utf-8", "replace") for _ in range(2))
        messages.append(MergeMessage(paths, kind, text.rstrip("\n")))
    return stages, tuple(messages)


def _reason(
    path: str, sides: dict[int, TreeEntry], messages: Iterable[MergeMessage]
) -> tuple[str, str]:
    """Return the kind of a conflict at a path, and git's message about it."""
    about = [m for m in messages if path in m.paths and m.kind.startswith("CONFLICT")]
    about.sort(key=lambda message: message.paths[0] != path)
    for message in about:
        if message.kind == _BINARY:
            return "binary", message.text
    if about:
        return _kind(about[0]), about[0].text
    return ("modify/delete" if len(sides) == 2 and 1 in sides else "conflict"), ""  # noqa: PLR2004


def _kind(message: MergeMessage) -> str:
    """Return git's most specific term for a conflict."""
    found = _REASON.search(message.text) or _REASON.search(message.kind)
    word = found.group(1) if found else "conflict"
    return "submodule" if word.startswith("submodule") else word


def _named(text: str, one: str, other: str) -> str:
    """Return git's message with readable names for the two commits."""
    return text.replace(one, "the first").replace(other, "the second")
