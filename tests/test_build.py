"""The Python build ships the dashboard: sdist and wheel contain the pages, and need Node.js only once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = "dibs/dashboard/static/"
#: npm's registry, for a test without it: nothing listens there.
NOWHERE = "http://127.0.0.1:9"
NAMES = ("src", "dashboard", "pyproject.toml", "README.md", "LICENSE", ".gitignore")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def sources(tmp_path_factory) -> Path:
    """A copy of the sources with the built pages."""
    folder = tmp_path_factory.mktemp("sources") / "dibs"
    folder.mkdir()
    for name in NAMES:
        if (ROOT / name).is_dir():
            skipped = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, folder / name, ignore=skipped, symlinks=True)
        else:
            shutil.copy(ROOT / name, folder / name)
    return folder


def build(folder: Path, target: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Build with hatchling; npm cannot reach its registry."""
    return subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder / "dist")],
        cwd=folder,
        env={
            **os.environ,
            "npm_config_registry": NOWHERE,
            "npm_config_fetch_retries": "0",
            **environ,
        },
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def sdist(sources) -> Path:
    done = build(sources, "sdist")
    assert done.returncode == 0, done.stderr
    (found,) = (sources / "dist").glob("*.tar.gz")
    return found


def test_an_sdist_has_the_pages_and_their_sources_but_no_packages_of_node(sdist):
    with tarfile.open(sdist) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]

    assert f"src/{PAGES}index.html" in names
    assert f"src/{PAGES}.digest" in names
    assert {"dashboard/package-lock.json", "dashboard/src/main.tsx"} <= set(names)
    assert [name for name in names if "node_modules" in name or "__pycache__" in name] == []


def test_a_wheel_from_an_sdist_has_the_pages_and_needs_no_node(sdist, tmp_path):
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (unpacked,) = tmp_path.iterdir()

    done = build(unpacked, "wheel", PATH="/nowhere", PYTHONPATH="")

    assert done.returncode == 0, done.stderr
    (wheel,) = (unpacked / "dist").glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert f"{PAGES}index.html" in names
    assert [name for name in names if name.startswith(f"{PAGES}assets/") and name.endswith(".js")]
    assert not (unpacked / "dashboard" / "node_modules").exists()


@pytest.fixture
def changed(sources, tmp_path) -> Path:
    """Sources whose pages have to be built again."""
    folder = tmp_path / "changed"
    shutil.copytree(sources, folder, ignore=shutil.ignore_patterns("node_modules", "dist"))
    (folder / "dashboard" / "src" / "main.tsx").write_text("export {};\n")
    return folder


def test_without_npms_registry_the_build_fails_and_says_what_to_do(changed):
    done = build(changed, "wheel")

    assert done.returncode != 0
    assert done.stderr.splitlines()[-1] == (
        "cannot build the dashboard: npm ci failed"
        " (without npm's registry, set DIBS_DASHBOARD=skip to install without the dashboard)"
    )


def test_a_build_may_skip_the_dashboard(changed):
    shutil.rmtree(changed / "src" / PAGES)

    done = build(changed, "wheel", DIBS_DASHBOARD="skip")

    assert done.returncode == 0, done.stderr
    (wheel,) = (changed / "dist").glob("*.whl")
    assert [name for name in zipfile.ZipFile(wheel).namelist() if name.startswith(PAGES)] == []


def test_no_file_of_the_dashboard_records_where_npm_downloads(sources):
    lock = (sources / "dashboard" / "package-lock.json").read_text("utf-8")
    kept = [path for path in (sources / "src" / PAGES).rglob("*") if path.is_file()]

    assert '"resolved"' not in lock
    assert [path.name for path in kept if b"registry" in path.read_bytes()] == []
