"""Short calls of one project take turns in one thread."""

import asyncio
import threading
import time

import anyio
import pytest

from dibs.server.lanes import Lane


def test_calls_that_wait_run_in_one_thread_and_each_gets_its_own_answer():
    async def run():
        lane = Lane(anyio.CapacityLimiter(8))
        acts = [lane.run(lambda n=n: (n, threading.get_ident())) for n in range(50)]
        return await asyncio.gather(*acts)

    found = asyncio.run(run())
    assert [number for number, _ in found] == list(range(50))
    assert len({thread for _, thread in found}) == 1


def test_an_error_reaches_only_its_caller():
    async def run():
        lane = Lane(anyio.CapacityLimiter(8))
        bad = lane.run(lambda: 1 // 0)
        return await asyncio.gather(bad, lane.run(lambda: 2), return_exceptions=True)

    error, answer = asyncio.run(run())
    assert isinstance(error, ZeroDivisionError)
    assert answer == 2


def test_a_stuck_call_does_not_hold_up_the_others():
    released = threading.Event()

    async def run():
        lane = Lane(anyio.CapacityLimiter(8))
        stuck = asyncio.create_task(lane.run(lambda: released.wait(10)))
        await asyncio.sleep(0.05)
        answer = await asyncio.wait_for(lane.run(lambda: "quick"), 5)
        assert not stuck.done()
        released.set()
        return answer, await stuck

    assert asyncio.run(run()) == ("quick", True)


def test_a_cancelled_caller_does_not_stop_the_lane():
    async def run():
        lane = Lane(anyio.CapacityLimiter(8))
        gone = asyncio.create_task(lane.run(lambda: time.sleep(0.05)))
        await asyncio.sleep(0.01)
        gone.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gone
        return await lane.run(lambda: 3)

    assert asyncio.run(run()) == 3
