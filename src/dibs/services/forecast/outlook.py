"""Compare the working trees and agents' branches of a clone; the same two commits are merged once."""

from __future__ import annotations

import os

from dibs.core.changes.forecasts import (
    Forecast,
    NotCovered,
    Pair,
    Party,
    can_meet,
    hunk_lines,
    joined,
)
from dibs.core.text.names import few, quote
from dibs.errors import NotFound, Unavailable
from dibs.git.attributes import Conversions, attribute_files
from dibs.git.log import ancestry, changes_between
from dibs.git.merge_tree import Merger
from dibs.git.refs import branches
from dibs.git.temp_objects import TempObjects
from dibs.services.commits.gate import nothing
from dibs.services.forecast.cache import Outcomes, salt_of
from dibs.services.forecast.trees import CloneTrees, left_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from dibs.core.changes.forecasts import Ancestry, ChangedPaths
    from dibs.git.calls import GitCalls
    from dibs.local.repository import Repository
    from dibs.services.worktrees.context import CloneTree

#: The prefix of agents' branches.
AGENTS = "agent/"


class Outlook:
    """The working trees and agents' branches of a clone, and the conflicts between them.

    ``into`` is the integration branch. New objects are written to ``folder``, which the caller creates and
    removes.
    """

    def __init__(
        self,
        repository: Repository,
        folder: str,
        into: str,
        *,
        git_of: Callable[[str], GitCalls],
        trees_of: Callable[[], list[CloneTree]],
    ) -> None:
        self._git = git_of(repository.root)
        self._into = into
        self._folder = folder
        self._scratch = TempObjects(self._git, repository.common, folder)
        self._merger = Merger(self._git, self._scratch)
        self._common = repository.common
        conversions = Conversions(self._git, self._common)
        self._trees = CloneTrees(self._scratch, git_of, conversions)
        self._outcomes = Outcomes(os.path.join(repository.state, "forecast.json"), self._salt())
        self._base = into
        #: Called with the current step, and how much of it is done.
        self.progress: Callable[[str, int, int], None] = nothing
        self._trees_of = trees_of
        self._places: list[CloneTree] = []
        self._tips: dict[str, str] = {}
        #: The paths that changed from one commit to another.
        self._touched: dict[tuple[str, str], ChangedPaths] = {}
        #: The same, including uncommitted changes.
        self._dirty: dict[tuple[str, str], ChangedPaths] = {}

    def close(self) -> None:
        """End all processes, and save the results for the next time."""
        self._scratch.close()
        self._outcomes.save()

    def look(self, names: Sequence[str] = ()) -> Forecast:
        """Read everything and return the forecast, limited to pairs with one of ``names`` if given."""
        self._survey()
        self._trees.read([place.path for place in self._places], self.progress)
        return self._forecast(names)

    def with_lines(self, found: Forecast) -> Forecast:
        """Return a forecast with the lines of all hunks; where a side cannot be read, there are none."""
        commits = {party.name: party.commit for party in found.parties}
        lines = {}
        for pair in found.pairs:
            for clash in pair.clashes or ():
                one, other = (self._content(commits[name], clash.path) for name in pair.names)
                if clash.hunks and one is not None and other is not None:
                    texts = tuple(hunk_lines(one, other, hunk) for hunk in clash.hunks)
                    lines[(*pair.names, clash.path)] = texts
        return found._replace(lines=lines)

    def _content(self, commit: str, path: str) -> bytes | None:
        entry = self._scratch.at(commit, path)
        found = self._scratch.read(entry.oid) if entry.oid else None
        return found[1] if found is not None and found[0] == "blob" else None

    def _survey(self) -> None:
        """Find the working trees and the branches."""
        listed = self._trees_of()
        # A bare repository is listed too, but has no files.
        self._places = [place for place in listed if place.head or place.branch or not place.main]
        into = self._into or next((place.branch for place in listed if place.main), "")
        found = branches(self._git, AGENTS, *([into] if into else []))
        if into not in found:
            missing = (
                f"the integration branch {quote(into)} does not exist"
                if into
                else "the main working tree has no branch checked out"
            )
            raise NotFound(
                missing,
                code="NO_BRANCH",
                hint="name the integration branch with --base, or as [merge] into in dibs.toml",
            )
        self._base = into
        self._tips = found

    def _salt(self) -> str:
        """Return a text that changes with the settings and attributes that affect merges."""
        root = self._git.tree
        settings = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
        return salt_of(
            os.environ.get("GIT_CONFIG_GLOBAL") or os.path.expanduser("~/.gitconfig"),
            *(os.path.join(settings, "git", name) for name in ("config", "attributes")),
            os.path.join(self._common, "config"),
            os.path.join(self._common, "info", "attributes"),
            os.path.join(root, ".gitattributes"),
            *(os.path.join(root, path) for path in attribute_files(self._git)),
        )

    def _forecast(self, names: Sequence[str]) -> Forecast:
        parties, left, ancestry = self._parties()
        known = {party.name for party in parties} | {item.party for item in left}
        for name in names:
            if name not in known:
                raise NotFound(
                    f"{quote(name)} has no worktree and no unmerged branch in this clone",
                    code="NO_WORKTREE",
                    hint=_candidates(known - {self._base}),
                )
        asked = set(names)
        pairs = [
            (one, other)
            for place, one in enumerate(parties)
            for other in parties[place + 1 :]
            if not asked or asked & {one.name, other.name}
        ]
        found, met, merged = self._compare(pairs, ancestry)
        os.utime(self._folder)  # shows that the folder is still in use
        compared = tuple((one.name, other.name) for one, other in pairs)
        return Forecast(
            self._base, tuple(parties), tuple(found), tuple(left), compared, met, merged
        )

    def _parties(self) -> tuple[list[Party], list[NotCovered], Ancestry]:
        """Return what to compare, the integration branch first, what cannot be compared, and the history."""
        tip = self._tips[self._base]
        parties, left = [Party(self._base, "", self._base, tip, tip, base=True)], []
        taken = {self._base}
        for place in sorted(self._places, key=lambda place: (not place.branch, place.path)):
            seen = self._trees.seen[place.path]
            branch = place.branch if seen.failed else seen.branch
            name = _free(place.agent or _name(branch, place.path, self._base), taken)
            left += left_of(name, seen)
            if seen.failed or (branch == self._base and not seen.entries):
                continue
            taken.add(name)
            commit = self._trees.commit(place.path)
            parties.append(Party(name, place.path, branch, seen.head, commit, len(seen.entries)))
        checked_out = {party.branch for party in parties} | {
            place.branch for place in self._places if not self._trees.seen[place.path].failed
        }
        for branch, oid in self._tips.items():
            if branch not in checked_out:
                parties.append(Party(_free(_name(branch, "", ""), taken), "", branch, oid, oid))
                taken.add(parties[-1].name)
        past = ancestry(self._git, tuple(dict.fromkeys(party.head for party in parties)))
        kept = [p for p in parties if p.path or p.base or not past.holds(tip, p.head)]
        return [kept[0], *sorted(kept[1:])], left, past

    def _compare(
        self, pairs: Sequence[tuple[Party, Party]], past: Ancestry
    ) -> tuple[list[Pair], int, int]:
        """Return the pairs that conflict, how many can conflict, and how many were merged now."""
        heads = dict.fromkeys((one.head, other.head) for one, other in pairs)
        bases = {pair: past.bases(*pair) for pair in heads}
        self._learn(bases)
        found: list[Pair] = []
        meeting: list[tuple[Party, Party]] = []
        for one, other in pairs:
            common = bases[one.head, other.head]
            if not common:
                found.append(Pair(one.name, other.name, (), "no common history"))
            elif len(common) > 1 or self._can_meet(common[0], one, other):
                meeting.append((one, other))
        unknown = {
            (one.commit, other.commit): None
            for one, other in meeting
            if self._outcomes.get(one.commit, other.commit) is None
        }
        wanted = list(unknown)
        failed: dict[tuple[str, str], str] = {}
        self.progress(f"merging {len(wanted)} pairs for comparison", 0, 0)
        for pair, clashes in zip(wanted, self._merger.clashes(wanted), strict=True):
            if isinstance(clashes, Unavailable):
                failed[pair] = clashes.message
            else:
                self._outcomes.put(*pair, clashes)
        for one, other in meeting:
            known = self._outcomes.get(one.commit, other.commit)
            why = failed.get((one.commit, other.commit), "")
            if known or why:
                found.append(Pair(one.name, other.name, known or (), why))
        return found, len(meeting), len(wanted)

    def _learn(self, bases: Mapping[tuple[str, str], Sequence[str]]) -> None:
        """Read what changed since the common ancestors."""
        wanted: dict[tuple[str, str], None] = {}
        for heads, common in bases.items():
            if len(common) == 1:
                wanted.update({(common[0], head): None for head in heads})
        self._touched = changes_between(self._git, list(wanted))

    def _can_meet(self, base: str, one: Party, other: Party) -> bool:
        return can_meet(self._changed(base, one), self._changed(base, other))

    def _changed(self, base: str, party: Party) -> ChangedPaths:
        committed = self._touched[base, party.head]
        if not party.dirty:
            return committed
        known = self._dirty.get((base, party.commit))
        if known is None:
            dirty = self._trees.touched(party.path, party.commit)
            known = self._dirty[base, party.commit] = joined(committed, dirty)
        return known


def _candidates(names: Collection[str]) -> str:
    """Return a hint with the names that can be asked for."""
    return f"use one of {few(sorted(names), 10)}" if names else ""


def _name(branch: str, path: str, base: str) -> str:
    """Return the name of a party: its agent, or else its branch, or else its folder."""
    if branch.startswith(AGENTS):
        return branch.removeprefix(AGENTS)
    if branch:
        return f"{branch}+" if branch == base else branch
    return os.path.basename(path) or path


def _free(name: str, taken: Collection[str]) -> str:
    """Return ``name``, with a number if it is taken."""
    return next(n for n in _numbered(name) if n not in taken)


def _numbered(name: str) -> Iterator[str]:
    yield name
    number = 2
    while True:
        yield f"{name}.{number}"
        number += 1
