"""The story on two machines: what is the same, and what an engine cannot show in a minute."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from machines import git
from story import GRANTED, Story, must

if TYPE_CHECKING:
    from machines import Machine

#: How many lines of the branch's log are shown.
SHOWN = 6


class TwoMachines(Story):
    """Over two clones that share a server."""

    def _who_works_where(self) -> None:
        store, laptop = self._stage.machines
        self._view.scene("Two machines: a clone, a home and agents of its own on each")
        for machine in (store, laptop):
            crew = ", ".join(name for name, at in self._stage.places.items() if at == machine)
            self._view.say(f"on {machine.name}: {crew}")
        self._view.say(f"all that they share is {self._stage.shared}")

    def _the_same_elsewhere(self) -> None:
        self._view.scene("Another machine sees the same claims")
        self._view.say("erin works on laptop, in a clone of its own")
        self._refused(self._erin, "src/auth/login.py", quote=False)
        self._claim(self._erin, "src/web/page.ts", ttl="1m", reason="hotfix")
        self._view.say("src/web/page.ts is free: erin claims it")

    def _the_queue(self) -> None:
        super()._the_queue()
        one, other = map(_seen, self._stage.machines)
        must(one == other, f"the machines see different things: {one}, {other}")
        self._view.say("dibs status says the same on both machines")


class TwoMachinesOnGit(TwoMachines):
    """Over two clones that share a git remote: no claim can be waited out here."""

    ttl = 60.0
    beat = 15.0

    def tell(self) -> None:
        """Tell it all, and show what is left of it."""
        super().tell()
        self._the_trail()

    def _a_holder_dies(self) -> None:
        self._view.scene("A holder gives its claim back, and the other machine hears of it")
        self._view.say(
            f"left out: a holder that dies. On git a claim lives for {self._shortest} at least"
        )
        self._bob.beat(None)
        released = self._bob.run("release", "src/auth/login.py")
        must(released.status == GRANTED, f"release said {released.lines}")
        self._view.doing("bob", "is between two jobs")
        woken = self._collect(self._dave, "src/auth/login.py")
        after = max(0.0, woken.at - released.at)
        self._view.say(f"bob releases on desk; dave, on laptop, has it {after:.1f}s later")

    def _a_holder_sleeps(self) -> None:
        self._view.scene("A holder that lost its claim in its sleep is stopped when it comes back")
        token = self._status_of("docs/api.md")["token"]
        self._carol.signal(signal.SIGSTOP)
        self._view.doing("carol", "paused")
        self._view.say("carol is paused (a laptop lid, a debugger)")
        reason = "carol does not answer"
        taken = self._stage.watcher.dibs("revoke", "docs/api.md", "--reason", reason)
        must(taken.status == GRANTED, f"revoke said {taken.lines}")
        self._view.say(f'nobody waits for the {self._shortest}: a human revokes it, "{reason}"')
        self._claim(self._erin, "docs/api.md", ttl="1m", reason="describe the API")
        newer = self._status_of("docs/api.md")["token"]
        must(newer > token, f"token {newer} came after token {token}")
        self._view.say(f"erin claims docs/api.md, under token {newer}")
        self._carol_wakes_up(token)

    def _the_trail(self) -> None:
        assert self._stage.origin is not None
        self._view.scene("The branch dibs of the remote is the record: git log --format=%s dibs")
        subjects = git(self._stage.origin, "log", "--format=%s", "dibs").splitlines()
        for words in ("claim: docs/api.md by erin", "release: src/auth/login.py by bob"):
            must(words in subjects, f"no commit says {words}: {subjects}")
        chosen = [line for line in subjects if line.startswith(("claim:", "release:", "revoke:"))]
        self._view.quote(chosen[:SHOWN])


def _seen(machine: Machine) -> list[list[object]]:
    """Return who holds what and who waits, as a machine sees it."""
    shape = machine.dibs("status", "--json").json
    held = [[claim["agent"], claim["pattern"], claim["token"]] for claim in shape["claims"]]
    return [held, [ticket["agent"] for ticket in shape["queue"]]]
