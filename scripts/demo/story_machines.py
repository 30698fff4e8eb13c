"""Run the demo on two machines, with what differs there."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from machines import git
from story import GRANTED, Story, must

if TYPE_CHECKING:
    from machines import Machine

#: How many lines of the branch's log to show.
SHOWN = 6


class TwoMachines(Story):
    """Run it in two clones that share a server."""

    def _introduction(self) -> None:
        store, laptop = self._stage.machines
        self._view.scene("Two machines, each with its own clone, home, and agents")
        for machine in (store, laptop):
            crew = ", ".join(name for name, at in self._stage.places.items() if at == machine)
            self._view.say(f"{machine.name}: {crew}")
        self._view.say(f"they share only {self._stage.shared}")

    def _other_worktree(self) -> None:
        self._view.scene("Claims hold across machines")
        self._view.say("erin works on laptop, in another clone")
        self._refused(self._erin, "src/auth/login.py", quote=False)
        self._claim(self._erin, "src/web/page.ts", ttl="1m", reason="hotfix")
        self._view.say("src/web/page.ts is unclaimed, so erin claims it")

    def _the_queue(self) -> None:
        super()._the_queue()
        one, other = map(_seen, self._stage.machines)
        must(one == other, f"the machines see different states: {one}, {other}")
        self._view.say("dibs status prints the same on both machines")


class TwoMachinesOnGit(TwoMachines):
    """Run it in two clones that share a git remote, where claims live too long to wait for expiry."""

    ttl = 60.0
    beat = 15.0

    def run(self) -> None:
        """Run all scenes, then show the branch."""
        super().run()
        self._show_branch()

    def _dead_owner(self) -> None:
        self._view.scene("A release reaches the other machine")
        self._view.say(
            f"(skipped: a dead agent's claim expires; with git, the shortest ttl is {self._shortest})"
        )
        self._bob.beat(None)
        released = self._bob.run("release", "src/auth/login.py")
        must(released.status == GRANTED, f"release failed: {released.lines}")
        self._view.doing("bob", "idle")
        woken = self._collect(self._dave, "src/auth/login.py")
        after = max(0.0, woken.at - released.at)
        self._view.say(f"bob releases in the office; dave gets it on laptop {after:.1f}s later")

    def _paused_owner(self) -> None:
        self._view.scene("An agent that lost its claim while paused cannot act on it")
        token = self._status_of("docs/api.md")["token"]
        self._carol.signal(signal.SIGSTOP)
        self._view.doing("carol", "paused")
        self._view.say("carol is paused (closed laptop, debugger)")
        reason = "carol does not respond"
        taken = self._stage.watcher.dibs("revoke", "docs/api.md", "--reason", reason)
        must(taken.status == GRANTED, f"revoke failed: {taken.lines}")
        self._view.say(f'a human does not wait {self._shortest} and revokes her claim: "{reason}"')
        self._claim(self._erin, "docs/api.md", ttl="1m", reason="describe the API")
        newer = self._status_of("docs/api.md")["token"]
        must(newer > token, f"token {newer} was issued after token {token}")
        self._view.say(f"erin claims docs/api.md with token {newer}")
        self._carol_resumes(token)

    def _show_branch(self) -> None:
        assert self._stage.origin is not None
        self._view.scene("The remote's dibs branch is the record: git log --format=%s dibs")
        subjects = git(self._stage.origin, "log", "--format=%s", "dibs").splitlines()
        for words in ("claim: docs/api.md by erin", "release: src/auth/login.py by bob"):
            must(words in subjects, f"no commit has the subject {words!r}: {subjects}")
        chosen = [line for line in subjects if line.startswith(("claim:", "release:", "revoke:"))]
        self._view.quote(chosen[:SHOWN])


def _seen(machine: Machine) -> list[list[object]]:
    """Return the claims and the queue as a machine sees them."""
    shape = machine.dibs("status", "--json").json
    held = [[claim["agent"], claim["pattern"], claim["token"]] for claim in shape["claims"]]
    return [held, [ticket["agent"] for ticket in shape["queue"]]]
