"""The server process: where it listens, that there is one, and how it ends."""

from __future__ import annotations

import json
import os
import stat

from tests.server.conftest import until


def test_the_server_answers_over_tcp_and_over_its_unix_socket(server):
    assert server.request("GET", "/no/such/page").status in {401, 404}
    assert server.request("GET", "/no/such/page", tcp=True).status in {401, 404}


def test_the_server_describes_itself_in_its_folder(server):
    told = json.loads((server.folder / "server.json").read_text())

    assert told["pid"] == server.process.pid
    assert told["url"] == server.url
    assert told["socket"] == server.socket
    assert stat.S_IMODE(server.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(os.stat(server.socket).st_mode) == 0o600
    assert stat.S_IMODE((server.folder / "server.json").stat().st_mode) == 0o600


def test_a_second_start_finds_the_first(server):
    done = server.dibs("serve", "--port", "0")

    assert done.returncode == 0
    assert done.stdout == f"already running at {server.url} (process {server.process.pid})\n"


def test_a_stopped_server_leaves_no_sockets(start_server):
    server = start_server()

    assert server.stop() == 0

    assert not os.path.exists(server.socket)
    assert not (server.folder / "server.json").exists()


def test_the_project_in_which_it_starts_is_served(server):
    assert json.loads((server.folder / "projects.json").read_text()) == [str(server.repo)]


def test_an_address_that_others_can_reach_needs_a_flag(server):
    done = server.dibs("serve", "--host", "0.0.0.0", "--port", "0")

    assert done.returncode == 78
    assert "does not encrypt" in done.stderr


def test_the_status_names_the_handlers_that_fail(server):
    assert json.loads(server.dibs("serve", "status", "--json").stdout)["failing"] == []
    (server.repo / "dibs.toml").write_text('[[on]]\nevent = "lock_acquired"\ncommand = ["false"]\n')

    def failing():
        return json.loads(server.dibs("serve", "status", "--json").stdout)["failing"]

    until(failing)
    (one,) = failing()
    assert one["project"] == str(server.repo)
    assert "no human has accepted" in one["failing"]
    text = server.dibs("serve", "status").stdout.splitlines()
    assert text[1] == f"handler {one['name']} of {server.repo}: {one['failing']}"
