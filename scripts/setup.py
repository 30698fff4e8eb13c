"""Prepare .venv: install the package and the dependency groups named as arguments.

Works with Python 3.11 or newer and any pip. Stamps in .venv contain a digest of everything that decides
what to install, so nothing is installed twice.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMPS = VENV / "dibs-setup"

_REDIS = {"apt-get": "redis-server", "dnf": "redis", "apk": "redis", "brew": "redis"}
_POSTGRES = {
    "apt-get": "postgresql",
    "dnf": "postgresql-server",
    "apk": "postgresql",
    "brew": "postgresql@17",
}
#: Where packages put PostgreSQL's server programs if not on the PATH: Debian, PostgreSQL's own RPMs, Alpine,
#: and Homebrew.
_POSTGRES_FOLDERS = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/usr/libexec/postgresql*",
    "/opt/homebrew/opt/postgresql@*/bin",
    "/usr/local/opt/postgresql@*/bin",
    "/home/linuxbrew/.linuxbrew/opt/postgresql@*/bin",
)
_POSTGRES_PROGRAMS = ("postgres", "initdb", "pg_ctl", "pg_basebackup")
#: Programs that a group needs and pip cannot install, with their package names.
PROGRAMS = {
    "": {"git": {"apt-get": "git", "dnf": "git", "apk": "git", "brew": "git"}},
    "redis": {"redis-server": _REDIS},
    "postgres": {"postgres": _POSTGRES},
    "test": {
        "redis-server": _REDIS,
        "postgres": _POSTGRES,
        "pgbouncer": dict.fromkeys(("apt-get", "dnf", "apk", "brew"), "pgbouncer"),
        "git-daemon": {"apt-get": "git", "dnf": "git-daemon", "apk": "git-daemon", "brew": "git"},
        "git-http-backend": {
            "apt-get": "git",
            "dnf": "git-core",
            "apk": "git-daemon",
            "brew": "git",
        },
        "chromium": {
            "apt-get": "chromium",
            "dnf": "chromium",
            "apk": "chromium",
            "brew": "chromium",
        },
        "openssl": {"apt-get": "openssl", "dnf": "openssl", "apk": "openssl", "brew": "openssl"},
        "tmux": {"apt-get": "tmux", "dnf": "tmux", "apk": "tmux", "brew": "tmux"},
    },
}
#: Extras that a group needs in addition to its requirements. A group cannot name them itself, because pip
#: would look for dibs in its index. The groups postgres, redis, and server consist only of an extra.
EXTRAS = {"test": "all", "postgres": "postgres", "redis": "redis", "server": "server"}
#: Services that packages enable. Tests start their own servers, so they are disabled again. PostgreSQL's
#: service stays enabled: it runs only the clusters that someone created.
SERVICES = {"redis-server": "redis-server.service", "pgbouncer": "pgbouncer.service"}
#: Debian's settings for new clusters.
CLUSTER_SETTINGS = Path("/etc/postgresql-common/createcluster.d")
INSTALL = {
    "apt-get": ["apt-get", "install", "-y", "-qq"],
    "dnf": ["dnf", "install", "-y", "-q"],
    "apk": ["apk", "add", "-q"],
    "brew": ["brew", "install", "-q"],
}


class SetupError(Exception):
    """The user has to do something; the message is one line."""


def main(groups: list[str]) -> int:
    """Prepare everything that ``groups`` need; return the exit status."""
    try:
        for group in ["", *groups]:
            _need_programs(PROGRAMS.get(group, {}))
        _need_venv()
        for group in ["", *groups]:
            _need_group(group)
        _compile()
    except SetupError as error:
        print(f"setup: {error}", file=sys.stderr)
        return 1
    return 0


def _need_programs(programs: dict[str, dict[str, str]]) -> None:
    missing = [name for name in programs if not _found(name)]
    if not missing:
        return
    lack = f"{' and '.join(missing)} {'are' if missing[1:] else 'is'} missing"
    manager = next((name for name in INSTALL if shutil.which(name)), "")
    if not manager:
        raise SetupError(f"{lack} (install, then try again)")
    packages = dict.fromkeys(programs[name][manager] for name in missing)
    command = [*INSTALL[manager], *packages]
    if manager != "brew" and os.geteuid() != 0:
        raise SetupError(f"{lack} (run: sudo {' '.join(command)})")
    no_cluster = manager == "apt-get" and "postgres" in missing
    with _without_cluster() if no_cluster else contextlib.nullcontext():
        _install(command)
    if manager == "apt-get":
        _leave_off([SERVICES[name] for name in missing if name in SERVICES])
    if still := [name for name in missing if not _found(name)]:
        raise SetupError(f"{' and '.join(still)} still missing after: {' '.join(command)}")


def _install(command: list[str]) -> None:
    print(f"setup: {' '.join(command)}", flush=True)
    if command[0] == "apt-get":
        subprocess.run(["apt-get", "update", "-qq"], check=False, env=_quietly())
    if subprocess.run(command, check=False, env=_quietly()).returncode:
        raise SetupError(f"{' '.join(command)} failed; see above")


@contextlib.contextmanager
def _without_cluster() -> Iterator[None]:
    """Keep Debian's package from creating and starting a cluster; existing clusters are not affected.

    The setting is removed again, so that a server that the user installs later gets its cluster.
    """
    created = [path for path in (CLUSTER_SETTINGS, CLUSTER_SETTINGS.parent) if not path.exists()]
    CLUSTER_SETTINGS.mkdir(parents=True, exist_ok=True)
    setting = CLUSTER_SETTINGS / "dibs-setup.conf"
    setting.write_text("create_main_cluster = false\n", "utf-8")
    try:
        yield
    finally:
        setting.unlink()
        for path in created:
            with contextlib.suppress(OSError):  # in use by the package
                path.rmdir()


def _leave_off(services: list[str]) -> None:
    """Disable services that Debian starts at boot."""
    if services and shutil.which("systemctl"):
        disable = ["systemctl", "--quiet", "disable", *services]
        subprocess.run(disable, check=False, env=_quietly())


def _quietly() -> dict[str, str]:
    """Return variables that stop packages from asking questions and starting services."""
    return {**os.environ, "SYSTEMD_OFFLINE": "1", "DEBIAN_FRONTEND": "noninteractive"}


def _found(program: str) -> bool:
    return bool(postgres_folder() if program == "postgres" else locate(program))


def locate(program: str) -> str | None:
    """Return the path of ``program`` on the PATH, among the system's servers, or in git's own folder."""
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/local/sbin", "/usr/sbin"))
    found = shutil.which(program, path=path)
    if found or not program.startswith("git-") or not shutil.which("git"):
        return found
    asked = subprocess.run(["git", "--exec-path"], check=False, capture_output=True, text=True)
    return shutil.which(program, path=asked.stdout.strip())


def postgres_folder() -> str:
    """Return the folder with PostgreSQL's server programs: on the PATH, or the newest version's."""
    found = [folder for pattern in _POSTGRES_FOLDERS for folder in glob.glob(pattern)]
    found.sort(key=lambda folder: [int(n) for n in re.findall(r"\d+", folder)], reverse=True)
    for folder in [*os.environ.get("PATH", os.defpath).split(os.pathsep), *found]:
        if all(shutil.which(program, path=folder) for program in _POSTGRES_PROGRAMS):
            return folder
    return ""


def _need_venv() -> None:
    if _stamped("venv", _digest()) and PYTHON.exists():
        return
    if importlib.util.find_spec("venv") is None or importlib.util.find_spec("ensurepip") is None:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise SetupError(
            f"Python {version} has no venv module"
            f" (on Debian and Ubuntu, run: sudo apt-get install python{version}-venv)"
        )
    print(f"setup: creating .venv with Python {sys.version.split()[0]}", flush=True)
    _run([sys.executable, "-m", "venv", "--clear", str(VENV)], "cannot create .venv")
    _stamp("venv", _digest())


def _need_group(group: str) -> None:
    digest = _digest(needs(), *_pages(group))
    name = group or "package"
    if _stamped(name, digest):
        return
    print(f"setup: installing {f'requirements of {group}' if group else 'dibs'}", flush=True)
    what = [] if not group else _requirements(group)
    if not group or group in EXTRAS:
        what += ["--editable", f"{ROOT}[{EXTRAS[group]}]" if group else str(ROOT)]
    pip = [str(PYTHON), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    _run([*pip, *what], f"pip cannot install {name}")
    _stamp(name, digest)


def needs() -> bytes:
    """Return what pyproject.toml says about an installation; settings of tools change nothing in it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    names = ("build-system", "project", "dependency-groups")
    found = {name: project.get(name) for name in names} | {"hatch": project["tool"].get("hatch")}
    return json.dumps(found, sort_keys=True).encode()


def _pages(group: str) -> list[bytes]:
    """Return the sources of the dashboard for the group that shows it: installing builds its pages."""
    if group != "server":
        return []
    folder = ROOT / "dashboard"
    files = [*folder.glob("*.*"), *(folder / "src").rglob("*"), *(folder / "public").rglob("*")]
    made = {"openapi.json", "schema.d.ts"}
    return [path.read_bytes() for path in sorted(files) if path.is_file() and path.name not in made]


def _compile() -> None:
    """Write bytecode even if PYTHONDONTWRITEBYTECODE is set; commands are slow without it."""
    command = [str(PYTHON), "-m", "compileall", "-q", str(ROOT / "src")]
    _run(command, "cannot compile the sources")


def _requirements(group: str) -> list[str]:
    """Return a dependency group's requirements; pip before 25.1 cannot read groups."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["dependency-groups"]
    if group not in groups and group in EXTRAS:
        return []
    if group not in groups:
        raise SetupError(f"pyproject.toml has no dependency group {group}")
    found: list[str] = []
    for item in groups[group]:
        found += [item] if isinstance(item, str) else _requirements(item["include-group"])
    return found


def _run(command: list[str], failure: str) -> None:
    variables = {**os.environ, "PIP_USER": "0", "PIP_ROOT_USER_ACTION": "ignore"}
    for name in ("PYTHONPATH", "PYTHONHOME", "PIP_TARGET", "PIP_PREFIX", "__PYVENV_LAUNCHER__"):
        variables.pop(name, None)
    done = subprocess.run(command, check=False, env=variables, capture_output=True, text=True)
    if done.returncode:
        sys.stderr.write((done.stdout + done.stderr)[-4000:])
        raise SetupError(f"{failure}; see above")


def _digest(*more: bytes) -> str:
    """Return a digest of what a .venv depends on: interpreter, location, and this file."""
    parts = [sys.version, str(ROOT), Path(__file__).read_text("utf-8")]
    return hashlib.sha256("\0".join(parts).encode() + b"\0".join(more)).hexdigest()


def _stamped(name: str, digest: str) -> bool:
    stamp = STAMPS / name
    return stamp.exists() and stamp.read_text("utf-8") == digest


def _stamp(name: str, digest: str) -> None:
    STAMPS.mkdir(exist_ok=True)
    (STAMPS / name).write_text(digest, "utf-8")


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main(sys.argv[1:]))
