"""Dibs installed the way users install it, in an environment that has nothing else."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from scripts.setup import needs

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
#: Wheels that an installation needs. They are downloaded once, so that later runs work offline.
WHEELS = ROOT / ".venv" / "wheels"


def environment(home: Path, **more: str) -> dict[str, str]:
    """Return the variables of a new account: nothing of the caller's own, and no package index."""
    return {
        "HOME": str(home), "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "USER": "you",
        "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels()), "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "UV_OFFLINE": "1", "UV_NO_INDEX": "1", "UV_FIND_LINKS": str(wheels()),
        "UV_PYTHON": sys.executable, "UV_CACHE_DIR": str(home / "uv-cache"),
        **more,
    }  # fmt: skip


def wheels() -> Path:
    """Return the folder with Dibs' build and run-time requirements; download them if need be."""
    with _one_at_a_time(ROOT / ".venv" / "wheels.lock"):
        digest = hashlib.sha256(needs()).hexdigest()
        stamp = WHEELS / "complete"
        if not stamp.exists() or stamp.read_text("utf-8") != digest:
            shutil.rmtree(WHEELS, ignore_errors=True)
            command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--wheel-dir", str(WHEELS)]
            subprocess.run([*command, "pip", "setuptools", "hatchling", str(ROOT)], check=True)
            for own in WHEELS.glob("dibs-*.whl"):
                own.unlink()
            stamp.write_text(digest, "utf-8")
    return WHEELS


def installed(folder: Path) -> Path:
    """Install Dibs from this clone into a new virtual environment; return its folder of programs.

    Processes that share ``folder`` share the installation; it is replaced when the sources have changed.
    """
    with _one_at_a_time(folder / "bare.lock"):
        programs, stamp = folder / "bare" / "bin", folder / "bare" / "sources"
        if not stamp.exists() or stamp.read_text("utf-8") != _sources():
            if not programs.exists():
                subprocess.run([sys.executable, "-m", "venv", folder / "bare"], check=True)
            run([programs / "pip", "uninstall", "--quiet", "--yes", "dibs"], environment(folder))
            run([programs / "pip", "install", "--quiet", ROOT], environment(folder))
            stamp.write_text(_sources(), "utf-8")
    return programs


def _sources() -> str:
    """Return a digest that changes whenever a source file does."""
    files = [path for path in (ROOT / "src").rglob("*") if path.suffix != ".pyc"]
    facts = [f"{path} {path.stat().st_mtime_ns}" for path in sorted(files)]
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()


def run(command: list[str | Path], variables: dict[str, str], folder: Path | None = None) -> str:
    """Run a command that must succeed; return what it printed."""
    done = subprocess.run(
        command, env=variables, cwd=folder, capture_output=True, text=True, check=False, timeout=250
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@contextmanager
def _one_at_a_time(lock: Path) -> Iterator[None]:
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
