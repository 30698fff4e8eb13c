"""How the git engine stores rows of the plain queue on its branch: as files that people can read.

A codec that wraps another one: ``tasks/pending/FILE`` is the row ``queue/FILE``, ``tasks/done/FILE`` the row
``finished/FILE``. Earlier versions wrote such files, and anyone can add some.
"""

from __future__ import annotations

from dibs.core.tasks.lock_files import DONE, PENDING
from dibs.core.tasks.names import pack, task_of_file, unpack
from dibs.services.state.keys import FINISHED, QUEUE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Protocol

    class RowCodec(Protocol):
        """The layout of everything else; see engines/git/files.py."""

        @property
        def folders(self) -> tuple[str, ...]: ...

        def path_of(self, key: str) -> str: ...
        def parse(self, path: str, content: bytes, now: float) -> dict[str, str] | None: ...
        def render(self, path: str, rows: Mapping[str, str]) -> bytes: ...


#: The key prefix of a file's row, by folder.
_FOLDERS = {PENDING: QUEUE, DONE: FINISHED}


class QueueCodec:
    """Store queued files in their folders, and everything else where ``inner`` does."""

    def __init__(self, inner: RowCodec, *, fold_case: bool = True) -> None:
        self._inner = inner
        self._fold = fold_case
        #: The top-level folders on the branch that contain our files.
        self.folders = (*inner.folders, PENDING.partition("/")[0])

    def path_of(self, key: str) -> str:
        """Return the path of the file that contains the row ``key``."""
        for folder, prefix in _FOLDERS.items():
            file = key.removeprefix(prefix)
            if file != key and task_of_file(file, fold_case=self._fold):
                return f"{folder}/{file}"
        return self._inner.path_of(key)

    def parse(self, path: str, content: bytes, now: float) -> dict[str, str] | None:
        """Return the rows of a file, None for one that is not ours."""
        folder, _, file = path.rpartition("/")
        if folder in _FOLDERS and task_of_file(file, fold_case=self._fold):
            return {_FOLDERS[folder] + file: pack(content)}
        return self._inner.parse(path, content, now)

    def render(self, path: str, rows: Mapping[str, str]) -> bytes:
        """Return the content of a file from its rows."""
        if path.rpartition("/")[0] in _FOLDERS:
            return b"".join(map(unpack, rows.values()))
        return self._inner.render(path, rows)
