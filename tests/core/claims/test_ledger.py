"""Headlines: an event in one short line."""

import pytest

from dibs.core.claims.ledger import Event, Kind, headline


@pytest.mark.parametrize("kind", [list, tuple])
def test_a_headline_lists_what_an_event_is_about(kind):
    details = {"patterns": kind(["src/a.py", "task:lint"])}

    line = headline(Event("bob", "agent", Kind.LOCK_QUEUED, "bob waits", details))

    assert line == "queue: src/a.py, lint by bob"
