"""`dibs open`: starts the server, and opens the dashboard with a link that works once."""

from __future__ import annotations

import http.client
import json
from contextlib import closing
from urllib.parse import urlsplit

import pytest
from tests.server.conftest import free_port, make_project, own_environment, run_dibs


def follow(url: str, **headers: str) -> tuple[int, str, str]:
    """Request a link; return the status, the place that it leads to, and the cookie."""
    parts = urlsplit(url)
    with closing(http.client.HTTPConnection(parts.netloc, timeout=10)) as link:
        link.request("GET", f"{parts.path}?{parts.query}", headers=headers)
        answer = link.getresponse()
        return answer.status, answer.headers["location"] or "", answer.headers["set-cookie"] or ""


def opened(server, *words, **environ) -> dict:
    done = server.dibs("open", "--json", *words, **environ)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def browser(tmp_path):
    """A program that records the address that it is asked to open."""
    program, record = tmp_path / "browser", tmp_path / "opened"
    program.write_text(f'#!/bin/sh\nprintf %s "$1" > "{record}"\n')
    program.chmod(0o755)
    return program, record


def test_the_link_signs_in_once_and_leads_to_the_project_and_the_view(server):
    told = opened(server, "--print", "--view", "files")

    status, place, cookie = follow(told["url"])
    assert (status, place) == (303, f"/files?project={told['project']}")
    assert "HttpOnly; SameSite=Strict" in cookie
    assert follow(told["url"])[0] == 401
    assert follow(told["url"], Accept="text/html") == (303, place, "")
    assert (told["opened"], told["started"]) == (False, False)


def test_the_browser_gets_the_link_and_the_terminal_does_not(server, browser):
    program, record = browser

    done = server.dibs("open", BROWSER=f"{program} %s")

    assert done.stdout == f"opened {server.url} in your browser\n"
    assert follow(record.read_text())[0] == 303


@pytest.mark.parametrize("signs", [{}, {"DISPLAY": ":7", "SSH_CONNECTION": "a 1 b 2"}])
def test_without_a_display_or_over_ssh_the_link_is_printed(server, signs):
    done = server.dibs("open", **{"DISPLAY": "", "WAYLAND_DISPLAY": "", **signs})

    assert done.stdout.startswith(f"{server.url}/login?code=")
    assert "within a minute" in done.stderr


def test_an_agent_may_not_open_the_dashboard(server):
    done = server.dibs("open", "--print", DIBS_AGENT="ada")

    assert done.returncode == 77
    assert done.stdout == ""
    assert "only a human may open the dashboard" in done.stderr


def test_outside_of_a_project_it_says_how_to_make_one(server, tmp_path):
    done = run_dibs(tmp_path, server.environ, "open", "--print")

    assert done.returncode != 0
    assert len(done.stderr.splitlines()) == 1
    assert "git" in done.stderr


def test_another_project_is_served_from_then_on(server):
    other = make_project(server.repo.parent / "other", server.environ)

    done = run_dibs(other, server.environ, "open", "--print", "--json")

    project = json.loads(done.stdout)["project"]
    known = server.request("GET", "/api/v1/projects").json["projects"]
    assert {one["id"]: one["root"] for one in known}[project] == str(other)


def test_with_a_server_elsewhere_the_link_is_for_its_address(server):
    human = server.dibs("token", "new", "--scope", "human").stdout.strip()
    read = server.dibs("token", "new", "--scope", "read").stdout.strip()
    port = server.url.rpartition(":")[2]
    there = {"DIBS_SERVER": f"http://localhost:{port}", "DIBS_SERVER_PROJECT": str(server.repo)}

    told = opened(server, "--print", **there, DIBS_TOKEN=human)
    denied = server.dibs("open", "--print", **there, DIBS_TOKEN=read)

    assert told["url"].startswith(f"http://localhost:{port}/login?code=")
    assert follow(told["url"])[1] == f"/?project={told['project']}"
    assert denied.returncode == 77
    assert "scope human" in denied.stderr


@pytest.fixture
def stopped(short_tmp):
    """A project and an environment without a server; one that a test starts is stopped."""
    environ = own_environment(base := short_tmp())
    repo = make_project(base / "repo", environ)
    yield repo, environ
    run_dibs(repo, environ, "serve", "stop")


def test_it_starts_the_server_if_none_is_running(stopped):
    repo, environ = stopped
    port = str(free_port())

    done = run_dibs(repo, environ, "open", "--print", "--json", "--port", port)

    told = json.loads(done.stdout)
    assert told["started"] is True
    assert follow(told["url"])[0] == 303
    code = told["url"].partition("code=")[2].partition("&")[0]
    kept = [path for path in repo.parent.rglob("*") if path.is_file()]
    assert [path for path in kept if code.encode() in path.read_bytes()] == []


def test_a_port_that_cannot_exist_is_refused(stopped):
    for words in (["serve"], ["open", "--print"]):
        done = run_dibs(*stopped, *words, "--port", "65536")

        assert done.returncode == 65
        assert done.stderr.startswith("dibs: a port is a number from 0 to 65535, not 65536")
        assert len(done.stderr.splitlines()) == 1


def test_a_port_in_use_is_one_line(stopped, server):
    repo, environ = stopped

    done = run_dibs(repo, environ, "open", "--print", "--port", server.url.rpartition(":")[2])

    assert done.returncode == 69
    assert len(done.stderr.splitlines()) == 1
    assert "cannot listen on 127.0.0.1" in done.stderr
