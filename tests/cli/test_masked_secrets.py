"""No secret that someone types is stored or shown: not in the store, the ledger, the board, or JSON."""

from __future__ import annotations

import os

import pytest
from tests.core.text.test_secrets import ANNOUNCED, SHAPED, TOKENS, prefixed

#: Planted texts, each with the part that must not be found anywhere.
PLANTED = [
    *((token, token[-9:]) for token in (*TOKENS, *SHAPED, *prefixed())),
    *((around.replace("{}", secret), secret) for around, secret in ANNOUNCED if len(secret) > 8),
]


def batches(size):
    """Yield some planted texts at a time, on lines of their own, and what must not be found."""
    for start in range(0, len(PLANTED), size):
        some = PLANTED[start : start + size]
        yield "\n".join(text for text, _ in some), [secret for _, secret in some]


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
    shown, leaked = "", []
    for text, secrets in batches(12):
        dibs("claim", "b.txt", agent="bob")
        answer = dibs(*WAYS[way](text), agent="" if way == "revocation" else "alice")
        assert answer.status in {0, 3}, answer.err
        shown += answer.out + answer.err
        # In one line, a plain word after "password:" is prose.
        leaked += [one for one in secrets if way != "title" or not one.isalpha()]
    shown += dibs("log", "--json").out + dibs("inbox", "--json", agent="bob").out
    shown += dibs("status", "--json").out + dibs("brief", "--json", agent="bob").out

    kept = stored(repo)

    assert len(leaked) >= 200
    assert b"[masked " in kept
    assert [secret for secret in leaked if secret.encode() in kept] == []
    assert [secret for secret in leaked if secret in shown] == []


def test_a_secret_in_a_commit_message_is_not_kept_in_the_ledger(dibs, repo):
    tokens = list(prefixed())
    (repo / "a.txt").write_text("new\n")
    dibs("claim", "a.txt", agent="alice")

    answer = dibs("commit", "-m", "Change a file " + tokens[0], agent="alice")

    assert answer.status == 0, answer.err
    assert tokens[0].encode() not in stored(repo)
    assert tokens[0] not in dibs("log", "--json").out
