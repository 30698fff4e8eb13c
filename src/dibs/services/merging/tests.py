"""Run the test command on merged files before they land, in a temporary working tree.

Each run creates the tree in the state folder and removes it afterwards. The next run removes what a killed
run left; a lock that is released when its process dies shows which runs are over.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import subprocess
import time

from dibs.core.text.durations import show_span
from dibs.core.text.names import printable, slug
from dibs.errors import BadInput, Fenced
from dibs.git.untrusted import guarded_calls, refuse_filters
from dibs.local.locks import FileLock
from dibs.local.signals import process_group
from dibs.services.merging.values import Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import BinaryIO, Protocol

    from dibs.git.calls import GitCalls
    from dibs.git.untrusted import SafeGit

    class Lost(Protocol):
        """What a run depends on."""

        @property
        def lost(self) -> str:
            """Why the run must end; empty while it may go on."""


#: The number of lines shown from a failed run, and the number of logs kept.
SHOWN, KEPT = 12, 50
#: How long the test command may run, in seconds.
TEST_TIMEOUT = 1_800.0
#: How long a run gets to exit after the signal to do so, in seconds.
GRACE = 5.0
_POLL = 0.05
_TREES, _LOGS = "merge-trees", "merge-logs"


def command_of(text: str) -> list[str]:
    """Split a test command into words as a shell would; raise ``BadInput`` if that fails."""
    try:
        return shlex.split(text)
    except ValueError as error:
        message = f"invalid test command: {error}"
        raise BadInput(message, code="COMMAND", field="test") from None


class Trials:
    """Runs of one test command."""

    def __init__(
        self,
        git: SafeGit,
        state: str,
        command: list[str],
        *,
        lease: Lost,
        progress: Callable[[str], None],
        supply: Callable[[str], Sequence[str]],
    ) -> None:
        """``supply`` copies ignored files to a new tree, and returns notes about skipped ones."""
        self._git = git
        self._supply = supply
        self._state = state
        self._command = command
        self._lease = lease
        self._progress = progress
        self._known: dict[str, Run] = {}

    def run(self, commit: str, about: str) -> Run:
        """Test a commit, or return the result if it was tested before."""
        if commit not in self._known:
            self._progress(f"testing {about}: {printable(shlex.join(self._command))}")
            with _tree(self._git, self._state, commit) as (tree, lock):
                for note in self._supply(tree):
                    self._progress(note)
                self._known[commit] = self._tried(tree, lock, commit, about)
        return self._known[commit]

    def _tried(self, tree: str, lock: int, commit: str, about: str) -> Run:
        log = _new_log(self._state, f"{slug(about)}-{commit[:12]}")
        with (
            open(log, "xb") as out,
            process_group(lambda: self._start(tree, lock, out), GRACE) as process,
        ):
            how = self._watched(process)
        return Run(not how, how or "passed", log, _tail(log) if how else ())

    def _start(self, tree: str, lock: int, out: BinaryIO) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(  # noqa: S603 - the project's own command, no shell
                self._command,
                cwd=tree,
                env=_environment(os.environ),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=(lock,),  # nobody removes its tree while it runs
            )
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            message = f"cannot run the test command {self._command[0]}: {why}"
            raise BadInput(message, code="COMMAND", field="test") from None

    def _watched(self, process: subprocess.Popen[bytes]) -> str:
        """Wait for a run to end; return how it failed, or an empty text if it passed."""
        until = time.monotonic() + TEST_TIMEOUT
        while process.poll() is None:
            if self._lease.lost:
                raise Fenced(self._lease.lost, hint="the merge was aborted; try again")
            if time.monotonic() >= until:
                return f"timed out after {show_span(TEST_TIMEOUT)}"
            time.sleep(_POLL)
        code = process.returncode
        if not code:
            return ""
        return f"exit status {code}" if code > 0 else f"killed by signal {-code}"


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the caller's variables, without those that point git to another repository."""
    kept = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
    kept["DIBS_MERGE"] = "1"
    return kept


@contextlib.contextmanager
def _tree(git: SafeGit, state: str, commit: str) -> Iterator[tuple[str, int]]:
    """Provide a locked working tree of ``commit`` for one run, and remove it afterwards."""
    above = os.path.join(state, _TREES)
    os.makedirs(above, mode=0o700, exist_ok=True)
    place = os.path.join(above, f"{os.getpid()}-{time.time_ns():x}")
    os.mkdir(place, 0o700)
    lock = FileLock(os.path.join(place, "lock"))
    lock.take()
    try:
        tree = _tree_in(place)
        bare = ("--detach", "--no-checkout", "--quiet")
        git.must("worktree", "add", *bare, "--end-of-options", tree, commit)
        inside = guarded_calls(tree, timeout=git.timeout)  # a worktree may have its own settings
        refuse_filters(inside, None, tree=commit)
        inside.must("reset", "--hard", "--quiet")
        yield tree, lock.handle
    finally:
        _remove_tree(git, place)
        lock.release()


def _tree_in(place: str) -> str:
    """Return the path of the tree; git uses its last part as the worktree's name."""
    return os.path.join(place, f"merge-{os.path.basename(place)}")


def _remove_tree(git: GitCalls, place: str) -> None:
    remove = ("worktree", "remove", "--force", "--force", "--", _tree_in(place))
    if git.run(*remove).code:  # incomplete: delete the folder, then let git forget it
        shutil.rmtree(_tree_in(place), ignore_errors=True)
        git.run(*remove)
    shutil.rmtree(place, ignore_errors=True)


def clear_up(git: GitCalls, state: str) -> int:
    """Remove the trees of dead runs, and return how many there were."""
    above = os.path.join(state, _TREES)
    cleared = 0
    for name in sorted(os.listdir(above)) if os.path.isdir(above) else ():
        place = os.path.join(above, name)
        lock = FileLock(os.path.join(place, "lock"))
        if not lock.take():
            continue  # its process is alive
        try:
            _remove_tree(git, place)
            cleared += 1
        finally:
            lock.release()
    return cleared


def _new_log(state: str, name: str) -> str:
    """Return the log file of the next run, and delete old logs."""
    folder = os.path.join(state, _LOGS)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    for old in sorted(os.listdir(folder))[: 1 - KEPT]:
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(folder, old))
    moment = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    return os.path.join(folder, f"{moment}-{time.time_ns() % 10**9:09d}-{name}.log")


def _tail(log: str) -> tuple[str, ...]:
    with open(log, "rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - 65_536))
        lines = file.read().decode("utf-8", "replace").splitlines()
    return tuple(printable(line) for line in lines[-SHOWN:])
