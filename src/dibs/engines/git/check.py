"""Inspection and repair of a git engine."""

from __future__ import annotations

import os
import shutil
import stat
import time

from dibs.core.text.findings import Finding, Level
from dibs.engines.git.cache import Cache, set_aside
from dibs.engines.git.errors import shown, too_slow
from dibs.engines.git.repo import REMOTE_REF, EngineGit, open_repo
from dibs.errors import DibsError, Unavailable
from dibs.git.run import TimedOut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.engines.git.connection import GitConnection

#: Age in seconds after which the remains of an interrupted push are removed.
_LEFT_BEHIND = 3600.0

_DURABLE = Finding(Level.OK, "durability", "a confirmed change survives a power failure")
_FRAGILE = Finding(
    Level.WARN,
    "durability",
    "survives any process crash; a power failure can undo the newest changes"
    " (to prevent that, run `git config core.fsync all` in the remote repository)",
)
_OPEN = Finding(
    Level.WARN,
    "writers",
    "anyone with push access can change the branch without Dibs; Dibs detects this but cannot prevent it",
)


def inspect(link: GitConnection, timeout: float) -> list[Finding]:
    """Report what the remote guarantees."""
    place = link.remote.place
    return [
        Finding(Level.OK, "store", f"branch {place.branch} of {shown(place.url)}"),
        Finding(Level.OK, "reach", "every machine that can push to this branch"),
        Finding(
            Level.OK,
            "clock",
            "no shared clock: each machine measures time since the last change it saw",
        ),
        *_access(link, timeout),
        *_folder(link, timeout),
    ]


def _access(link: GitConnection, timeout: float) -> Iterator[Finding]:
    started = time.monotonic()
    try:
        commit = link.remote.look(started + timeout)
        took = (time.monotonic() - started) * 1000
        yield Finding(Level.OK, "round trip", f"{took:.0f} ms to read the branch head")
        if not commit:
            yield Finding(
                Level.OK, "push", "the branch does not exist yet; the first change creates it"
            )
        elif commit == link.cache.head().remote:
            link.show_git(started + timeout)
            link.remote.push(commit, commit, started + timeout, trial=True)
            yield Finding(Level.OK, "push", "this account has push access")
    except DibsError as error:
        yield Finding(Level.BAD, "access", error.message)


def _folder(link: GitConnection, timeout: float) -> Iterator[Finding]:
    folder = link.remote.place.git_dir
    if not folder:
        yield _OPEN
        return
    try:
        mode = os.stat(folder).st_mode
    except OSError:
        return
    others = mode & (stat.S_IWGRP | stat.S_IWOTH)
    text = (
        "other users can write to the repository folder"
        if others
        else "only the owner can write to the repository folder"
    )
    yield Finding(Level.WARN if others else Level.OK, "writers", text)
    durable = _setting(folder, "core.fsync", timeout) in ("all", "added,reference", "reference")
    yield _DURABLE if durable else _FRAGILE
    if _setting(folder, "receive.autogc", timeout) != "false":
        text = (
            "every push checks for garbage collection (`git config receive.autogc false` is faster)"
        )
        yield Finding(Level.OK, "speed", text)


def _setting(folder: str, name: str, timeout: float) -> str:
    deadline = time.monotonic() + timeout
    try:
        result = EngineGit(folder).run_until(deadline, "config", "--get", name)
    except TimedOut:
        raise too_slow(folder) from None
    return result.out.decode("utf-8", "replace").strip()


def repair_cache(state: str, timeout: float) -> list[str]:
    """Move the shared file away if it is damaged; most of it can be rebuilt."""
    try:
        cache = Cache(state, timeout)
        try:
            cache.check()
        finally:
            cache.close()
    except Unavailable as error:
        if error.code != "STORE_DAMAGED":
            raise
        kept = set_aside(state, timeout)
        doubt = "changes that were never confirmed may be lost"
        return [f"moved the damaged local copy to {kept}; {doubt}"]
    return []


def repair(link: GitConnection, timeout: float) -> list[str]:
    """Repair what can be repaired without losing anything."""
    deadline = time.monotonic() + timeout
    done = [f"removed {path}, left over from an interrupted push" for path in _remains(link)]
    with link.cache.talking(timeout) as mine:
        if not mine:
            raise Unavailable(
                "another process is using the remote", code="STORE_BUSY", hint="try again"
            )
        restored = _restore_branch(link, deadline)
        return done + (restored or _rebuild(link, deadline))


def _restore_branch(link: GitConnection, deadline: float) -> list[str]:
    """Create the branch again from this machine's copy if the remote lost its objects, for example to ``gc``.

    The copy may lack the newest changes, so a new life starts.
    """
    found = link.remote.look(deadline)
    if not found or link.remote.is_complete(deadline):
        return []
    branch, url = link.remote.place.branch, shown(link.remote.place.url)
    if not link.cache.head().remote:
        raise Unavailable(
            f"{url} lost objects of the branch {branch}, and this machine has no copy of it",
            code="STORE_DAMAGED",
            hint="run `dibs engine repair` on a machine that used it before",
        )
    link.restore(found, deadline)
    made = f"created the branch {branch} of {url} again from this machine's copy"
    return [f"{made}, because the remote had lost some of its objects; all claims are void"]


def _rebuild(link: GitConnection, deadline: float) -> list[str]:
    try:
        link.fetch(deadline)
        if link.rebuild(deadline):
            return ["rebuilt the local copy"]
    except Unavailable as error:
        if error.code not in ("STORE_DAMAGED", "REMOTE_FAILED"):
            raise
    else:
        return []
    kept = _renew_repo(link, deadline)
    with link.cache.writing(deadline) as head:
        link.cache.run("DELETE FROM object")
        link.cache.set_head(head._replace(pending=0))
    link.fetch(deadline)
    link.rebuild(deadline)
    return [f"moved the damaged repository to {kept} and fetched everything again"]


def _renew_repo(link: GitConnection, deadline: float) -> str:
    """Fetch into a new repository; keep the old one, and restore it if the fetch fails."""
    kept = f"{link.repo}.damaged-{time.time_ns()}"
    link.rest()
    os.rename(link.repo, kept)
    try:
        open_repo(link.repo, link.cache.head().algorithm)
        link.remote.fetch(REMOTE_REF, deadline)
    except DibsError:
        shutil.rmtree(link.repo)
        os.rename(kept, link.repo)
        raise
    return kept


def _remains(link: GitConnection) -> Iterator[str]:
    """Remove the remains of interrupted pushes from a local remote; yield their paths."""
    folder = link.remote.place.git_dir
    if not folder:
        return
    while path := link.remote.remove_stale_lock():
        yield path
    objects = os.path.join(folder, "objects")
    for name in sorted(os.listdir(objects)) if os.path.isdir(objects) else ():
        path = os.path.join(objects, name)
        if name.startswith("tmp_objdir-") and time.time() - os.stat(path).st_mtime > _LEFT_BEHIND:
            shutil.rmtree(path)
            yield path
