"""What blocks each waiter, for a whole queue at once: the same as for each request alone."""

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.services.several_agents import Crew

from dibs.core.claims.blocking import SHOWN
from dibs.core.claims.rules import EXCLUSIVE, SHARED
from dibs.services.claims.acquire import request_of, survey
from dibs.services.claims.views import overview

AGENTS = ("ada", "bob", "eve", "joe")
PATTERNS = ("a/x.py", "a/y.py", "a/**", "b/x.py", "**/*.py", "b/", "port:1", "a/[xz].py")


def shown(conflicts):
    return {(c.pattern, c.held, c.holder, c.ticket, c.witness != "") for c in conflicts}


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(AGENTS),
            st.lists(st.sampled_from(PATTERNS), min_size=1, max_size=2, unique=True),
            st.sampled_from([EXCLUSIVE, SHARED]),
            st.sampled_from([0, 0, 200]),
        ),
        max_size=9,
    )
)
def test_a_queue_shows_the_conflicts_of_each_request_alone(steps):
    crew = Crew(ttl=300.0)
    for agent, patterns, mode, later in steps:
        crew.claim(agent, *patterns, mode=mode, queue=True)
        crew.clock.advance(later)

    queue = overview(crew.store).queue
    alone = crew.store.look(
        lambda rows: [survey(rows, request_of(rows, one.ticket)).conflicts for one in queue]
    )

    assert [shown(one.blocked_by) for one in queue] == [shown(found) for found in alone]


def test_a_waiter_is_blocked_by_the_owner_and_by_who_is_ahead():
    crew = Crew()
    crew.claim("ada", "src/**")
    crew.claim("bob", "src/a.py", queue=True)
    crew.claim("eve", "src/*.py", queue=True)

    bob, eve = crew.claims.queue()

    assert shown(bob.blocked_by) == {("src/a.py", "src/**", "ada", 0, True)}
    assert [(c.holder, c.held, bool(c.ticket), c.witness) for c in eve.blocked_by] == [
        ("ada", "src/**", False, eve.blocked_by[0].witness),
        ("bob", "src/a.py", True, "src/a.py"),
    ]
    assert crew.claims.queue("bob")[0].blocked_by == bob.blocked_by
    assert overview(crew.store, "bob").queue == [bob]


def test_a_waiter_names_a_limited_number_of_obstacles():
    crew = Crew()
    crew.claim("ada", *(f"src/{number}.py" for number in range(SHOWN + 5)))
    crew.claim("bob", "src/**", queue=True)

    assert len(crew.claims.queue()[0].blocked_by) == SHOWN


def test_no_waiter_is_ahead_for_what_someone_already_holds():
    crew = Crew()
    crew.claim("bob", "a", mode=SHARED)
    crew.claim("ada", "b")
    crew.claim("eve", "a", queue=True)
    crew.claim("bob", "a", "b", mode=SHARED, queue=True)

    eve, bob = crew.claims.queue()

    assert shown(eve.blocked_by) == {("a", "a", "bob", 0, True)}
    assert shown(bob.blocked_by) == {("b", "b", "ada", 0, True)}


def test_readers_do_not_wait_for_earlier_readers():
    crew = Crew()
    crew.claim("ada", "a")
    crew.claim("bob", "a", mode=SHARED, queue=True)
    crew.claim("eve", "a", mode=SHARED, queue=True)

    assert [shown(one.blocked_by) for one in crew.claims.queue()] == [
        {("a", "a", "ada", 0, True)}, {("a", "a", "ada", 0, True)},
    ]  # fmt: skip
