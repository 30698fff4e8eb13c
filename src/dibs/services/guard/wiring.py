"""Detect and report changes of the files that guard agents.

Around each shell command that may write, the files are compared with the last look. A change during a command
is reported and stays in the record until the file is repaired, or a human accepts it. Any other change is a
person's own work.
"""

from __future__ import annotations

import os
import stat

from dibs.core.claims.agents import why_not
from dibs.core.claims.ledger import Kind
from dibs.core.talk.mail import HUMANS, MailKind
from dibs.core.text.findings import Finding, Level
from dibs.core.text.names import few, printable
from dibs.core.toolcalls.wiring import guard_part
from dibs.local.files import read_file, tree_name, write_file
from dibs.local.loose_objects import last_logged
from dibs.local.wiring_files import guarding_files
from dibs.services.state.mailbox import tell
from dibs.startup import quickjson
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.core.claims.agents import Caller
    from dibs.local.repository import Repository
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

_FOLDER = "wiring-seen"
#: The largest file that is read.
_LARGEST = 1 << 20
#: The start of a folder's description. A folder's or file's description has two words; one is the mode.
FOLDER, _TWO = f"{stat.S_IFDIR:o}", 2
#: The description of a missing file, and the start of a symbolic link's description, whose second line
#: describes the file at its end.
MISSING, LINK = "", "link to "
#: Part of the path of a branch's file.
BRANCHES = "/refs/heads/"


class WiringChange(Record):
    """A change of a file during an agent's command."""

    path: str
    agent: str
    at: float
    #: The descriptions before and after the command: a digest with the mode.
    before: str
    after: str

    @property
    def what(self) -> str:
        """What happened to the file."""
        if self.after == MISSING:
            return "removed"
        if BRANCHES in self.path:
            return "written without git"
        return "added" if self.before == MISSING else "changed"


class WiringRecord:
    """The record of one working tree."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._folder = os.path.join(repository.state, _FOLDER)
        self._file = os.path.join(self._folder, f"{tree_name(repository.root)}.json")

    def changed(self, agent: str, now: float) -> list[WiringChange]:
        """Return what changed since the last look, and keep it in the record."""
        found = self.look()
        if not found:
            return []
        changes = [WiringChange(path, agent, now, *rest) for path, rest in found.items()]
        kept = {one.path: one for one in self.pending()}
        for one in changes:
            old = kept.get(one.path)
            kept[one.path] = one if old is None else old._replace(after=one.after, agent=agent)
        self._save(changes=[list(one) for one in kept.values() if one.before != one.after])
        return changes

    def pending(self) -> list[WiringChange]:
        """Return the changes during commands that are still there."""
        now = {path: self._described(path, about) for path, about in self._stats().items()}
        found = [WiringChange(*row) for row in self._load()["changes"]]
        return [one for one in found if now.get(one.path, MISSING) == one.after]

    def settle(self) -> None:
        """Accept the files as they are now."""
        self.look()
        self._save(changes=[])

    # -- the files

    def _stats(self) -> dict[str, list[int]]:
        found = {}
        for path in guarding_files(self._repository):
            try:
                found[path] = _numbers(os.lstat(path))
                if stat.S_ISLNK(found[path][3]):  # people link settings to a folder of their own
                    found[path] += _numbers(os.stat(path))
            except OSError:
                continue
        return found

    def look(self) -> dict[str, tuple[str, str]]:
        """Remember the files as they are; return the descriptions before and after of what changed."""
        seen, stats = self._load()["seen"], self._stats()
        moved = {
            path: self._described(path, about)
            for path, about in stats.items()
            if path not in seen or seen[path][0] != about
        }
        gone = [path for path in seen if path not in stats]
        if not (moved or gone):
            return {}
        rows = {path: [stats[path], after] for path, after in moved.items()}
        self._save(seen={**{p: row for p, row in seen.items() if p in stats}, **rows})
        if not seen:
            return {}
        found = {path: (str(seen[path][1]), MISSING) for path in gone}
        for path, after in moved.items():
            before = seen[path][1] if path in seen else MISSING
            if before != after and not _only_gains_rights(before, after):
                found[path] = (before, after)
        # The files in a folder that was replaced by a symbolic link belong to someone else.
        return {
            p: r for p, r in found.items() if r[0] != MISSING or os.path.dirname(p) not in found
        }

    def _described(self, path: str, about: list[int]) -> str:
        """Return a description that changes with the file's guarding part."""
        kind, mode = stat.S_IFMT(about[3]), stat.S_IMODE(about[-2])
        link = f"{LINK}{os.readlink(path)}" if kind == stat.S_IFLNK else ""
        content = _content(path, about)
        if content is None:
            return link or f"{kind:o} {mode:o}"
        file = f"{mode:o} {_digest(guard_part(path, content))}"
        return f"{link}\n{file}" if link else file

    # -- the record

    def _load(self) -> dict[str, Any]:
        try:
            kept = quickjson.loads(read_file(self._file))
            if isinstance(kept["seen"], dict) and isinstance(kept["changes"], list):
                return dict(kept)
        except (OSError, ValueError, KeyError, TypeError):
            pass
        return {"seen": {}, "changes": []}

    def _save(self, **parts: Any) -> None:
        kept = {**self._load(), **parts}
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        write_file(self._file, quickjson.dumps(kept))


def report(store: Store, repository: Repository, agent: str) -> list[WiringChange]:
    """Tell the ledger, the agent, and the humans what changed since the last look, unless agents may."""
    if store.config.commit_guarded != "human":
        return []
    changes = WiringRecord(repository).changed(agent, store.now())
    if not changes:
        return []
    names = [_shown(one.path, repository) for one in changes]
    why = "see `dibs doctor`"

    def step(rows: Rows) -> None:
        rows.emit(
            agent, "agent", Kind.WIRING_CHANGED,
            f"files that guard agents were changed while {agent} ran a command: {printable(few(names))}",
            paths=names[:20], count=len(names),
        )  # fmt: skip
        for box in (agent, HUMANS):
            tell(
                rows, box, MailKind.FOREIGN_WRITE, tuple(names), sender=agent, told="wiring",
                sure=False, reason=why,
            )  # fmt: skip

    store.apply(step)
    return changes


def watch(repository: Repository) -> None:
    """Remember the files before a command runs; a full disk must not block the command."""
    try:
        WiringRecord(repository).look()
    except OSError:
        return


def findings(repository: Repository) -> list[Finding]:
    """Return a finding for each change that is still there."""
    return [
        Finding(
            Level.WARN,
            "wiring",
            f"{_shown(one.path, repository)}, which guards agents, was {one.what} while {one.agent} ran a"
            f" command; {_repair(one.path)}; to keep it: `dibs doctor --fix --accept`",
        )
        for one in WiringRecord(repository).pending()
    ]


def _repair(path: str) -> str:
    """Return how to repair a file."""
    common, mark, branch = path.rpartition(BRANCHES)
    if not mark:
        return "to repair what Dibs wrote: `dibs init`"
    return f"git's log of it ends at {last_logged(f'{common}/logs{BRANCHES}{branch}')}"


def accept(store: Store, repository: Repository, caller: Caller) -> list[str]:
    """Accept all changed files as they are, for humans only; return what was done."""
    record = WiringRecord(repository)
    changes = record.pending()
    if not changes:
        return []
    if not caller.human:
        return [f"did not accept files that guard agents: {why_not(caller)}"]
    record.settle()
    names = [_shown(one.path, repository) for one in changes]
    store.apply(
        lambda rows: rows.emit(
            caller.id, caller.role, Kind.WIRING_CHANGED,
            f"{caller.id} accepted files that guard agents: {printable(few(names))}",
            paths=names[:20], count=len(names),
        )
    )  # fmt: skip
    return [f"accepted {name} as it is now" for name in names]


def _numbers(about: os.stat_result) -> list[int]:
    return [about.st_mtime_ns, about.st_size, about.st_ino, about.st_mode, about.st_ctime_ns]


def _content(path: str, about: list[int]) -> bytes | None:
    """Return the content of a small plain file; None for anything else, or if it cannot be read."""
    if not stat.S_ISREG(about[-2]) or about[-4] > _LARGEST:
        return None
    try:
        return read_file(path, _LARGEST)
    except OSError:
        return None


def _only_gains_rights(before: str, after: str) -> bool:
    """Return whether two descriptions differ only in their modes, and the owner has lost no right."""
    words, now = before.split(), after.split()
    at = 1 if words and words[0] == FOLDER else 0
    if len(words) != _TWO or len(now) != _TWO or words[1 - at] != now[1 - at]:
        return False
    lost = int(words[at], 8) & ~int(now[at], 8)
    return not lost & stat.S_IRWXU


def _digest(content: bytes) -> str:
    from dibs.git.hook_scripts import sha256_of

    return sha256_of(content)


def _shown(path: str, repository: Repository) -> str:
    """Return a path for people: relative to the working tree if it is inside."""
    root = f"{repository.root}/"
    if path.startswith(root):
        return path[len(root) :]
    common = f"{repository.common}/"
    return f".git/{path[len(common) :]}" if repository.common and path.startswith(common) else path
