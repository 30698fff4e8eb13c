"""Dibs installs with pip, pipx, and uv, from a clone and from a repository URL, as the README shows."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import bare

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text("utf-8")
PACKAGE = ("src", "dashboard", "pyproject.toml", "README.md", "LICENSE")
TOOLS = {"uv": "uv tool install", "pipx": "pipx install", "pip": "pip install"}
URL = "git+https://HOST/OWNER/dibs"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A new account with a clone of Dibs in it, and Python, pip, pipx, uv, and git as its only programs."""
    home = tmp_path_factory.mktemp("account")
    clone, programs = home / "dibs", home / "programs"
    clone.mkdir()
    for name in PACKAGE:
        source = ROOT / name
        if source.is_dir():  # with the built pages, so that no install builds them again
            shutil.copytree(source, clone / name, ignore=shutil.ignore_patterns("node_modules"))
        else:
            shutil.copy(source, clone / name)
    author = ["-c", "user.name=you", "-c", "user.email=you@example.com"]
    for words in (["init", "-q"], ["add", "."], [*author, "commit", "-qm", "Start"]):
        subprocess.run(["git", *words], cwd=clone, check=True)
    subprocess.run([sys.executable, "-m", "venv", programs], check=True)
    for name in ("uv", "pipx"):
        (programs / "bin" / name).symlink_to(Path(sys.executable).parent / name)
    return home


def variables(home):
    path = f"{home}/.local/bin:{home}/programs/bin:/usr/bin:/bin"
    python = str(home / "programs" / "bin" / "python")
    return bare.environment(home, PATH=path, PIPX_DEFAULT_PYTHON=python, UV_PYTHON=python)


@pytest.mark.parametrize(("tool", "source"), [("uv", "clone"), ("pipx", "url"), ("pip", "clone")])
def test_the_command_that_the_readme_shows_installs_a_working_dibs(home, tool, source):
    shutil.rmtree(home / ".local", ignore_errors=True)  # what another tool installed
    shown = f"$ {TOOLS[tool]} ./dibs\n"
    assert shown in README
    assert URL in README
    address = "./dibs" if source == "clone" else f"git+file://{home}/dibs"

    bare.run([*TOOLS[tool].split(), address], variables(home), home)

    version = bare.run(["dibs", "--version"], variables(home), home)
    assert re.fullmatch(r"dibs \d+\.\d+\.\d+\n", version)
    assert list(home.rglob("site-packages/dibs/dashboard/static/index.html"))
    granted = bare.run(["dibs", "claim", "--json", "README.md"], variables(home), home / "dibs")
    assert '"granted": true' in granted or '"outcome": "granted"' in granted


def test_the_readme_says_to_restore_settings_before_it_removes_the_package():
    uninstall = README.partition("## Uninstall")[2]

    assert 0 < uninstall.index("$ dibs init --uninstall") < uninstall.index("$ uv tool uninstall")
