"""Checks on the folder of a SQLite store before it is opened."""

from __future__ import annotations

import os
import stat

from dibs.errors import Misconfigured, Unavailable

#: File systems whose locks or shared memory do not work between machines, as the kernel spells them.
_NETWORK = (
    *("9p", "afs", "ceph", "cifs", "glusterfs", "lustre", "ncpfs", "nfs", "nfs4", "prl_fs"),
    *("smb3", "smbfs", "vboxsf", "fuse.gcsfuse", "fuse.glusterfs", "fuse.grpcfuse"),
    *("fuse.rclone", "fuse.s3fs", "fuse.sshfs", "fuse.vmhgfs-fuse"),
)


def check_name(path: str) -> None:
    """Refuse a name that SQLite would not interpret as a file."""
    if not path or path == ":memory:" or path.startswith("file:") or "\0" in path:
        raise Misconfigured(
            f"invalid store path: {path!r}", code="STORE_NAME", hint="use a plain path"
        )


def prepare_folder(folder: str, *, create: bool, allow_network: bool) -> None:
    """Ensure that ``folder`` exists, is private, and is on a local disk."""
    try:
        status = os.stat(folder)
    except FileNotFoundError:
        if not create:
            raise missing(folder) from None
        _make_private(folder)
        status = os.stat(folder)
    except NotADirectoryError:
        raise _not_a_folder(folder) from None
    if not stat.S_ISDIR(status.st_mode):
        raise _not_a_folder(folder)
    refuse_writable(folder, status)
    if not allow_network:
        refuse_network(folder)


def refuse_writable(path: str, status: os.stat_result) -> None:
    """Refuse a path that other users can write to."""
    if os.name == "posix" and status.st_mode & 0o022:
        from shlex import quote

        raise Misconfigured(
            f"other users can write to {path}",
            code="STORE_PERMISSIONS",
            hint=f"run `chmod go-w {quote(path)}`",
        )


def refuse_network(folder: str, mounts: str = "/proc/self/mountinfo") -> None:
    """Refuse a folder on a network file system, if the system reveals it (Linux only)."""
    try:
        with open(mounts, encoding="utf-8", errors="surrogateescape") as file:
            text = file.read()
    except OSError:
        return
    if any(f" - {kind} " in text for kind in _NETWORK):
        kind = _file_system(os.path.realpath(folder), text)
        if kind in _NETWORK:
            raise Misconfigured(
                f"{folder} is on a network file system ({kind}), where SQLite's locks do not work",
                code="STORE_NETWORK_FS",
                hint="keep it on a local disk, or use an engine for several machines (Redis or git)",
            )


def missing(path: str) -> Misconfigured:
    """Return the error for a missing store."""
    hint = "restore the file, or run `dibs init` to start over"
    return Misconfigured(f"no store at {path}", code="STORE_MISSING", hint=hint)


def _not_a_folder(folder: str) -> Misconfigured:
    return Misconfigured(f"not a folder: {folder}", code="STORE_NAME")


def _make_private(folder: str) -> None:
    try:
        os.makedirs(folder, exist_ok=True)
        os.chmod(folder, 0o700)  # regardless of the umask
    except OSError as error:
        raise Unavailable(
            f"cannot create {folder}: {error.strerror}", code="STORAGE_READONLY"
        ) from error


def _file_system(path: str, mounts: str) -> str:
    """Return the type of the innermost mount that contains ``path``."""
    found, kind = "", ""
    for line in mounts.splitlines():
        left, _, right = line.partition(" - ")
        point = (
            left.split(" ")[4].replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
        )
        inside = point in {"/", path} or path.startswith(point + "/")
        if inside and len(point) >= len(
            found
        ):  # a later mount on the same point hides the earlier one
            found, kind = point, right.split(" ", 1)[0]
    return kind
