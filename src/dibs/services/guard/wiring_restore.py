"""Report changed files that guard agents, and restore them when a human agrees."""

from __future__ import annotations

import os
import stat

from dibs.core.claims.agents import why_not
from dibs.core.claims.ledger import Kind
from dibs.core.talk.mail import HUMANS, MailKind
from dibs.core.text.findings import Finding, Level
from dibs.core.text.names import few, printable
from dibs.core.toolcalls.wiring import is_git_setting
from dibs.git.calls import GitCalls
from dibs.local.files import write_file
from dibs.local.loose_objects import last_logged
from dibs.services.guard.wiring import BRANCHES, FOLDER, LINK, MISSING, WiringRecord
from dibs.services.state.mailbox import tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.claims.agents import Caller
    from dibs.local.repository import Repository
    from dibs.services.guard.wiring import WiringChange
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

_GIT_FILES = frozenset({"config", "config.worktree", ".gitconfig"})
_REPAIR = "to restore it: `dibs doctor --fix`; to keep it: `dibs doctor --fix --accept`"


def report(store: Store, repository: Repository, agent: str) -> list[WiringChange]:
    """Tell the ledger, the agent, and the humans what changed since the last look, unless agents may."""
    if store.config.commit_guarded != "human":
        return []
    changes = WiringRecord(repository).changed(agent, store.now())
    if not changes:
        return []
    names = [_shown(one.path, repository) for one in changes]
    why = "a human can restore them with `dibs doctor --fix`"

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


def findings(repository: Repository) -> list[Finding]:
    """Return a finding for each change that is still there."""
    return [
        Finding(
            Level.WARN,
            "wiring",
            f"{_shown(one.path, repository)}, which guards agents, was {one.what} while {one.agent} ran a"
            f" command; {_REPAIR}",
        )
        for one in WiringRecord(repository).pending()
    ]


def restore(
    store: Store, repository: Repository, caller: Caller, *, accept: bool = False
) -> list[str]:
    """Restore all changed files, or accept them; for humans only. Return what was done."""
    record = WiringRecord(repository)
    changes = record.pending()
    if not changes:
        return []
    if not caller.human:
        return [f"did not restore files that guard agents: {why_not(caller)}"]
    done = []
    for one in sorted(changes):  # a folder before its files
        name = _shown(one.path, repository)
        problem = "" if accept else _put_back(record, one)
        if accept:
            done.append(f"accepted {name} as it is now")
        elif problem:
            done.append(f"cannot restore {name}: {problem}; edit it yourself")
        else:
            done.append(f"restored {name} as it was before {one.agent}'s command")
    record.settle()
    names = [_shown(one.path, repository) for one in changes]
    what = "accepted" if accept else "restored"
    store.apply(
        lambda rows: rows.emit(
            caller.id, caller.role, Kind.WIRING_CHANGED,
            f"{caller.id} {what} files that guard agents: {printable(few(names))}",
            paths=names[:20], count=len(names),
        )
    )  # fmt: skip
    return done


def _restore_link(path: str, target: str) -> None:
    """Restore a symbolic link to its old target."""
    if not os.path.islink(path) or os.readlink(path) != target:
        _make_folders(os.path.dirname(path))
        _remove(path)
        os.symlink(target, path)


def _is_file(path: str) -> bool:
    """Return whether a path leads to a plain file, or to nothing."""
    return os.path.isfile(path) or not os.path.exists(path)


def _put_back(record: WiringRecord, change: WiringChange) -> str:
    """Restore one file; return what prevents that."""
    path, folder = change.path, os.path.dirname(change.path)
    if os.path.realpath(folder) != (change.folder or folder):
        return "a symbolic link leads to another folder"
    if change.before == MISSING:
        (_restore_branch if BRANCHES in path else _remove)(path)
        return ""
    content = record.copy_of(change)
    if change.before.startswith(LINK):
        _restore_link(path, change.before.partition("\n")[0].removeprefix(LINK))
        if content is None or not _is_file(path):
            return "" if content is None else "its link leads to something else"
        path = os.path.realpath(path)
    mode = int(change.before.split()[-2 if change.copy else -1], 8)
    if content is None and not change.before.startswith(FOLDER):
        return "no copy of it could be saved"
    _make_folders(folder)
    if content is None:
        _restore_folder(path, mode)
    elif (
        os.path.basename(change.path) in _GIT_FILES and _is_file(path) and not os.path.islink(path)
    ):
        _restore_keys(path, content)
        os.chmod(path, mode)
    else:
        _remove(path)
        write_file(path, content, mode=mode)
    return ""


def _restore_folder(path: str, mode: int) -> None:
    """Let a path be a folder again; what a symbolic link in its place leads to stays as it is."""
    if os.path.islink(path) or not os.path.isdir(path):
        _remove(path)
        os.mkdir(path)
    os.chmod(path, mode)


def _restore_branch(path: str) -> None:
    """Move a branch back to the commit at which git's log of it ends."""
    common, _, branch = path.rpartition(BRANCHES)
    logged = last_logged(f"{common}/logs{BRANCHES}{branch}")
    write_file(path, f"{logged}\n", mode=0o644)  # git cannot move a branch whose file is damaged


def _make_folders(folder: str) -> None:
    """Create the folder of a file, and make it writable."""
    os.makedirs(folder, exist_ok=True)
    now = stat.S_IMODE(os.stat(folder).st_mode)
    if now | stat.S_IRWXU != now:
        os.chmod(folder, now | stat.S_IRWXU)


def _restore_keys(path: str, content: bytes) -> None:
    """Restore the git settings that guard agents; others in the file stay as they are."""
    old = f"{path}.dibs-before"
    write_file(old, content)
    try:
        before, now = _settings(old), _settings(path)
    finally:
        os.unlink(old)
    git = GitCalls(os.path.dirname(path))
    for key in dict.fromkeys(key for key, _ in now):
        git.run("config", "--file", path, "--unset-all", key)
    for key, value in before:
        git.must("config", "--file", path, "--add", key, value)


def _settings(path: str) -> list[tuple[str, str]]:
    git = GitCalls(os.path.dirname(path))
    rows = os.fsdecode(git.run("config", "--file", path, "-z", "--list").out).split("\0")
    pairs = (row.partition("\n") for row in rows if row)
    return [(key, value) for key, _, value in pairs if is_git_setting(key)]


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        from shutil import move

        move(path, f"{path}.dibs-aside")
    elif os.path.lexists(path):
        os.unlink(path)


def _shown(path: str, repository: Repository) -> str:
    """Return a path for people: relative to the working tree if it is inside."""
    root = f"{repository.root}/"
    if path.startswith(root):
        return path[len(root) :]
    common = f"{repository.common}/"
    return f".git/{path[len(common) :]}" if repository.common and path.startswith(common) else path


def watch(repository: Repository) -> None:
    """Remember the files before a command runs; a full disk must not block the command."""
    try:
        WiringRecord(repository).look()
    except OSError:
        return
