"""Restrict this process with Landlock, then run a command in its place.

The sandbox starts this file as a program, ``landlock.py MODE [PATH ...] -- COMMAND``, so it imports nothing
of Dibs. Landlock can only grant: in a folder that may be written, everything may be.
"""

from __future__ import annotations

import ctypes
import os
import signal
import stat
import struct
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

#: Ignore the signals that end a process group, and leave them to the command's own child.
HOLD = "hold"
#: Restrict signals and abstract sockets, as far as the kernel can.
SCOPE = "scope"
#: The same, and allow writes only to the paths; OFFLINE also blocks TCP.
CONFINE, OFFLINE = "confine", "offline"

#: The first version that restricts every write to a file: earlier ones allow ``truncate``.
LEAST_ABI = 3
#: The first versions that restrict TCP, and signals and abstract sockets.
NETWORK_ABI, SCOPE_ABI = 4, 6

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG, _PATH_BENEATH, _PR_SET_NO_NEW_PRIVS = 1, 1, 38
_WRITE_FILE, _MAKE_CHAR, _MAKE_BLOCK, _TRUNCATE = 1 << 1, 1 << 6, 1 << 11, 1 << 14
#: Bits 4 to 14: remove and create entries, move them to another folder, and truncate.
_WRITES = _WRITE_FILE | sum(1 << bit for bit in range(4, 15))
_IN_FOLDER = _WRITES & ~(_MAKE_CHAR | _MAKE_BLOCK)
_ON_FILE = _WRITE_FILE | _TRUNCATE
_BIND_TCP, _CONNECT_TCP = 1 << 0, 1 << 1
_ABSTRACT_SOCKETS, _SIGNALS = 1 << 0, 1 << 1
_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
#: Python ignores these, and an ignored signal stays ignored in the next program.
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
_CANNOT_RUN, _NOT_FOUND = 126, 127


def abi_version() -> int:
    """Return the version of Landlock in this kernel; 0 if there is none."""
    if sys.platform != "linux":
        return 0
    try:
        return _call(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION_FLAG)
    except OSError:
        return 0


def restrict(mode: str, writable: Iterable[str]) -> None:
    """Restrict this process and its future children, for good."""
    abi = abi_version()
    files = _WRITES if mode in {CONFINE, OFFLINE} else 0
    network = _BIND_TCP | _CONNECT_TCP if mode == OFFLINE else 0
    scopes = _ABSTRACT_SOCKETS | _SIGNALS if abi >= SCOPE_ABI else 0
    if not files and not scopes:
        return
    if (files and abi < LEAST_ABI) or (network and abi < NETWORK_ABI):
        raise OSError(0, f"version {abi} of Landlock is too old")
    size = 24 if abi >= SCOPE_ABI else 16 if abi >= NETWORK_ABI else 8
    fields = ctypes.create_string_buffer(struct.pack("=QQQ", files, network, scopes)[:size], size)
    ruleset = _call(_CREATE_RULESET, fields, ctypes.c_size_t(size), 0)
    for path in writable:
        _grant(ruleset, path)
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "cannot give up new privileges")
    _call(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def _grant(ruleset: int, path: str) -> None:
    """Allow writes to a file, or to everything in a folder; a link grants nothing."""
    try:
        handle = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return  # it no longer exists
    mode = os.fstat(handle).st_mode
    rights = _IN_FOLDER if stat.S_ISDIR(mode) else 0 if stat.S_ISLNK(mode) else _ON_FILE
    if rights:
        rule = ctypes.create_string_buffer(struct.pack("=Qi", rights, handle), 12)
        _call(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0)
    os.close(handle)


def _call(number: int, *arguments: object) -> int:
    library = ctypes.CDLL(None, use_errno=True)
    library.syscall.restype = ctypes.c_long
    result: int = library.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


def main(words: list[str]) -> int:
    """Prepare this process as ``words`` say, and run the command in its place; return why it did not run."""
    split = words.index("--")
    mode, paths, command = words[0], words[1:split], words[split + 1 :]
    for number in _IGNORED_BY_PYTHON:
        signal.signal(number, signal.SIG_DFL)
    for number in _STOPS:
        signal.signal(number, signal.SIG_IGN if mode == HOLD else signal.SIG_DFL)
    try:
        if mode != HOLD:
            restrict(mode, paths)
        os.execvp(command[0], command)  # noqa: S606 - there is no shell
    except FileNotFoundError:
        why, status = "not found", _NOT_FOUND
    except OSError as error:
        why, status = error.strerror or str(error), _CANNOT_RUN
    sys.stderr.write(f"dibs: cannot run {command[0]} in the sandbox: {why}\n")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
