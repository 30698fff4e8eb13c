"""The disk is full, read-only, missing, or corrupted: one clear line, and no confirmed change is lost."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import apsw
import pytest
from proof_crew import Repo, environment

from dibs.project import local_store, project

if TYPE_CHECKING:
    from collections.abc import Iterator

KEPT = {"src/x.py": "early", "docs/": "early"}
UNAVAILABLE, MISCONFIGURED = 69, 78


def refuses(answer: subprocess.CompletedProcess[str]) -> bool:
    """Return whether a command failed properly: known status, one line, no traceback."""
    return (
        answer.returncode in (UNAVAILABLE, MISCONFIGURED)
        and answer.stderr.startswith("dibs: ")
        and answer.stderr.count("\n") == 1
        and "Traceback" not in answer.stderr
    )


def fill(repo: Repo) -> Repo:
    """Claim what must still exist after the fault."""
    for pattern in KEPT:
        assert repo.dibs("claim", pattern, agent="early").returncode == 0
    return repo


@pytest.fixture
def filled(repo: Repo) -> Repo:
    return fill(repo)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a file system of half a megabyte."""
    if os.geteuid() != 0:
        pytest.skip("SKIPPED A PROOF: only root can mount the small disk that this needs")
    place = tmp_path / "disk"
    place.mkdir()
    options = ["-t", "tmpfs", "-o", "size=512k,mode=700"]
    made = subprocess.run(
        ["mount", *options, "tmpfs", place], capture_output=True, text=True, check=False
    )
    if made.returncode:
        pytest.skip(f"SKIPPED A PROOF: the small disk cannot be mounted: {made.stderr.strip()}")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


def _use_up(disk: Path, *, leave: int) -> Path:
    """Fill the disk except for ``leave`` bytes."""
    ballast = disk / "ballast"
    space = os.statvfs(disk)
    size = max(0, space.f_bavail * space.f_frsize - leave)
    with ballast.open("wb") as file:
        file.write(b"\0" * size)
    return ballast


def test_a_full_disk_is_one_clear_line_at_whatever_write_it_occurs(small_disk: Path):
    repo = fill(Repo.make(small_disk / "repo"))
    granted = dict(KEPT)
    refusals = []
    for kilobytes in (0, 4, 8, 16, 32, 64):
        ballast = _use_up(small_disk, leave=kilobytes * 1024)
        for number in range(3):
            path = f"late-{kilobytes}-{number}"
            answer = repo.dibs("claim", path, agent="late")
            if answer.returncode == 0:
                granted[path] = "late"
            else:
                assert refuses(answer), answer
                refusals.append(answer.stderr)
        assert repo.claims() == granted, "refused changes did not happen, readers still work"
        ballast.unlink()

        assert repo.claims() == granted
        assert repo.dibs("renew", agent="early").returncode == 0

    assert any("no space left" in refusal for refusal in refusals)


def test_the_first_use_on_a_full_disk_is_one_clear_line_and_works_later(small_disk: Path):
    repo = Repo.make(small_disk / "repo")
    for kilobytes in (0, 8, 24, 48):
        ballast = _use_up(small_disk, leave=kilobytes * 1024)
        answer = repo.dibs("claim", "src/x.py", agent="early")
        ballast.unlink()

        assert answer.returncode == 0 or refuses(answer), answer
        after = repo.dibs("claim", "src/x.py", agent="early")
        assert after.returncode == 0, after
        shutil.rmtree(repo.state)
        repo.state.with_name("dibs.mark").unlink()


def test_a_read_only_disk_can_be_read_and_is_one_clear_line_to_writers(small_disk: Path):
    repo = fill(Repo.make(small_disk / "repo"))
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)

    for words in (("claim", "late"), ("renew",), ("release", "--all")):
        answer = repo.dibs(*words, agent="early")
        assert answer.returncode == UNAVAILABLE, answer
        assert refuses(answer), answer
    assert repo.claims() == KEPT
    assert repo.dibs("check", "src/x.py", agent="late").returncode == 3

    subprocess.run(["mount", "-o", "remount,rw", small_disk], check=True)
    assert repo.claims() == KEPT
    assert repo.dibs("claim", "late", agent="late").returncode == 0


def _garble(repo: Repo, fault: str) -> list[Path]:
    """Corrupt the store after saving a copy; return the original files."""
    store = repo.state / "dibs.db"
    if fault == "garbage":  # otherwise the log still has all pages, and nothing is wrong yet
        database = apsw.Connection(str(store))
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        database.close()
        assert repo.dibs("renew", agent="early").returncode == 0
    aside = repo.path.parent / "aside"
    shutil.copytree(repo.state, aside)
    if fault == "all files deleted":
        for path in repo.state.glob("dibs.db*"):
            path.unlink()
    elif fault == "database deleted":
        store.unlink()
    else:
        store.unlink()
        store.touch(mode=0o600)
        if fault == "garbage":
            store.write_bytes(b"\xa5garbage" * 1024)
        elif fault == "a text":
            store.write_text("no database")
    return list(aside.glob("dibs.db"))


FAULTS = [
    "all files deleted",
    "database deleted",
    "empty file",
    "garbage",
    "a text",
]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_missing_or_corrupted_store_is_one_clear_line_and_recovers_completely(
    filled: Repo, fault: str
):
    before = filled.ledger()
    (original,) = _garble(filled, fault)

    for words in (("claim", "late"), ("status",), ("renew",)):
        answer = filled.dibs(*words, agent="late")
        assert refuses(answer), f"{words}: {answer}"

    shutil.copy(original, filled.state / "dibs.db")
    if fault == "all files deleted":
        for path in original.parent.glob("dibs.db-*"):
            shutil.copy(path, filled.state / path.name)
    assert filled.claims() == KEPT
    assert filled.ledger()[: len(before)] == before


def test_garbage_below_a_log_that_has_every_page_does_no_harm(filled: Repo):
    (filled.state / "dibs.db").write_bytes(b"\xa5garbage" * 1024)

    answer = filled.dibs("claim", "late", agent="late")

    if answer.returncode == 0:
        assert filled.claims() == {**KEPT, "late": "late"}
    else:
        assert refuses(answer), answer


def test_a_recreated_store_repeats_no_token(filled: Repo):
    newest = max(entry.seq for entry in filled.ledger())
    for path in filled.state.glob("dibs.db*"):
        path.unlink()

    assert refuses(filled.dibs("claim", "src/x.py", agent="late"))
    made = filled.dibs("init", "--agents", "none")
    assert made.returncode == 0, made
    assert filled.dibs("claim", "src/x.py", agent="late").returncode == 0

    (grant,) = [entry for entry in filled.ledger() if entry.kind == "lock_acquired"]
    assert grant.seq > newest


def test_a_missing_store_whose_creator_was_killed_early_is_detected_like_any_other(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
):
    """The creator dies when the store exists but the folder does not say so yet."""
    with monkeypatch.context() as patch:
        patch.setattr(local_store, "_mark", _die)
        opened = project.open_project(str(repo.path), {})
        with pytest.raises(SystemExit):
            opened.engine.transact(lambda _: None)
    fill(repo)
    for path in repo.state.glob("dibs.db*"):
        path.unlink()

    assert refuses(repo.dibs("claim", "src/x.py", agent="late"))


def _die(*_: object) -> None:
    raise SystemExit


@pytest.fixture
def foreign_repo() -> Iterator[Repo]:
    """Return a repository of an unprivileged user, whose commands run as that user."""
    setpriv = shutil.which("setpriv")
    if os.geteuid() != 0 or setpriv is None:
        pytest.skip("SKIPPED A PROOF: needs root and setpriv to act as an unprivileged user")
    folder = Path(tempfile.mkdtemp(prefix="dibs-nobody-"))
    folder.chmod(0o755)
    repo = NobodysRepo.make(folder / "repo")
    subprocess.run(["chown", "-R", "65534:65534", folder], check=True)
    if repo.dibs("version").returncode:
        shutil.rmtree(folder)
        pytest.skip("SKIPPED A PROOF: an unprivileged user cannot run this Python")
    yield repo
    subprocess.run(["chmod", "-R", "u+rwX", folder], check=True)
    shutil.rmtree(folder)


class NobodysRepo(Repo):
    """A repository whose commands run as ``nobody``."""

    def start(
        self, *words: str, agent: str = "", cwd: Path | None = None, **extra: str
    ) -> subprocess.Popen[str]:
        if agent:
            extra["DIBS_AGENT"] = agent
        become = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        return subprocess.Popen(
            [*become, sys.executable, "-m", "dibs", *words],
            cwd=cwd or self.path,
            env=environment(**extra, PYTHONDONTWRITEBYTECODE="1"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


@pytest.mark.parametrize("mode", [0o000, 0o500, 0o400])
def test_a_state_folder_without_permissions_is_one_clear_line(foreign_repo: Repo, mode: int):
    fill(foreign_repo)
    foreign_repo.state.chmod(mode)

    answer = foreign_repo.dibs("claim", "late", agent="late")

    assert refuses(answer), answer
    foreign_repo.state.chmod(0o700)
    assert foreign_repo.claims() == KEPT


@pytest.mark.parametrize(
    "name",
    [
        "dibs.db",
        "dibs.db.gate",
        "dibs.db.line",
        "dibs.db-wal",
        "dibs.db-shm",
    ],
)
def test_a_store_file_that_belongs_to_another_user_is_one_clear_line(foreign_repo: Repo, name: str):
    """This happens after someone ran a command as root."""
    fill(foreign_repo)
    path = foreign_repo.state / name
    os.chown(path, 0, 0)
    path.chmod(0o600)

    answer = foreign_repo.dibs("claim", "late", agent="late")

    assert refuses(answer), answer
    os.chown(path, 65534, 65534)
    assert foreign_repo.claims() == KEPT
