"""Every command has a route or a reason why not, and every route says who may call it."""

from __future__ import annotations

import argparse

from dibs.cli.support import COMMANDS, load
from dibs.cli.support.parsing import build
from dibs.server.rest.app import ROUTES
from dibs.server.rest.left_out import LEFT_OUT
from dibs.server.security.identity import TokenScope

#: Commands whose routes have another answer: a page of a listing is an object, and a report names its files.
PAGES = {"log": "log.list", "alerts ls": "alerts.list", "report": "timeline.show"}


def commands():
    """Yield every command; one with subcommands as each of them."""
    for name in COMMANDS:
        parser = build(name, load(name))
        verbs = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
        yield from (f"{name} {verb}" for verb in verbs[0].choices) if verbs else [name]


def routed():
    names = {route.name for route in ROUTES}
    assert set(PAGES.values()) <= names
    return {route.tells for route in ROUTES} | set(PAGES)


def test_every_command_has_a_route_or_a_reason():
    assert set(commands()) - routed() == set(LEFT_OUT)


def test_a_command_with_a_route_needs_no_reason():
    assert not routed() & set(LEFT_OUT)


def test_a_route_that_changes_something_is_not_for_readers():
    harmless = {"claims.check"}  # POST only because of its body
    loose = {r.name for r in ROUTES if r.scope == TokenScope.READ and r.method != "GET"}

    assert loose <= harmless


def test_names_of_routes_are_unique_and_paths_do_not_collide():
    places = [(route.method, route.path) for route in ROUTES]
    names = [route.name for route in ROUTES]

    assert len(set(places)) == len(places)
    assert len(set(names)) == len(names)


def test_a_task_named_like_a_word_of_the_api_can_be_shown():
    """Fixed words stand where no id can: below /board, not below /tasks."""
    fixed = [
        r.path for r in ROUTES if r.method == "GET" and r.path.startswith(("/tasks/", "/groups/"))
    ]

    assert all(path.split("/")[2].startswith("{") for path in fixed)
