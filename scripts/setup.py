"""Make .venv ready: the package, and the dependency groups that are named as arguments.

Runs on any Python from 3.11 on, with any pip. What is ready already is left alone: stamps in .venv
hold a digest of all that decides what is installed.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMPS = VENV / "dibs-setup"

_REDIS = {"apt-get": "redis-server", "dnf": "redis", "apk": "redis", "brew": "redis"}
#: Programs that a group needs and pip does not have, and who has them under which name.
PROGRAMS = {
    "": {"git": {"apt-get": "git", "dnf": "git", "apk": "git", "brew": "git"}},
    "redis": {"redis-server": _REDIS},
    "test": {
        "redis-server": _REDIS,
        "git-daemon": {"apt-get": "git", "dnf": "git-daemon", "apk": "git-daemon", "brew": "git"},
        "git-http-backend": {
            "apt-get": "git",
            "dnf": "git-core",
            "apk": "git-daemon",
            "brew": "git",
        },
        "openssl": {"apt-get": "openssl", "dnf": "openssl", "apk": "openssl", "brew": "openssl"},
    },
}
#: Extras of the package that a group needs beside its own requirements. A group cannot name them itself:
#: pip would look for a package of our name in its index. The group redis is nothing but such an extra.
EXTRAS = {"test": "all", "redis": "redis"}
#: Services that a package brings along. Tests start servers of their own, so they are not wanted.
SERVICES = {"redis-server": "redis-server.service"}
INSTALL = {
    "apt-get": ["apt-get", "install", "-y", "-qq"],
    "dnf": ["dnf", "install", "-y", "-q"],
    "apk": ["apk", "add", "-q"],
    "brew": ["brew", "install", "-q"],
}


class SetupError(Exception):
    """Something that the user has to do; the message is one line."""


def main(groups: list[str]) -> int:
    """Make ready what ``groups`` need; return the exit status."""
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
        raise SetupError(f"{lack}; install what is missing, then try again")
    packages = dict.fromkeys(programs[name][manager] for name in missing)
    command = [*INSTALL[manager], *packages]
    if manager != "brew" and os.geteuid() != 0:
        raise SetupError(f"{lack}, and installing needs rights; run: sudo {' '.join(command)}")
    _install(command)
    if manager == "apt-get":
        _leave_off([SERVICES[name] for name in missing if name in SERVICES])
    if still := [name for name in missing if not _found(name)]:
        raise SetupError(f"{' and '.join(still)} cannot be found after: {' '.join(command)}")


def _install(command: list[str]) -> None:
    print(f"setup: {' '.join(command)}", flush=True)
    if command[0] == "apt-get":
        subprocess.run(["apt-get", "update", "-qq"], check=False, env=_quietly())
    if subprocess.run(command, check=False, env=_quietly()).returncode:
        raise SetupError(f"{' '.join(command)} failed; see above")


def _leave_off(services: list[str]) -> None:
    """Undo that Debian lets each service that it installs start with the machine."""
    if services and shutil.which("systemctl"):
        disable = ["systemctl", "--quiet", "disable", *services]
        subprocess.run(disable, check=False, env=_quietly())


def _quietly() -> dict[str, str]:
    """Return variables that keep a package from asking questions and from starting its service."""
    return {**os.environ, "SYSTEMD_OFFLINE": "1", "DEBIAN_FRONTEND": "noninteractive"}


def _found(program: str) -> bool:
    """Tell whether ``program`` is on the PATH or, as some of git's own are, where git keeps them."""
    if shutil.which(program):
        return True
    if not program.startswith("git-") or not shutil.which("git"):
        return False
    asked = subprocess.run(["git", "--exec-path"], check=False, capture_output=True, text=True)
    return shutil.which(program, path=asked.stdout.strip()) is not None


def _need_venv() -> None:
    if _stamped("venv", _digest()) and PYTHON.exists():
        return
    if importlib.util.find_spec("venv") is None or importlib.util.find_spec("ensurepip") is None:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise SetupError(
            f"this Python {version} has no venv module; install it"
            f" (Debian, Ubuntu: sudo apt-get install python{version}-venv)"
        )
    print(f"setup: making .venv with Python {sys.version.split()[0]}", flush=True)
    _run([sys.executable, "-m", "venv", "--clear", str(VENV)], "cannot make .venv")
    _stamp("venv", _digest())


def _need_group(group: str) -> None:
    digest = _digest((ROOT / "pyproject.toml").read_bytes())
    name = group or "package"
    if _stamped(name, digest):
        return
    print(f"setup: installing {'dibs' if not group else f'what {group} needs'}", flush=True)
    what = [] if not group else _requirements(group)
    if not group or group in EXTRAS:
        what += ["--editable", f"{ROOT}[{EXTRAS[group]}]" if group else str(ROOT)]
    pip = [str(PYTHON), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    _run([*pip, *what], f"pip cannot install {name}")
    _stamp(name, digest)


def _compile() -> None:
    """Write bytecode even where PYTHONDONTWRITEBYTECODE is set: without it each command is slow."""
    command = [str(PYTHON), "-m", "compileall", "-q", str(ROOT / "src")]
    _run(command, "the sources cannot be compiled")


def _requirements(group: str) -> list[str]:
    """Return a dependency group's requirements; pip itself knows such groups from 25.1 on only."""
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
    """Digest what makes a .venv unfit: another interpreter, another place, another recipe."""
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
