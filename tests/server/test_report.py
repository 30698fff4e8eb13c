"""``dibs report`` with a server: the data comes from there, and the files are written here."""

from __future__ import annotations

import json

import pytest

from dibs import dashboard


def test_with_a_server_elsewhere_the_report_is_written_here(server, tmp_path):
    if dashboard.path_of("report.js") is None:
        pytest.skip("the dashboard is not built")
    assert server.dibs("claim", "src/a.py", "--agent", "ada").returncode == 0
    read = server.dibs("token", "new", "--scope", "read").stdout.strip()
    there = {
        "DIBS_SERVER": server.url, "DIBS_SERVER_PROJECT": str(server.repo), "DIBS_TOKEN": read,
    }  # fmt: skip
    file = tmp_path / "report.html"

    done = server.dibs("report", "-o", str(file), "--json", **there)

    told = json.loads(done.stdout)
    assert ([one["pattern"] for one in told["claims"]], told["written"]) == (
        ["src/a.py"],
        [str(file)],
    )
    assert "src/a.py" in file.read_text("utf-8")


def test_the_server_writes_no_report_for_others(server):
    agent = server.dibs("token", "new", "--agent", "ada").stdout.strip()
    order = {"argv": ["report", "-o", "stolen.html"]}

    answer = server.request(
        "POST", "/api/v1/commands", order, {"Authorization": f"Bearer {agent}"}, tcp=True
    )

    assert b"runs only on the machine where it is typed" in answer.body, answer
    assert not (server.repo / "stolen.html").exists()
