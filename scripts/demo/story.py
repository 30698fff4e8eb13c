"""The story: scene by scene, what the agents do, and what must come of it."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING, Any

from crew import PATIENCE
from machines import Answer, DemoError

if TYPE_CHECKING:
    from concurrent.futures import Future

    from crew import Agent
    from stages import Stage
    from view import View

GRANTED, HELD, FENCED = 0, 3, 4


class Story:
    """Directs the crew, tells what happens, and checks each step."""

    #: The shortest ttl that the engine keeps, in seconds, and how often somebody with such a claim beats.
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
            view.doing(name, "has just come")

    def tell(self) -> None:
        """Tell it all."""
        self._who_works_where()
        self._everybody_takes_a_part()
        self._a_file_is_taken()
        self._the_same_elsewhere()
        self._the_queue()
        self._asking()
        self._a_holder_dies()
        self._a_holder_sleeps()
        self._a_circle()
        self._going_home()

    def _who_works_where(self) -> None:
        """Say what is to be known before; on one machine that is nothing."""

    def _everybody_takes_a_part(self) -> None:
        self._view.scene("Two agents claim what they are going to change")
        self._claim(self._alice, "src/auth/**", ttl="1m", reason="rework the login")
        self._view.say("alice claims src/auth/**, everything below that folder")
        self._claim(self._carol, "docs/api.md", ttl=self._shortest, reason="describe the API")
        self._carol.beat(self.beat)
        more = f"each call of hers keeps it alive for {self._shortest} more"
        self._view.say(f"carol claims docs/api.md; {more}")

    def _a_file_is_taken(self) -> None:
        self._view.scene("A file that is taken stays taken")
        self._refused(self._bob, "src/auth/login.py")
        conflict = self._refused(self._dave, "src/**/session.py", quote=False)
        must(conflict["witness"] == "src/auth/session.py", f"no witness in {conflict}")
        self._view.say(f"because both patterns match {conflict['witness']}")

    def _the_same_elsewhere(self) -> None:
        self._view.scene("Another worktree of the same repository sees the same claims")
        self._view.say("erin works in the worktree shop-hotfix, a folder of its own")
        self._refused(self._erin, "src/auth/login.py", quote=False)
        self._claim(self._erin, "src/web/page.ts", ttl="1m", reason="hotfix")
        self._view.say("src/web/page.ts is free: erin claims it")

    def _the_queue(self) -> None:
        self._view.scene("Who wants to wait, waits in turn")
        self._wait(self._bob, "src/auth/login.py", ttl=self._shortest)
        self._view.say("bob waits for src/auth/login.py")
        self._wait(self._dave, "src/auth/login.py", ttl="1m")
        self._view.say("dave wants it, too, and waits behind bob")
        queue = [ticket["agent"] for ticket in self._status()["queue"]]
        must(queue == ["bob", "dave"], f"the queue is {queue}")

    def _asking(self) -> None:
        self._view.scene("A holder can be asked")
        note = "the hotfix needs the login"
        asked = self._erin.run("ask", "src/auth/login.py", "--within", "1m", "--note", note)
        must(asked.status == GRANTED, f"ask said {asked.lines}")
        self._view.say(f'erin asks alice to give it back: "{note}"')
        told = self._alice.run("renew", "--json").json["asks"]
        must([ask["asker"] for ask in told] == ["erin"], f"alice was told {told}")
        self._view.say("alice learns of it with her next call, and releases src/auth/**")
        released = self._alice.run("release", "src/auth/**")
        must(released.status == GRANTED, f"release said {released.lines}")
        self._view.doing("alice", "is between two jobs")
        woken = self._collect(self._bob, "src/auth/login.py")
        after = max(0.0, woken.at - released.at)
        self._bob.beat(self.beat)
        self._view.say(f"bob, the first in line, is woken and has it {after:.1f}s later")
        must(not self._waiting["dave"].done(), "dave overtook bob")
        self._view.say("dave is still in line: nobody overtakes")

    def _a_holder_dies(self) -> None:
        self._view.scene("A holder that dies gives its claim back by itself")
        self._bob.beat(None)
        must(self._bob.run("renew").status == GRANTED, "bob cannot renew")
        seen = self._last_seen("bob")
        self._bob.signal(signal.SIGKILL)
        self._view.doing("bob", "killed")
        self._view.say("bob is killed (kill -9) and can tell nobody")
        self._view.say(
            f"its claim lives for the {self._shortest} that it asked for, and not longer"
        )
        taken = self._collect(self._dave, "src/auth/login.py").json["claims"][0]["since"]
        late = taken - seen
        must(self.ttl <= late < self.ttl + 1.5, f"dave got it after {late:.1f}s")
        self._view.say(f"dave gets it {late:.1f}s after bob's last sign of life")

    def _a_holder_sleeps(self) -> None:
        self._view.scene("A holder that slept too long is stopped when it comes back")
        token = self._status_of("docs/api.md")["token"]
        self._carol.signal(signal.SIGSTOP)
        self._view.doing("carol", "paused")
        self._view.say("carol is paused (a laptop lid, a debugger), longer than her claim lives")
        self._wait(self._erin, "docs/api.md", ttl="1m")
        newer = self._collect(self._erin, "docs/api.md").json["token"]
        must(newer > token, f"token {newer} came after token {token}")
        self._view.say(f"erin waits and gets docs/api.md, under token {newer}")
        self._carol_wakes_up(token)

    def _carol_wakes_up(self, token: int) -> None:
        self._carol.signal(signal.SIGCONT)
        self._view.say(f"carol wakes up and believes that she still holds it (token {token})")
        late = self._carol.run("release", "docs/api.md", "--token", str(token))
        must(late.status == FENCED, f"carol was not fenced: {late.lines}")
        self.fenced += 1
        self._view.doing("carol", "fenced: keeps her changes aside")
        self._view.say("she is fenced, and nothing changes (exit status 4). Dibs says:")
        self._view.quote(late.lines)

    def _a_circle(self) -> None:
        self._view.scene("Two who would wait for each other for ever")
        self._claim(self._alice, "src/api/routes.py", ttl="1m", reason="new route")
        self._wait(self._alice, "src/auth/login.py", ttl="1m")
        self._view.say("alice holds src/api/routes.py and waits for dave's src/auth/login.py")
        refused = self._dave.run("claim", "src/api/routes.py", "--wait", "20s", "--json")
        circle = [edge["agent"] for edge in refused.json["cycle"]]
        must(refused.status == HELD, f"dave was not refused: {refused.lines}")
        must(sorted(circle) == ["alice", "dave"], f"the circle is {circle}")
        self._view.say("dave wants to wait for src/api/routes.py, and is refused at once:")
        self._view.quote([_edge(edge) for edge in refused.json["cycle"]])
        must(self._dave.run("release", "--all").status == GRANTED, "dave cannot release")
        self._view.doing("dave", "is done")
        self._collect(self._alice, "src/auth/login.py")
        self._view.say("dave gives way and releases; alice gets src/auth/login.py")

    def _going_home(self) -> None:
        self._view.scene("Everybody goes home")
        for agent in (self._alice, self._carol, self._dave, self._erin):
            agent.beat(None)
            left = agent.run("agent", "leave")
            must(left.status == GRANTED, f"{agent.name} cannot leave: {left.lines}")
            self._view.doing(agent.name, "has left")
        held = self._status()["claims"]
        must(not held, f"still held: {held}")
        self._view.say("whoever leaves gives back all that it holds; nothing is held any more")

    # -- what the scenes are made of

    def _claim(self, agent: Agent, pattern: str, *, ttl: str, reason: str) -> None:
        words = ("claim", pattern, "--ttl", ttl, "--reason", reason, "--json")
        answer = agent.run(*words)
        must(answer.status == GRANTED, f"{agent.name} did not get {pattern}: {answer.lines}")
        self._view.doing(agent.name, f"works on {pattern}")

    def _refused(self, agent: Agent, pattern: str, *, quote: bool = True) -> dict[str, Any]:
        """Let an agent run into somebody else's claim; return what was in its way."""
        checked = agent.run("check", pattern, "--json")
        answer = agent.run("claim", pattern)
        for tried in (checked, answer):
            must(tried.status == HELD, f"{agent.name} was not refused {pattern}: {tried.lines}")
        conflict: dict[str, Any] = checked.json["conflicts"][0]
        self._view.doing(agent.name, f"refused {pattern}")
        holder, held, left = conflict["holder"], conflict["held"], round(conflict["expires_in"])
        line = f"{agent.name} is refused {pattern}: {holder} holds {held} for {left}s more"
        self._view.say(f"{line}. Dibs says:" if quote else line)
        if quote:
            self._view.quote(answer.lines)
        return conflict

    def _wait(self, agent: Agent, pattern: str, *, ttl: str) -> None:
        """Let an agent wait, and go on when it stands in the queue."""
        words = ("claim", pattern, "--wait", "30s", "--ttl", ttl, "--json")
        self._waiting[agent.name] = agent.start(*words)
        self._view.doing(agent.name, f"waits for {pattern}")
        until = time.monotonic() + 10
        while agent.name not in [ticket["agent"] for ticket in self._status()["queue"]]:
            must(time.monotonic() < until, f"{agent.name} does not stand in the queue")
            time.sleep(0.1)

    def _collect(self, agent: Agent, pattern: str) -> Answer:
        """Return the answer that a waiting agent gets."""
        answer = self._waiting.pop(agent.name).result(PATIENCE)
        must(answer.status == GRANTED, f"{agent.name} did not get {pattern}: {answer.lines}")
        self._view.doing(agent.name, f"works on {pattern}")
        return answer

    def _status(self) -> dict[str, Any]:
        answer = self._stage.watcher.dibs("status", "--json")
        must(answer.status == 0, f"status said {answer.lines}")
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
    """End the demo unless ``fact`` is so."""
    if not fact:
        raise DemoError(otherwise)
