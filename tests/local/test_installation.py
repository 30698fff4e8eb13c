"""The install hint matches how Dibs was installed; each expected command was run once by hand."""

from __future__ import annotations

import json
import shlex
import sys

import pytest

from dibs.local.installation import Installation, install_command, this_installation

FOLDER = {"url": "file:///srv/my%20dibs", "dir_info": {}}
EDITABLE = {"url": "file:///srv/dibs", "dir_info": {"editable": True}}
GIT = {"url": "https://host/dibs.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}}
BRANCH = {**GIT, "vcs_info": {"vcs": "git", "requested_revision": "main"}}
WHEEL = {"url": "https://host/dibs-1-py3-none-any.whl", "archive_info": {}}


def at(prefix, origin, installer="pip", active=False):
    return Installation(str(prefix), f"{prefix}/bin/python", origin, installer, active)


@pytest.mark.parametrize(
    ("origin", "named"),
    [
        ({}, "'dibs[mcp]'"),
        (FOLDER, "'/srv/my dibs[mcp]'"),
        (EDITABLE, "-e '/srv/dibs[mcp]'"),
        (GIT, "'dibs[mcp] @ git+https://host/dibs.git'"),
        (BRANCH, "'dibs[mcp] @ git+https://host/dibs.git@main'"),
        (WHEEL, "'dibs[mcp] @ https://host/dibs-1-py3-none-any.whl'"),
    ],
)
def test_the_command_installs_from_where_dibs_came_from(tmp_path, origin, named):
    found = at(tmp_path, origin, active=True)

    assert install_command("mcp", found) == f"pip install {named}"


def test_an_environment_that_is_not_active_is_named_by_its_python(tmp_path):
    python = f"{tmp_path}/bin/python"

    assert install_command("mcp", at(tmp_path, {})) == f"{python} -m pip install 'dibs[mcp]'"
    by_uv = install_command("mcp", at(tmp_path, {}, "uv"))
    assert by_uv == f"uv pip install --python {python} 'dibs[mcp]'"


def test_uv_installs_where_uv_installed(tmp_path):
    assert install_command("mcp", at(tmp_path, {}, "uv", active=True)) == (
        "uv pip install 'dibs[mcp]'"
    )


def test_a_uv_tool_keeps_its_extras_and_its_other_packages(tmp_path):
    (tmp_path / "uv-receipt.toml").write_text(
        '[tool]\nrequirements = [{ name = "dibs", extras = ["redis"] }, { name = "rich" }]\n'
    )

    assert install_command("mcp", at(tmp_path, GIT, "uv")) == (
        "uv tool install 'dibs[redis,mcp] @ git+https://host/dibs.git' --with rich"
    )
    assert install_command("mcp", at(tmp_path, EDITABLE, "uv")) == (
        "uv tool install -e '/srv/dibs[redis,mcp]' --with rich"
    )


@pytest.mark.parametrize("content", ["", "not toml", "[tool]\nrequirements = 1\n"])
def test_a_broken_uv_receipt_still_gets_a_command(tmp_path, content):
    (tmp_path / "uv-receipt.toml").write_text(content)

    assert install_command("mcp", at(tmp_path, {}, "uv")) == "uv tool install 'dibs[mcp]'"


def test_a_pipx_application_keeps_its_extras(tmp_path):
    asked = {"main_package": {"package_or_url": "dibs[redis] @ git+https://host/dibs.git"}}
    (tmp_path / "pipx_metadata.json").write_text(json.dumps(asked))

    assert install_command("mcp", at(tmp_path, GIT)) == (
        "pipx install --force 'dibs[redis,mcp] @ git+https://host/dibs.git'"
    )
    assert install_command("mcp", at(tmp_path, EDITABLE)) == (
        "pipx install --force --editable '/srv/dibs[redis,mcp]'"
    )


def test_a_broken_pipx_receipt_still_gets_a_command(tmp_path):
    (tmp_path / "pipx_metadata.json").write_text("{")

    assert install_command("mcp", at(tmp_path, {})) == "pipx install --force 'dibs[mcp]'"


def test_this_process_is_described_by_its_own_environment():
    found = this_installation({"VIRTUAL_ENV": sys.prefix})

    assert (found.prefix, found.python, found.active) == (sys.prefix, sys.executable, True)
    assert not this_installation({}).active
    assert "[redis]" in shlex.split(install_command("redis"))[-1]
