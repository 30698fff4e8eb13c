"""What ``dibs.toml`` starts by itself runs only after a human accepted exactly this text in this clone."""

from __future__ import annotations

import os
import subprocess

import pytest

from dibs.core.claims.agents import Caller
from dibs.errors import NotAllowed
from dibs.local.repository import find
from dibs.services.pipeline.consent import StartConsent

HUMAN, AGENT = Caller("me", "human", "here"), Caller("bot", "agent", "here")
ON = '[[on]]\nevent = "commit"\ncommand = ["make", "lint"]\n'
ALL = f'{ON}[merge]\ntest = "make test"\n[notify]\nwebhook = "https://me:pw@x.example/secret"\n'


@pytest.fixture
def clone(tmp_path, own_git):
    """Return a function that writes a clone's ``dibs.toml``, and returns its consent."""

    def make(text, name="repo"):
        root = tmp_path / name
        if not root.exists():
            subprocess.run(["git", "init", "-q", str(root)], check=True)
        (root / "dibs.toml").write_text(text)
        return StartConsent(find(str(root), {}))

    return make


def test_everything_that_starts_by_itself_waits_and_the_address_stays_hidden(clone):
    assert clone(ALL).pending() == [
        "on commit: make lint", "merge.test: make test", "notify.webhook: x.example",
    ]  # fmt: skip
    assert clone("[claims]\nttl = '10m'\n").pending() == []


def test_an_accepted_text_waits_again_after_any_change(clone):
    clone(ALL).accept(HUMAN)
    assert clone(ALL).pending() == []
    assert clone(f"{ALL}[claims]\nttl = '10m'\n").pending() == []

    for changed in (ON, ALL.replace("lint", "link"), ALL.replace("secret", "other")):
        assert clone(changed).pending()


def test_what_was_changed_after_it_was_shown_is_not_accepted(clone):
    consent = clone(ON)
    consent.pending()
    changed = ON.replace("lint", "link")
    clone(changed)

    consent.accept(HUMAN)

    assert clone(changed).pending()
    assert clone(ON).pending() == []


def test_an_agent_cannot_accept(clone):
    with pytest.raises(NotAllowed) as caught:
        clone(ON).accept(AGENT)

    assert caught.value.code == "HUMANS_ONLY"
    assert clone(ON).pending()


def test_a_text_accepted_in_one_clone_waits_in_another(clone):
    clone(ON).accept(HUMAN)

    assert clone(ON, "other").pending()


def test_the_accepted_text_is_private(clone):
    consent = clone(ON)
    consent.accept(HUMAN)

    assert os.stat(consent.path).st_mode & 0o077 == 0
