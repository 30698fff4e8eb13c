"""Alerts on the engines that servers share: two machines check at once, and each alert opens once."""

from threading import Barrier, Thread

from tests.services.engines import common_store, on, redis, sqlite
from tests.services.several_agents import caller
from tests.services.watching import Watch


@on(sqlite, redis)
def connect(request):
    """Return a function that opens the shared store as another machine would."""
    with common_store(request, apart=True) as another:
        yield lambda **settings: Watch(lambda _: another(), **settings)


def test_two_servers_open_acknowledge_and_end_each_alert_once(connect):
    one, other = connect(), connect()
    one.agents.report(caller("alice"), context=0.99)

    both(one.check, other.check)
    assert one.opened("context_pressure") == 1
    assert [alert.id for alert in one.open()] == [alert.id for alert in other.open()]

    (alert,) = one.open("context_pressure")
    both(
        lambda: one.alerts.acknowledge(caller("human"), [alert.id]),
        lambda: other.alerts.acknowledge(caller("human"), [alert.id]),
    )
    one.agents.report(caller("alice"), context=0.1)
    both(one.check, other.check)
    assert other.open("context_pressure") == []
    kinds = one.kinds()
    assert (kinds.count("alert_acknowledged"), kinds.count("alert_resolved")) == (1, 1)


def both(*steps):
    ready = Barrier(len(steps))

    def run(step):
        ready.wait(10)
        step()

    threads = [Thread(target=run, args=(step,)) for step in steps]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
