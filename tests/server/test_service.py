"""The server as a service of the user: what is written, and when it is refused."""

from __future__ import annotations

import os
import plistlib
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dibs.errors import DibsError
from dibs.server.process.service import MARK, install, service_for, uninstall

USER = 1000


@pytest.fixture
def environ(tmp_path, monkeypatch):
    """A home, and programs that record how they are called."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("systemctl", "launchctl"):
        (tools / name).write_text(f'#!/bin/sh\necho {name} "$@" >> {tmp_path}/calls\n')
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    return {"HOME": str(tmp_path / "home"), "XDG_STATE_HOME": "/var/my $tate/100%"}


def test_a_systemd_unit_is_written_once_and_removed(environ, tmp_path):
    service = service_for("linux", ["--port", "8000"], environ, USER)

    assert install(service)
    assert not install(service)

    unit = tmp_path / "home" / ".config" / "systemd" / "user" / "dibs.service"
    assert unit.read_text() == service.content
    assert (
        f'ExecStart="{sys.executable}" "-P" "-m" "dibs" "serve" "--port" "8000"\n'
        in service.content
    )
    assert 'Environment="XDG_STATE_HOME=/var/my $tate/100%%"\n' in service.content
    assert uninstall(service)
    assert not uninstall(service)
    assert not unit.exists()
    assert (tmp_path / "calls").read_text().splitlines() == [
        "systemctl --user daemon-reload",
        "systemctl --user enable --now dibs.service",
        "systemctl --user daemon-reload",
        "systemctl --user enable --now dibs.service",
        "systemctl --user disable --now dibs.service",
        "systemctl --user daemon-reload",
    ]


def test_systemd_accepts_the_unit(environ, tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("needs systemd-analyze")
    unit = tmp_path / "dibs.service"
    unit.write_text(service_for("linux", [], environ, USER).content)

    done = subprocess.run(
        ["systemd-analyze", "--user", "verify", "--man=no", str(unit)],
        capture_output=True, text=True, check=False, env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)},
    )  # fmt: skip

    assert "dibs.service:" not in done.stderr, done.stderr


def test_a_launchd_agent_restarts_the_server_only_after_a_failure(environ, tmp_path):
    service = service_for("darwin", [], environ, USER)

    install(service)

    path = tmp_path / "home" / "Library" / "LaunchAgents" / "dev.dibs.server.plist"
    found = plistlib.loads(path.read_bytes())
    assert found["ProgramArguments"] == [sys.executable, "-P", "-m", "dibs", "serve"]
    assert found["KeepAlive"] == {"SuccessfulExit": False}
    assert found["EnvironmentVariables"] == {"XDG_STATE_HOME": "/var/my $tate/100%"}
    assert f"launchctl bootstrap gui/1000 {path}" in (tmp_path / "calls").read_text()
    assert uninstall(service)
    assert not path.exists()


def test_root_gets_no_service(environ):
    with pytest.raises(DibsError, match="you are root"):
        service_for("linux", [], environ, 0)


def test_a_file_of_the_user_is_neither_replaced_nor_removed(environ):
    service = service_for("linux", [], environ, USER)
    os.makedirs(os.path.dirname(service.path))
    Path(service.path).write_text("[Service]\nExecStart=/bin/true\n")

    for change in (install, uninstall):
        with pytest.raises(DibsError, match="is not from dibs serve"):
            change(service)

    assert MARK not in Path(service.path).read_text()


def test_special_characters_stay_one_word_in_the_unit(environ):
    path = '/a b/$HOME/%h/"c"\\d.pem'
    line = service_for("linux", ["--tls-cert", path], environ, USER).content
    (start,) = [row for row in line.splitlines() if row.startswith("ExecStart=")]

    words = shlex.split(start.partition("=")[2])

    assert words[-1].replace("$$", "$").replace("%%", "%") == path
