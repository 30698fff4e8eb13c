"""A repository's remotes: where the git engine pushes, and what clones have in common."""

from __future__ import annotations

import os

from dibs.errors import Misconfigured
from dibs.local.files import read_or_empty

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.git.untrusted import SafeGit
    from dibs.local.repository import Repository
    from dibs.project.location import Location
    from dibs.services.tasks.lock_queue.branch import QueueRemote
    from dibs.services.tasks.lock_queue.layout import QueuePlace
    from dibs.services.tasks.lock_queue.service import LockQueue

ORIGIN = "origin"


def resolve(repository: Repository, url: str) -> str:
    """Return the URL for ``git:NAME``, ``git:URL``, ``git:PATH``, or ``git://host/path``."""
    if url.startswith("git://"):
        return url
    rest = url.removeprefix("git:") or ORIGIN
    if ":" in rest:
        return rest
    if "/" in rest:
        return os.path.join(repository.root, rest)
    if rest == ".":  # all worktrees share it
        return repository.common
    if rest == "..":
        return os.path.dirname(repository.root)
    found = _address(repository, rest)
    return _absolute(found, repository.root)


def project_name(repository: Repository) -> str:
    """Return the name that all clones of a repository share, from the URL of origin and its digest."""
    try:
        address = _address(repository, ORIGIN)
    except Misconfigured:
        address = ""
    if not address:
        raise Misconfigured(
            "this project has no name and no remote 'origin', so clones on other machines cannot find it",
            code="PROJECT_NAME",
            field="project",
            hint='set project = "NAME" in dibs.toml, the same in every clone',
        )
    from hashlib import sha256

    plain = plain_address(address, repository.root)
    digest = sha256(plain.encode("utf-8", "surrogateescape")).hexdigest()[:8]
    last = plain.rpartition("/")[2]
    readable = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "-" for c in last)
    return f"{readable[:40]}-{digest}"


def lock_queue(place: Location) -> LockQueue:
    """Return the lock-file queue of a repository."""
    from dibs.services.tasks.lock_queue.service import LockQueue

    config = place.loaded.config
    return LockQueue(
        place.repository, queue_remote, age=config.git_lock_age, fold_case=config.fold_case
    )


def queue_remote(git: SafeGit, repository: Repository, place: QueuePlace) -> QueueRemote:
    """Return the branch with a lock-file queue; by its URL, so that no ref of the user's clone moves."""
    from dibs.engines.git.remote import Remote, place_of
    from dibs.engines.git.repo import EngineGit
    from dibs.git.config import neutral, without_hooks

    told = git.run("remote", "get-url", "--push", "--end-of-options", place.remote)
    url = told.out.decode("utf-8", "surrogateescape").strip("\n")
    address = _absolute(url, repository.root)
    settings = (*neutral(git.untrusted), *without_hooks(git.reading))
    calls = EngineGit(repository.common, settings)
    return Remote(calls, place_of(address, place.ref.removeprefix("refs/heads/")))


def _address(repository: Repository, name: str) -> str:
    """Return the URL of a remote; usually without starting a process."""
    found = _written(os.path.join(repository.common, "config"), f'[remote "{name}"]')
    if found:
        return found
    from dibs.engines.git.remote import remote_url

    return remote_url(repository.common, name)


def _written(path: str, section: str) -> str:
    """Read a remote's URL from a git configuration; empty if only git can interpret it."""
    inside, found = False, ""
    text = read_or_empty(path).decode("utf-8", "surrogateescape")
    for line in map(str.strip, text.split("\n")):
        if line.startswith("["):
            inside = line == section
            if line[1:].lower().startswith(("include", "url ")):
                return ""
        elif inside:
            key, _, value = line.partition("=")
            if key.strip().lower() == "pushurl":
                return ""
            if key.strip().lower() == "url":
                found = value.strip()
    return "" if set(found) & set('"\\#;') else found


def plain_address(address: str, root: str) -> str:
    """Return the same text for all common spellings of one URL."""
    if _is_path(address):
        path = os.path.realpath(os.path.join(root, address.removeprefix("file://")))
        return path.removesuffix("/").removesuffix(".git").removesuffix("/")
    scheme, mark, rest = address.partition("://")
    if not mark:
        host, _, path = address.partition(":")
    else:
        host, _, path = rest.partition("/")
        host = _without_port(host, scheme)
    host = host.rpartition("@")[2].lower()
    return f"{host}/{path.strip('/').removesuffix('.git')}"


def _without_port(host: str, scheme: str) -> str:
    usual = {"ssh": ":22", "https": ":443", "http": ":80", "git": ":9418"}.get(scheme, "")
    return host.removesuffix(usual) if usual else host


def _absolute(address: str, root: str) -> str:
    """Return a URL as it is, and a relative path from the top of the working tree, as git does."""
    is_url = "://" in address or not _is_path(address)
    return address if is_url else os.path.join(root, address)


def _is_path(address: str) -> bool:
    """Distinguish a path from ``host:path`` as git does: by a slash before the first colon."""
    if address.startswith("file://"):
        return True
    if "://" in address:
        return False
    colon, slash = address.find(":"), address.find("/")
    return colon < 0 or 0 <= slash < colon
