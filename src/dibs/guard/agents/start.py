"""Start one hook: ask the server if it is running, otherwise answer in this process.

``guard/run.py`` runs this module alone from the pack, so it must not import Dibs modules at module level.
"""

import posix
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from dibs.startup.pack import Pack

_CLIENT = "dibs.guard.agents.client"
#: A path is hashed to a short name by the remainder of a division by this.
_PRIME = 2305843009213693951
#: A socket's path has at most 107 bytes, on some systems 103.
_LONG = 64
#: The mode bits of a folder that only its owner can use.
_PRIVATE = 0o040000
#: The mode bits of a socket.
_SOCKET = 0o140000


def start(pack: "Pack") -> "NoReturn":
    """Answer one hook and exit."""
    given = _ask_server(pack)
    try:
        pack.install()
        from dibs.guard.agents.program import attend, wishes

        status = attend(sys.argv[1:], given)
    except Exception as error:  # noqa: BLE001 - the top of a surface: any status but 2 would let the tool run
        why = f"dibs: blocked because the claim check failed: {error.__class__.__name__}: {error}\n"
        posix.write(2, why.encode("utf-8", "replace"))
        # With 1, the command in the agent's settings says which hooks to delete.
        posix._exit(1 if isinstance(error, ImportError) else 2)  # noqa: SLF001
    try:
        if wishes["server"] and given is None:  # no server listened
            from dibs.guard.agents.wake import wake

            wake(pack.package)
        if pack.lacks:
            from dibs.guard.agents.modules import ALONE, PLAIN

            pack.update(PLAIN, ALONE)
    finally:  # the answer is written, and nothing may change the status
        posix._exit(status)  # noqa: SLF001


def socket_of(package: str) -> str:
    """Return the hooks' socket of the server for this user and this installation."""
    base = posix.environ.get(b"XDG_RUNTIME_DIR", b"").decode("utf-8", "surrogateescape")
    usable = base.startswith("/") and len(base) < _LONG
    folder = f"{base}/dibs" if usable else f"/tmp/dibs-{posix.geteuid()}"  # noqa: S108
    number = int.from_bytes(f"{package} {sys.executable}".encode("utf-8", "surrogateescape"))
    return f"{folder}/{number % _PRIME:x}.sock"


def is_private(folder: str) -> bool:
    """Return whether only this user can use a folder, so that a listener in it is this user's."""
    try:
        found = posix.lstat(folder)
    except OSError:
        return False
    return found.st_mode & 0o170077 == _PRIVATE and found.st_uid == posix.geteuid()


def _ask_server(pack: "Pack") -> "bytes | None":
    """Exit with the server's answer if there is one; otherwise return what was read of the call."""
    path = socket_of(pack.package)
    try:
        kind = posix.lstat(path).st_mode & 0o170000
    except OSError:
        return None
    if kind != _SOCKET or not is_private(path.rpartition("/")[0]):
        return None
    if pack.entries:
        try:
            ask = pack.run_alone(_CLIENT)["ask"]
        except ValueError:  # its source has changed
            pack.plain = (0, 0)  # so that the pack is rewritten
            return None
    else:
        from dibs.guard.agents.client import ask
    status, given = ask(path, sys.argv[1:], pack.package)
    if status >= 0:
        posix._exit(status)  # noqa: SLF001
    return given  # type: ignore[no-any-return]
