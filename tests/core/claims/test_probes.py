"""Entries of ``dibs doctor --prove``: only those are skipped, whatever name an agent takes."""

import pytest

from dibs.core.claims.ledger import Entry, Kind
from dibs.core.claims.probes import is_probe_agent, is_probe_entry


@pytest.mark.parametrize("name", ["prove-00ff00ff", "prove-00ff00ff-git", "claude-prove0f3"])
def test_test_agents_are_recognized(name):
    assert is_probe_agent(name)


@pytest.mark.parametrize(
    "name",
    [
        "prove",
        "prove-theorem",
        "prove-00ff",
        "code-prove",
        "claude-prover",
        "prove0f3",
        "a-prove0f3f",
    ],
)
def test_other_agents_are_not_taken_for_test_agents(name):
    assert not is_probe_agent(name)


def entry(kind, agent="prove-00ff00ff", **details):
    return Entry(1, 1.0, agent, "agent", kind, "", details)


@pytest.mark.parametrize(
    "found",
    [
        entry(Kind.AGENT_JOINED, parent=""),
        entry(Kind.LOCK_ACQUIRED, patterns=[".dibs-prove-00ff00ff"]),
        entry(Kind.LOCK_DENIED, pattern=".dibs-prove-00ff00ff", held=".dibs-prove-00ff00ff"),
        entry(Kind.WRITE_REFUSED, paths=[".dibs-prove-00ff00ff"]),
    ],
)
def test_entries_about_test_files_only_are_skipped(found):
    assert is_probe_entry(found)
    assert not is_probe_entry(found._replace(agent="bob"))


@pytest.mark.parametrize(
    "found",
    [
        entry(Kind.LOCK_ACQUIRED, patterns=[".dibs-prove-00ff00ff", "src/a.py"]),
        entry(Kind.FOREIGN_WRITE, path="src/a.py"),
        entry(Kind.COMMITTED, paths=[".dibs-prove-00ff00ff"]),
        entry(Kind.MESSAGE_SENT),
        entry(Kind.LOCK_ACQUIRED),
    ],
)
def test_an_agent_with_the_name_of_a_test_agent_cannot_hide_work(found):
    assert not is_probe_entry(found)
