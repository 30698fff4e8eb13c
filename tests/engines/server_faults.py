"""Faults between a client and its server, for every engine with a server.

Nothing happens twice, and no guess is reported as a fact.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import pytest
from tests.servers import FaultProxy

from dibs.errors import Unavailable, Unknown
from dibs.testing.steps import entries, increment

TIMEOUT = 1.5
#: How much longer than its timeout a call may take on a busy machine.
SLACK = 6.0


def count(engine):
    return int(engine.view(lambda txn: txn.get("count")) or 0)


def ends_in_time(call, *errors):
    started = time.monotonic()
    with pytest.raises(errors) as caught:
        call()
    assert time.monotonic() - started < TIMEOUT + SLACK
    return caught.value


class ServerFaults:
    """Subclass it with the fixtures ``server`` and ``connect``.

    ``connect(port=0, timeout=5.0)`` opens a handle, through a proxy's port if one is given.
    """

    #: A text in every write of the counter.
    write: bytes
    #: The code of the error for a server that cannot be reached.
    unreachable: str
    #: Python source that opens a handle named ``engine`` in a new process.
    elsewhere: str

    @pytest.fixture
    def proxy(self, server):
        with FaultProxy(server) as proxy:
            yield proxy

    @pytest.fixture
    def far(self, connect, proxy):
        """A handle behind the proxy."""
        engine = connect(proxy.port, TIMEOUT)
        yield engine
        proxy.heal()

    @pytest.fixture
    def near(self, connect):
        """A handle next to it, which no fault affects."""
        return connect()

    def test_a_write_whose_reply_is_lost_counts_once(self, far, near, proxy):
        far.transact(increment)

        for expected in (2, 3, 4):
            proxy.drop_reply(after=self.write)
            number = far.transact(increment)

            assert (count(near), count(far)) == (expected, expected)
            assert entries(near)[-1].seq == number
        assert proxy.cuts == 3

    def test_a_request_that_is_cut_off_halfway_is_sent_again(self, far, near, proxy):
        far.transact(increment)

        proxy.cut_after(40, ("requests",))
        far.transact(increment)

        assert count(near) == 2

    def test_a_write_into_a_black_hole_is_unknown_and_a_read_is_unavailable(self, far, near, proxy):
        far.transact(increment)

        proxy.swallow()

        ends_in_time(lambda: far.transact(increment), Unknown)
        error = ends_in_time(lambda: far.view(lambda txn: txn.get("count")), Unavailable)
        assert error.code == self.unreachable
        proxy.heal()
        proxy.reset()
        assert count(far) == count(near)

    def test_a_write_whose_reply_never_arrives_is_unknown_and_can_be_seen_later(
        self, far, near, proxy
    ):
        far.transact(increment)

        proxy.swallow(("replies",))
        ends_in_time(lambda: far.transact(increment), Unknown)

        assert count(near) == 2  # it had happened
        proxy.heal()
        proxy.reset()
        assert count(far) == 2

    def test_a_client_that_is_cut_off_permanently_learns_that_nothing_happened(
        self, far, near, proxy
    ):
        far.transact(increment)

        proxy.refuse()
        proxy.reset()
        time.sleep(0.05)  # until the reset has arrived; before, no one could know

        ends_in_time(lambda: far.transact(increment), Unavailable)
        assert count(near) == 1
        proxy.heal()
        assert far.transact(increment)

    def test_no_one_notices_a_connection_that_breaks_while_idle(self, far, proxy):
        far.transact(increment)

        proxy.reset()

        far.transact(increment)
        assert count(far) == 2

    def test_while_the_server_is_frozen_no_one_gets_a_wrong_answer(self, server, connect):
        engine = connect(timeout=TIMEOUT)
        engine.transact(increment)
        server.pause()
        try:
            ends_in_time(lambda: engine.transact(increment), Unknown)
            ends_in_time(lambda: engine.view(lambda txn: txn.get("count")), Unavailable)
        finally:
            server.resume()
        # The store knows which of the two happened; a repeat counts once.
        before = count(engine)
        assert before in (1, 2)
        engine.transact(increment)
        assert count(engine) == before + 1

    def test_a_killed_server_has_every_confirmed_change_when_it_is_back(self, server, connect):
        engine = connect(timeout=15.0)
        confirmed = [engine.transact(increment) for _ in range(20)]

        server.kill()
        server.start()

        confirmed.append(engine.transact(increment))
        assert [entry.seq for entry in entries(engine)] == confirmed  # and no new life

    def test_waiting_survives_a_server_that_is_briefly_gone(self, server, connect):
        waiter = connect(timeout=10.0)
        newest = waiter.transact(increment)
        found = []
        watching = threading.Thread(target=lambda: found.append(waiter.wait(newest, 20)))
        watching.start()
        time.sleep(0.1)
        server.kill()
        server.start()

        number = connect().transact(increment)
        watching.join(20)

        assert found == [number]

    def test_a_forked_process_opens_its_own_connection(self, connect):
        program = f"""
import os
from dibs.testing.steps import add_up
{self.elsewhere}
add_up(engine, 1)
children = []
for _ in range(3):
    child = os.fork()
    if not child:
        add_up(engine, 20)
        os._exit(0)
    children.append(child)
add_up(engine, 20)
assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
print(engine.view(lambda txn: txn.get("count")))
"""
        done = subprocess.run(
            [sys.executable, "-c", program], check=False, capture_output=True, text=True, timeout=60
        )

        assert (done.stdout, done.stderr) == ("81\n", "")
