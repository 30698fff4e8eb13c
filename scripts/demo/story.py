"""Run the demo scene by scene, and check the result of each step."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING, Any

from machines import Answer, DemoError

from crew import PATIENCE

if TYPE_CHECKING:
    from concurrent.futures import Future

    from stages import Stage
    from view import View

    from crew import Agent

GRANTED, HELD, FENCED = 0, 3, 4


class Story:
    """Run each scene, describe it, and check each step."""

    #: The shortest ttl that the engine supports, in seconds, and the heartbeat interval for it.
    ttl = 5.0
    beat = 1.5

    def __init__(self, crew: dict[str, Agent], view: View, stage: Stage) -> None:
        self._alice, self._bob, self._carol, self._dave, self._erin = crew.values()
        self._crew = crew
        self._view = view
        self._stage = stage
        self._shortest = f"{self.ttl:.0f}s"
        self.fenced = 0
        self._waiting: dict[str, Future[Answer]] = {}
        for name in crew:
            view.doing(name, "joined")

    def run(self) -> None:
        """Run all scenes."""
        self._introduction()
        self._first_claims()
        self._denials()
        self._other_worktree()
        self._the_queue()
        self._release_request()
        self._dead_owner()
        self._paused_owner()
        self._a_deadlock()
        self._leaving()

    def _introduction(self) -> None:
        """Introduce the machines, if there is more than one."""

    def _first_claims(self) -> None:
        self._view.scene("Two agents claim what they are about to change")
        self._claim(self._alice, "src/auth/**", ttl="1m", reason="rework the login")
        self._view.say("alice claims src/auth/**: everything in that folder")
        self._claim(self._carol, "docs/api.md", ttl=self._shortest, reason="describe the API")
        self._carol.beat(self.beat)
        self._view.say(
            f"carol claims docs/api.md; each of her calls renews it for {self._shortest}"
        )

    def _denials(self) -> None:
        self._view.scene("No one else can claim those files")
        self._refused(self._bob, "src/auth/login.py")
        conflict = self._refused(self._dave, "src/**/session.py", quote=False)
        must(conflict["witness"] == "src/auth/session.py", f"no witness in {conflict}")
        self._view.say(f"both patterns match {conflict['witness']}")

    def _other_worktree(self) -> None:
        self._view.scene("Claims hold across worktrees")
        self._view.say("erin works in another worktree, shop-hotfix")
        self._refused(self._erin, "src/auth/login.py", quote=False)
        self._claim(self._erin, "src/web/page.ts", ttl="1m", reason="hotfix")
        self._view.say("src/web/page.ts is unclaimed, so erin claims it")

    def _the_queue(self) -> None:
        self._view.scene("Agents can wait in a queue")
        self._wait(self._bob, "src/auth/login.py", ttl=self._shortest)
        self._view.say("bob waits for src/auth/login.py")
        self._wait(self._dave, "src/auth/login.py", ttl="1m")
        self._view.say("dave wants it, too, and waits behind bob")
        queue = [ticket["agent"] for ticket in self._status()["queue"]]
        must(queue == ["bob", "dave"], f"the queue is {queue}")

    def _release_request(self) -> None:
        self._view.scene("An agent can request a release")
        note = "the hotfix needs the login"
        asked = self._erin.run("ask", "src/auth/login.py", "--within", "1m", "--note", note)
        must(asked.status == GRANTED, f"ask failed: {asked.lines}")
        self._view.say(f'erin asks alice to release it: "{note}"')
        asks = self._alice.run("renew", "--json").json["asks"]
        must([ask["asker"] for ask in asks] == ["erin"], f"alice received {asks}")
        self._view.say("alice sees the request with her next call and releases src/auth/**")
        released = self._alice.run("release", "src/auth/**")
        must(released.status == GRANTED, f"release failed: {released.lines}")
        self._view.doing("alice", "idle")
        woken = self._collect(self._bob, "src/auth/login.py")
        after = max(0.0, woken.at - released.at)
        self._bob.beat(self.beat)
        self._view.say(f"bob is first in the queue and gets it {after:.1f}s later")
        must(not self._waiting["dave"].done(), "dave overtook bob")
        self._view.say("dave is still waiting: the queue is first come, first served")

    def _dead_owner(self) -> None:
        self._view.scene("A dead agent's claim expires")
        self._bob.beat(None)
        must(self._bob.run("renew").status == GRANTED, "bob cannot renew")
        seen = self._last_seen("bob")
        self._bob.signal(signal.SIGKILL)
        self._view.doing("bob", "killed")
        self._view.say("bob is killed (kill -9) and cannot release anything")
        self._view.say(f"his claim has a ttl of {self._shortest} and expires without a heartbeat")
        taken = self._collect(self._dave, "src/auth/login.py").json["claims"][0]["since"]
        late = taken - seen
        must(self.ttl <= late < self.ttl + 1.5, f"dave got it after {late:.1f}s")
        self._view.say(f"dave gets it {late:.1f}s after bob's last heartbeat")

    def _paused_owner(self) -> None:
        self._view.scene("An agent that was paused too long cannot act on its old claim")
        token = self._status_of("docs/api.md")["token"]
        self._carol.signal(signal.SIGSTOP)
        self._view.doing("carol", "paused")
        self._view.say("carol is paused (closed laptop, debugger) until her claim expires")
        self._wait(self._erin, "docs/api.md", ttl="1m")
        newer = self._collect(self._erin, "docs/api.md").json["token"]
        must(newer > token, f"token {newer} was issued after token {token}")
        self._view.say(f"erin waits and gets docs/api.md with token {newer}")
        self._carol_resumes(token)

    def _carol_resumes(self, token: int) -> None:
        self._carol.signal(signal.SIGCONT)
        self._view.say(f"carol resumes and still believes she holds it (token {token})")
        late = self._carol.run("release", "docs/api.md", "--token", str(token))
        must(late.status == FENCED, f"carol was not fenced: {late.lines}")
        self.fenced += 1
        self._view.doing("carol", "fenced")
        self._view.say("her command is refused as fenced (exit status 4):")
        self._view.quote(late.lines)

    def _a_deadlock(self) -> None:
        self._view.scene("A deadlock is refused immediately")
        self._claim(self._alice, "src/api/routes.py", ttl="1m", reason="new route")
        self._wait(self._alice, "src/auth/login.py", ttl="1m")
        self._view.say("alice holds src/api/routes.py and waits for dave's src/auth/login.py")
        refused = self._dave.run("claim", "src/api/routes.py", "--wait", "20s", "--json")
        circle = [edge["agent"] for edge in refused.json["cycle"]]
        must(refused.status == HELD, f"dave was not refused: {refused.lines}")
        must(sorted(circle) == ["alice", "dave"], f"the cycle is {circle}")
        self._view.say("dave wants to wait for src/api/routes.py, which would be a deadlock:")
        self._view.quote([_edge(edge) for edge in refused.json["cycle"]])
        must(self._dave.run("release", "--all").status == GRANTED, "dave cannot release")
        self._view.doing("dave", "done")
        self._collect(self._alice, "src/auth/login.py")
        self._view.say("dave releases his claim instead, and alice gets src/auth/login.py")

    def _leaving(self) -> None:
        self._view.scene("Everyone leaves")
        for agent in (self._alice, self._carol, self._dave, self._erin):
            agent.beat(None)
            left = agent.run("agent", "leave")
            must(left.status == GRANTED, f"{agent.name} cannot leave: {left.lines}")
            self._view.doing(agent.name, "left")
        held = self._status()["claims"]
        must(not held, f"still held: {held}")
        self._view.say("leaving releases all claims; nothing is claimed anymore")

    # -- steps

    def _claim(self, agent: Agent, pattern: str, *, ttl: str, reason: str) -> None:
        words = ("claim", pattern, "--ttl", ttl, "--reason", reason, "--json")
        answer = agent.run(*words)
        must(answer.status == GRANTED, f"{agent.name} did not get {pattern}: {answer.lines}")
        self._view.doing(agent.name, f"working on {pattern}")

    def _refused(self, agent: Agent, pattern: str, *, quote: bool = True) -> dict[str, Any]:
        """Let an agent try a claimed path; return the conflict."""
        checked = agent.run("check", pattern, "--json")
        answer = agent.run("claim", pattern)
        for tried in (checked, answer):
            must(tried.status == HELD, f"{agent.name} was not denied {pattern}: {tried.lines}")
        conflict: dict[str, Any] = checked.json["conflicts"][0]
        self._view.doing(agent.name, f"denied {pattern}")
        holder, held, left = conflict["holder"], conflict["held"], round(conflict["expires_in"])
        line = f"{agent.name} is denied {pattern}: {holder} holds {held} for {left}s"
        self._view.say(f"{line}. Dibs prints:" if quote else line)
        if quote:
            self._view.quote(answer.lines)
        return conflict

    def _wait(self, agent: Agent, pattern: str, *, ttl: str) -> None:
        """Let an agent wait; return when it is in the queue."""
        words = ("claim", pattern, "--wait", "30s", "--ttl", ttl, "--json")
        self._waiting[agent.name] = agent.start(*words)
        self._view.doing(agent.name, f"waiting for {pattern}")
        until = time.monotonic() + 10
        while agent.name not in [ticket["agent"] for ticket in self._status()["queue"]]:
            must(time.monotonic() < until, f"{agent.name} is not in the queue")
            time.sleep(0.1)

    def _collect(self, agent: Agent, pattern: str) -> Answer:
        """Return a waiting agent's result."""
        answer = self._waiting.pop(agent.name).result(PATIENCE)
        must(answer.status == GRANTED, f"{agent.name} did not get {pattern}: {answer.lines}")
        self._view.doing(agent.name, f"working on {pattern}")
        return answer

    def _status(self) -> dict[str, Any]:
        answer = self._stage.watcher.dibs("status", "--json")
        must(answer.status == 0, f"status failed: {answer.lines}")
        shape: dict[str, Any] = answer.json
        return shape

    def _status_of(self, pattern: str) -> dict[str, Any]:
        return next(claim for claim in self._status()["claims"] if claim["pattern"] == pattern)

    def _last_seen(self, agent: str) -> float:
        seen: dict[str, float] = {a["id"]: a["last_seen"] for a in self._status()["agents"]}
        return seen[agent]


def _edge(edge: dict[str, str]) -> str:
    return f"{edge['agent']} waits for {edge['waits_for']}, which {edge['holder']} holds"


def must(fact: bool, otherwise: str) -> None:
    """Raise DemoError unless ``fact`` is true."""
    if not fact:
        raise DemoError(otherwise)
