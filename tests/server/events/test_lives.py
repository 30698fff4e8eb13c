"""Streams survive what happens to servers and stores: kills, several servers, many waiters, browsers."""

from __future__ import annotations

import contextlib
import subprocess
import threading

from tests.server.conftest import make_project, own_environment
from tests.server.events.conftest import QUIET, Client
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import unix_connect

from dibs.core.claims.agents import Caller
from dibs.core.patterns.pattern import parse
from dibs.project.location import locate
from dibs.project.project import open_at


def test_a_client_of_a_killed_server_resumes_without_gap_or_duplicate(start_server):
    server = start_server()
    project = open_at(locate(str(server.repo)))
    stop = threading.Event()
    paths = [parse(f"src/{number}.py") for number in range(5)]

    def write():
        while not stop.wait(0.001):
            project.claims.claim(Caller("busy"), paths)
            project.holdings.release(Caller("busy"), paths)

    writer = threading.Thread(target=write)
    writer.start()
    seen: list[int] = []
    try:
        for round_ in range(2):
            after = f"?after={seen[-1]}" if seen else "?after=0"
            with (
                contextlib.suppress(ConnectionClosed, OSError),
                unix_connect(server.socket, f"ws://localhost/ws{after}", **QUIET) as link,
            ):
                client = Client(link)
                assert client.next()["type"] == "resumed"
                for count in range(300):
                    seen.append(client.next()["seq"])
                    if count == 150 and round_ == 0:
                        server.process.kill()
            if round_ == 0:
                server.process.wait()
                server = start_server(base=server.repo.parent)
    finally:
        stop.set()
        writer.join()
    written = [entry.seq for entry in project.ledger.after(0)[0]]
    project.close()
    assert len(seen) > 450
    assert seen == written[: len(seen)]


def test_two_servers_on_one_redis_send_identical_streams(make_live, short_tmp, redis_url):
    lives = []
    for _ in range(2):
        base = short_tmp()
        repo = make_project(base / "repo", own_environment(base))
        (repo / "dibs.toml").write_text(f'engine = "{redis_url}"\nproject = "shop"\n')
        subprocess.run(["rm", "-rf", str(repo / ".git" / "dibs")], check=True)
        lives.append(make_live(base))
    clients = [live.connect() for live in lives]
    for client in clients:
        assert client.next()["seq"] == 0

    for number in range(30):
        lives[number % 2].claim(f"agent-{number % 2}", f"src/{number}")
    last = lives[0].newest()

    one, two = (client.until(last) for client in clients)
    assert [event.pop("project") for event in one] == [lives[0].served.id] * len(one)
    assert [event.pop("project") for event in two] == [lives[1].served.id] * len(two)
    assert one == two
    assert [event["seq"] for event in one] == lives[0].numbers()


def test_a_store_that_does_not_answer_is_reported_and_nothing_is_lost(make_live):
    live = make_live()
    client = live.connect()
    client.next()
    folder = live.base / "repo" / ".git" / "dibs"
    hidden = folder.with_name("hidden")
    folder.rename(hidden)
    assert client.next()["type"] == "behind"

    hidden.rename(folder)
    assert client.next()["type"] == "current"
    last = live.claim("bob", "src/b.py")
    assert client.until(last)[-1]["agent"] == "bob"
