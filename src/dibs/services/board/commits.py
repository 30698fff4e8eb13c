"""Commit each change of a task to git, with that task's files and nothing else.

Changes are found by comparing the last commit with the disk, so a later call commits what an earlier one
could not (locked index, merge in progress). Commits are built outside the index and put on the branch by
compare-and-swap. In the index only the committed paths change, so other staged changes stay staged. User
hooks do not run, as with ``--no-verify``.
"""

from __future__ import annotations

import os
import stat
from shlex import quote

from dibs.core.changes.trailers import signed
from dibs.core.claims.agents import HUMAN
from dibs.core.text.names import few, is_agent_id, printable
from dibs.errors import DibsError, NotAllowed, Unavailable
from dibs.git.calls import identity, rows_of
from dibs.git.index import IndexBusy, clear_up, index_locked
from dibs.git.refs import commit_of
from dibs.git.state import refusal, under_way
from dibs.git.trees import differences
from dibs.git.untrusted import guarded_calls, refuse_filters
from dibs.services.board.authors import person_at
from dibs.services.board.uncommitted import BoardChange, changes, differing
from dibs.services.board.worklogs import steps_of
from dibs.services.commits.keep import DroppedLines, keep_files
from dibs.services.state.tasks import digest, pasts, several
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from dibs.core.claims.agents import Caller
    from dibs.git.calls import GitCalls
    from dibs.git.untrusted import SafeGit
    from dibs.services.board.uncommitted import Shown
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store
    from dibs.workdir.disk import Folders

#: How often to try when another process is faster or holds the index.
TRIES = 5

#: The ref of new commits until the branch points to them.
_SCRATCH = "refs/dibs/board"


class BoardAuthor(Record):
    """Who changed a task: an agent, or a person."""

    name: str
    agent: bool = True
    #: Whether the change is in a commit, apart from what Dibs adds to the file.
    committed: bool = False


class BoardCommits(Record):
    """The messages of the commits made, and why the rest was not committed (empty if all was)."""

    made: tuple[str, ...] = ()
    left: str = ""

    def after(self, before: BoardCommits | None) -> BoardCommits:
        """Return this together with what was made ``before``."""
        return self._replace(made=(*before.made, *self.made)) if before else self


def commit_board(
    store: Store,
    folders: Folders,
    caller: Caller,
    ids: Collection[str] | None,
    *,
    first: bool = False,
) -> BoardCommits:
    """Commit the files of these tasks, or everything if ``ids`` is None; leave failures to the next call."""
    movers = store.look(lambda rows: _movers(rows, ids))
    others = BoardAuthor(caller.id, agent=not caller.human)
    if caller.human:  # named like the author of a hand edit
        others = BoardAuthor(person_at(folders.base), agent=False)
        movers = {i: others if who.name == caller.id else who for i, who in movers.items()}
    if first and ids is not None:
        ids = [id_ for id_ in ids if id_ not in movers or not movers[id_].committed]
    try:
        return commit(
            folders.base,
            folders.folder,
            by=lambda id_: movers.get(id_, others),
            ids=None if ids is None else tuple(ids),
            shown=lambda ids: store.look(lambda rows: _shown(rows, ids)),
        )
    except DibsError as error:
        why = error.message
    except OSError as error:
        why = f"cannot write the git directory: {error.strerror}"
    return BoardCommits(left=f"{why}; the next command commits the changes")


def _movers(rows: Rows, ids: Collection[str] | None) -> dict[str, BoardAuthor]:
    """Return who made each task's last transition: the author of a hand edit, else the agent."""
    found = {}
    for id_, steps in steps_of(rows, ids).items():
        step = steps[-1]
        if step.details.get("by_hand"):
            by = str(step.details.get("by", ""))
            agent = is_agent_id(by) and rows.agent(by) is not None
            committed = bool(step.details.get("committed"))
            found[id_] = BoardAuthor(by, agent=agent, committed=committed)
        else:
            found[id_] = BoardAuthor(step.agent, agent=step.role != HUMAN)
    return found


def _shown(rows: Rows, ids: Collection[str]) -> dict[str, tuple[str, str]]:
    """Return the path and the digest that the file of each task must have."""
    live = {id_: (f"{s.place}/{s.file}", digest(s.text)) for id_, s in several(rows, ids).items()}
    return live | {id_: (f"{p.place}/{p.file}", p.digest) for id_, p in pasts(rows, ids).items()}


def commit(
    tree: str,
    folder: str,
    *,
    by: Callable[[str], BoardAuthor],
    ids: Sequence[str] | None = None,
    shown: Shown | None = None,
) -> BoardCommits:
    """Commit what changed in the board ``folder`` of the working tree ``tree``.

    ``by`` returns who changed a task. ``ids`` selects tasks; None means all, and the pages. Task files that
    differ from what ``shown`` returns are left for their authors.
    """
    git = guarded_calls(tree)
    why = "another process is committing"
    for _ in range(TRIES):
        try:
            return _commit(git, folder, by, ids, shown)
        except NotAllowed as refusal:
            return BoardCommits(left=f"{refusal.message}; nothing was committed")
        except IndexBusy as busy:
            why = str(busy)
        except DroppedLines as dropped:
            why = f"{few([*dropped.found])} changed meanwhile"
    return BoardCommits(left=f"{why}; the next command commits the changes")


def _commit(
    git: SafeGit,
    folder: str,
    by: Callable[[str], BoardAuthor],
    ids: Sequence[str] | None,
    shown: Shown | None,
) -> BoardCommits:
    where = git.run("rev-parse", "--absolute-git-dir")
    if where.code:
        return BoardCommits(left=f"{refusal(where.err).message}; nothing was committed")
    place = os.fsdecode(where.out.rstrip(b"\n"))
    busy = under_way(place)
    if busy:
        # git does not continue a rebase while tracked files are changed, and blames conflicts.
        more = f" (if git refuses to continue: git add {quote(folder)})" if "rebase" in busy else ""
        left = f"{busy} is in progress; the board is committed afterwards{more}"
        return BoardCommits(left=left)
    if os.environ.get("GIT_INDEX_FILE"):  # in a hook, our commit would make the user's fail
        return BoardCommits(left="a git command is running; the board is committed afterwards")
    if _is_apart(git.tree, folder):
        return BoardCommits(
            left=f"{folder} is a separate git repository; the board is not committed"
        )
    if clear_up(place):
        _realign(git, folder, place)
    head = commit_of(git, "HEAD")
    found = changes(git, folder, ids, shown)
    if not found:
        return BoardCommits()
    refuse_filters(git, [path for change in found for path, _ in change.entries])
    messages = [_message(change, by) for change in found]
    texts = [_signed(change, by, message) for change, message in zip(found, messages, strict=True)]
    tip = _build(git, found, texts, head)  # before locking, so that nobody waits for it
    keep_files(git, head, tip, "", differences(git, head, tip))
    with index_locked(place) as new_index:
        paths = [path for change in found for path, _ in change.entries]
        _update_entries(git, paths, new_index)
        moved = git.run("update-ref", "-m", f"dibs: {messages[-1]}", "HEAD", tip, head)
        if moved.code:
            raise IndexBusy("the branch has moved")
    git.run("update-ref", "-d", _SCRATCH)
    return BoardCommits(tuple(messages))


def _is_apart(tree: str, folder: str) -> bool:
    """Return whether the board is in a submodule or in another repository inside this one."""
    place = folder
    while place and not os.path.lexists(os.path.join(tree, place, ".git")):
        place = os.path.dirname(place)
    return bool(place)


def _message(change: BoardChange, by: Callable[[str], BoardAuthor]) -> str:
    if not change.id:
        return "board: pages and logs"
    step = change.after or "deleted"
    if change.before and change.before != step:
        step = f"{change.before} -> {step}"
    elif change.before:
        step = "edited"
    who = by(change.id).name
    return printable(f"task: {change.id} {step}" + (f" by {who}" if who else ""))


def _signed(change: BoardChange, by: Callable[[str], BoardAuthor], message: str) -> str:
    """Return the message with trailers that name the task and its agent; a person has none."""
    if not change.id:
        return message
    who = by(change.id)
    return signed(message, who.name if who.agent else "", (), change.id)


def _build(git: GitCalls, found: Sequence[BoardChange], texts: Sequence[str], head: str) -> str:
    """Write a commit for each change, each on top of the previous one, and return the last."""
    who = _identity(git)
    lines: list[bytes] = []
    for number, (change, message) in enumerate(zip(found, texts, strict=True), 1):
        text = message.encode("utf-8", "backslashreplace")
        lines += [b"commit %s" % _SCRATCH.encode(), b"mark :%d" % number, b"committer " + who]
        lines += [b"data %d" % len(text), text]
        if number == 1 and head:
            lines.append(b"from " + head.encode())
        for path, entry in change.entries:
            name = os.fsencode(path)
            lines.append(b"M %s %s" % (entry.encode(), name) if entry else b"D " + name)
        lines.append(b"")
    lines += [b"get-mark :%d" % len(found), b"done", b""]
    out = git.must("fast-import", "--quiet", "--force", "--done", given=b"\n".join(lines))
    return out.decode().strip()


def _identity(git: GitCalls) -> bytes:
    """Return the committer as git writes it; ``dibs`` on a machine without a name."""
    said = git.run("var", "GIT_COMMITTER_IDENT")
    if said.code:
        return git.must("var", "GIT_COMMITTER_IDENT", variables=identity("dibs")).strip()
    return said.out.strip()


def _realign(git: GitCalls, folder: str, place: str) -> None:
    """Update the board's index entries after a kill between updating the branch and the index."""
    with index_locked(place) as new_index:
        paths = [change.path for change in differing(git, folder)]
        if paths:
            _update_entries(git, paths, new_index)


def _update_entries(git: GitCalls, paths: Sequence[str], index: str) -> None:
    """Update the index entries of exactly these paths from the disk."""
    git.must(
        "update-index", "--add", "--remove", "-z", "--stdin",
        given=rows_of(paths),
        variables={"GIT_INDEX_FILE": index},
    )  # fmt: skip
    if not stat.S_ISREG(os.stat(index).st_mode):
        raise Unavailable("git did not write the index")
