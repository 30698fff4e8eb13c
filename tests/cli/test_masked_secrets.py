"""No secret that someone types is stored or shown: not in the store, the ledger, the board, or JSON."""

from __future__ import annotations

import os

import pytest
from tests.core.text.test_secrets import SHAPED, TOKENS, prefixed

#: A few of the tokens that ``tests/core/text`` checks.
PLANTED = [*TOKENS, *SHAPED, *prefixed()][::20]


def stored(root):
    """Return everything that Dibs keeps in a repository: its state, and the board."""
    found = b""
    for folder in (root / ".git" / "dibs", root / "work"):
        for above, _, names in os.walk(folder):
            for name in names:
                with open(os.path.join(above, name), "rb") as file:
                    found += file.read()
    return found


WAYS = {
    "reason": lambda text: ("claim", "a.txt", "--reason", text),
    "message": lambda text: ("say", "bob", text),
    "question": lambda text: ("ask", "b.txt", "--note", text),
    "task": lambda text: ("task", "new", "A task", "--note", text),
    "title": lambda text: ("task", "new", "A task with " + " ".join(text.split())),
    "escalation": lambda text: ("escalate", "b.txt", "--note", text),
    "answer": lambda text: ("say", "human", text),
    "revocation": lambda text: ("revoke", "b.txt", "--reason", text),
}


@pytest.mark.parametrize("way", WAYS)
def test_no_planted_secret_is_stored_or_shown(dibs, repo, way):
    dibs("init", "--agents", "none", "--board")
    dibs("claim", "b.txt", agent="bob")
    answer = dibs(*WAYS[way]("\n".join(PLANTED)), agent="" if way == "revocation" else "alice")
    assert answer.status in {0, 3}, answer.err
    shown = answer.out + answer.err + dibs("log", "--json").out
    shown += dibs("inbox", "--json", agent="bob").out + dibs("brief", "--json", agent="bob").out
    shown += dibs("status", "--json").out

    kept = stored(repo)

    assert b"[masked " in kept
    assert [secret for secret in PLANTED if secret[-9:].encode() in kept] == []
    assert [secret for secret in PLANTED if secret[-9:] in shown] == []


def test_a_secret_in_a_commit_message_is_not_kept_in_the_ledger(dibs, repo):
    tokens = list(prefixed())
    (repo / "a.txt").write_text("new\n")
    dibs("claim", "a.txt", agent="alice")

    answer = dibs("commit", "-m", "Change a file " + tokens[0], agent="alice")

    assert answer.status == 0, answer.err
    assert tokens[0].encode() not in stored(repo)
    assert tokens[0] not in dibs("log", "--json").out
