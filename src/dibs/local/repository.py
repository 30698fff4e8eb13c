"""Find the repository that a folder belongs to, and where Dibs keeps its state.

All worktrees of a repository share the common git directory, so the state is there, in ``dibs/``. Reads a few
small files and starts no process.
"""

from __future__ import annotations

import os
import stat

from dibs.core.text.names import quote
from dibs.errors import DibsError, Misconfigured, NotFound
from dibs.local.files import regular
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

STATE_IN_GIT = "dibs"
#: The folder in the state with a file for each process of a guarded agent.
SESSIONS = "sessions"

_POINTER_MAX = 65_536
#: The content of HEAD with the reftable format, where only git knows the branch.
_IN_REFTABLE = "refs/heads/.invalid"


class Repository(Record):
    """The location of a project. All paths are real, without symbolic links."""

    #: The top of the working tree.
    root: str
    #: The git directory that all worktrees share.
    common: str
    #: The folder of the project's state; it may not exist yet.
    state: str
    #: The folder where the search started, relative to the root; empty for the root.
    subdir: str


def find(start: str = "", environ: Mapping[str, str] | None = None) -> Repository:
    """Return the repository of the folder ``start``, by default the current one.

    ``GIT_DIR``, ``GIT_WORK_TREE``, and ``GIT_COMMON_DIR`` in ``environ`` (by default, the process's) have the
    same effect as in git. With an empty mapping, only the disk counts.
    """
    folder = _real_folder(start)
    variables = os.environ if environ is None else environ
    try:
        return _from_variables(folder, variables) or _from_disk(folder)
    except PermissionError as error:
        raise Misconfigured(
            f"cannot read the repository of {quote(folder)}: permission denied for "
            f"{quote(error.filename)}",
            hint="ask the owner for access, or run as a user who has it",
        ) from error


def refuse_links(state: str) -> None:
    """Refuse a state that contains a symbolic link: Dibs would write files in another place."""
    try:
        with os.scandir(state) as entries:
            linked = sorted(entry.path for entry in entries if entry.is_symlink())
    except OSError:
        return  # there is no state yet, or it cannot be read, which opening it reports
    for path in linked:
        _refuse_linked(path)


def crew_folder(state: str) -> str:
    """Return the folder of the crew: next to a project's state, because agents can write there."""
    return f"{state}-crew"


def main_tree(repository: Repository) -> str:
    """Return the working tree with what all worktrees of a clone share, such as the board.

    It contains the common git directory. If there is none (a bare repository with worktrees, a submodule, a
    separate git directory), each worktree has its own.
    """
    above, name = os.path.split(repository.common)
    return above if name == ".git" else repository.root


def trees(repository: Repository) -> list[str]:
    """Return the worktrees of a clone, according to git's own files."""
    found = [main_tree(repository)]
    folder = _join(repository.common, "worktrees")
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        names = []
    for name in names:
        try:
            entry = _read_pointer(f"{folder}/{name}/gitdir")
        except (OSError, DibsError):
            continue  # git ignores it, too
        found.append(os.path.dirname(os.path.join(folder, name, entry)))
    return [os.path.realpath(root) for root in found]


def with_own_state(repository: Repository) -> Repository:
    """Return the repository with a state folder in its worktree's own git directory."""
    entry = _join(repository.root, ".git")
    if not stat.S_ISREG(_mode(entry, follow=False)):
        return repository
    git_dir = _git_dir_in_file(entry)
    if not _mode(_join(git_dir, "commondir")):
        return repository
    return repository._replace(state=_join(git_dir, STATE_IN_GIT))


def git_dir_at(path: str) -> str:
    """Return the common git directory of the git directory or file at ``path``; empty if there is none."""
    git_dir = _git_dir_in_file(path) if stat.S_ISREG(_mode(path)) else path
    return _common_of(git_dir) if _is_git_dir(git_dir) else ""


def checked_out(root: str) -> str:
    """Return what HEAD in a working tree names: ``refs/heads/x`` or a commit; empty if that is unknown."""
    entry = f"{root}/.git"
    try:
        text = _head_in(entry)
    except NotADirectoryError:
        try:
            named = _read_pointer(entry).removeprefix("gitdir:").strip()
            text = _head_in(os.path.join(root, named))
        except (OSError, DibsError):
            return ""
    except OSError:
        return ""
    name = os.fsdecode(text.removeprefix(b"ref:").strip())
    return "" if name == _IN_REFTABLE else name


def _head_in(git_dir: str) -> bytes:
    handle = regular(f"{git_dir}/HEAD", os.O_RDONLY)
    try:
        return os.read(handle, 4096)
    finally:
        os.close(handle)


def clone_id(state: str, *, make: bool = True) -> str:
    """Return the id of the clone with this state folder; create it on first use, or return "".

    Several clones can share one store in Redis or on a git remote, and each has its own refs.
    """
    path = f"{state}/clone"
    try:
        with open(path, encoding="ascii", opener=regular) as file:
            return file.read(16)
    except FileNotFoundError:
        if not make:
            return ""
        _make_clone_id(path)
    return clone_id(state)


def _make_clone_id(path: str) -> None:
    """Write an id to a file of its own first; the process that links it to the common name wins."""
    from dibs.local.files import write_file

    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    own = f"{path}.{os.urandom(4).hex()}"
    write_file(own, os.urandom(8).hex(), sync=True)
    try:
        os.link(own, path)
    except FileExistsError:
        return
    finally:
        os.unlink(own)


def _real_folder(start: str) -> str:
    try:
        # The current folder does not matter to an absolute path, and it may not exist.
        whole = start if os.path.isabs(start) else os.path.join(os.getcwd(), start)
        folder = os.path.realpath(whole)
        is_folder = stat.S_ISDIR(os.stat(folder).st_mode)
    except PermissionError:
        raise Misconfigured(f"cannot read the folder {quote(start or '.')}") from None
    except (OSError, ValueError):
        is_folder, folder = False, start
    if is_folder:
        return folder
    what = f"{quote(start)} is not a folder" if start else "the current folder no longer exists"
    raise NotFound(what, code="NO_REPO", hint="run dibs in a folder of your project")


def _from_variables(folder: str, environ: Mapping[str, str]) -> Repository | None:
    git_dir, work_tree = environ.get("GIT_DIR", ""), environ.get("GIT_WORK_TREE", "")
    common = environ.get("GIT_COMMON_DIR", "")
    if not (git_dir or work_tree or common):
        return None
    found: Repository | None = None
    try:
        found = _from_disk(folder)
    except (NotFound, Misconfigured):
        if not git_dir:
            raise
    if git_dir:
        named = os.path.realpath(os.path.join(folder, git_dir))
        if not _is_git_dir(named):
            raise Misconfigured(
                f"GIT_DIR is {quote(git_dir)}, which is not a git directory",
                hint="unset GIT_DIR, or set it to a git directory",
            )
        shared = _common_of(named)
        # Git uses the current folder as the top; inside the named repository, use its real top.
        root = found.root if found and found.common == shared else folder
    else:
        assert found is not None
        root, shared = found.root, found.common
    if work_tree:
        root = _real_folder(os.path.join(folder, work_tree))
    if common:
        shared = _real_folder(os.path.join(folder, common))
    return _in_git(folder, root, shared)


def _from_disk(folder: str) -> Repository:
    """Walk up to the nearest ``.git``."""
    for place in _upwards(folder):
        entry = _join(place, ".git")
        mode = _mode(entry)
        if stat.S_ISREG(mode):
            _refuse_foreign(entry)
            return _in_git(folder, place, _common_of(_own_git_dir(place, _git_dir_in_file(entry))))
        if stat.S_ISDIR(mode) and _is_git_dir(entry):
            git_dir = os.path.realpath(entry)
            return _in_git(folder, place, _common_of(_own_git_dir(place, git_dir)))
        if stat.S_ISDIR(mode) and stat.S_ISDIR(_mode(_join(entry, STATE_IN_GIT))):
            raise Misconfigured(
                f"{quote(entry)} is not a git directory: HEAD, objects, or refs is missing",
                hint="restore it, for example from another clone",
            )
        if _is_git_dir(place):
            raise _no_working_tree(place)
    raise NotFound(
        f"{quote(folder)} is not in a git repository",
        code="NO_REPO",
        hint="change to one, or create one: git init",
    )


def _in_git(folder: str, root: str, common: str) -> Repository:
    state = _join(common, STATE_IN_GIT)
    _refuse_linked(state)
    return Repository(root, common, state, _relative(folder, root))


def _upwards(folder: str) -> list[str]:
    places = [folder]
    while (above := os.path.dirname(folder)) != folder:
        places.append(above)
        folder = above
    return places


def _relative(folder: str, root: str) -> str:
    relative = os.path.relpath(folder, root)
    return "" if relative == "." else relative


def _join(folder: str, name: str) -> str:
    return folder + name if folder.endswith("/") else f"{folder}/{name}"


def _mode(path: str, *, follow: bool = True) -> int:
    """Return the mode of the file at ``path``, by default following links; 0 if there is none."""
    try:
        return os.stat(path, follow_symlinks=follow).st_mode
    except PermissionError:
        raise
    except OSError:
        return 0


def _is_git_dir(path: str) -> bool:
    """Return whether this is a git directory, as git decides; that of a linked worktree has no objects."""
    if not _mode(_join(path, "HEAD"), follow=False):
        return False
    if _mode(_join(path, "commondir")):
        return True
    return stat.S_ISDIR(_mode(_join(path, "objects"))) and stat.S_ISDIR(_mode(_join(path, "refs")))


def _git_dir_in_file(entry: str) -> str:
    text = _read_pointer(entry)
    if not text.startswith("gitdir:"):
        raise Misconfigured(f"{quote(entry)} does not point to a git directory")
    target = text.removeprefix("gitdir:").strip()
    git_dir = os.path.realpath(os.path.join(os.path.dirname(entry), target))
    if not _is_git_dir(git_dir):
        raise Misconfigured(
            f"{quote(entry)} points to {quote(git_dir)}, which is not a git directory",
            hint="if the repository or its worktree was moved, run `git worktree repair`",
        )
    return git_dir


def _common_of(git_dir: str) -> str:
    """Return the common directory of the worktrees of ``git_dir``; a submodule has its own."""
    pointer = _join(git_dir, "commondir")
    if not _mode(pointer):
        return git_dir
    common = os.path.realpath(os.path.join(git_dir, _read_pointer(pointer)))
    if not stat.S_ISDIR(_mode(common)):
        raise Misconfigured(
            f"{quote(pointer)} points to {quote(common)}, which does not exist",
            hint="if the repository was moved, run `git worktree repair`",
        )
    return common


def _read_pointer(path: str) -> str:
    try:
        with open(path, "rb", opener=regular) as file:
            return os.fsdecode(file.read(_POINTER_MAX)).strip("\r\n")
    except PermissionError:
        raise
    except OSError as error:
        raise Misconfigured(f"cannot read {quote(path)}: {error.strerror}") from error


def _no_working_tree(place: str) -> DibsError:
    if os.path.basename(place) == ".git":
        return NotFound(
            f"{quote(place)} is a git directory, not a working tree",
            code="NO_REPO",
            hint="run dibs in the working tree next to it",
        )
    return NotFound(
        f"{quote(place)} is a bare repository: it has no working tree with files to claim",
        code="NO_REPO",
        hint="run dibs in one of its worktrees; `git worktree add` creates one",
    )


def _refuse_linked(state: str) -> None:
    """Refuse a symbolic link in place of the state, or in it: Dibs would write in another place."""
    if stat.S_ISLNK(_mode(state, follow=False)):
        from shlex import quote as quoted

        raise Misconfigured(
            f"{quote(state)} is a symbolic link, so Dibs would write its state elsewhere",
            hint=f"remove the link: rm {quoted(state)}",
        )


def _own_git_dir(place: str, git_dir: str) -> str:
    """Return the git directory that ``.git`` in ``place`` leads to; refuse that of another working tree."""
    _refuse_foreign(git_dir)
    above, name = os.path.split(git_dir)
    if name == ".git" and above != place:
        raise Misconfigured(
            f"{quote(_join(place, '.git'))} points to the git directory of {quote(above)}",
            hint="work there, or create a worktree: git worktree add",
        )
    return git_dir


def _refuse_foreign(entry: str) -> None:
    """Refuse a git directory or state of another user, which could place the state anywhere.

    Those of root are trusted, and root may work everywhere.
    """
    if not hasattr(os, "geteuid"):
        return
    owner, me = os.stat(entry).st_uid, os.geteuid()
    if me and owner not in (me, 0):
        raise Misconfigured(
            f"{quote(entry)} belongs to another user (uid {owner})",
            hint="run dibs as that user, or work in your own clone",
        )
