"""Keep a crew of eight working until Ctrl-C: claims, waits, commits, tasks, decisions, and a conflict."""

from __future__ import annotations

import contextlib
import itertools
import random
import threading
import time
from typing import TYPE_CHECKING, Any

from cast import CONFLICTS, DECISIONS, FILES, JOBS, LEAD, MESSAGES, OWNER, RIVAL, WORKERS, Job
from machines import Machine, git
from stages import AUTHOR, own_files
from worker import Over, Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from cast import Member
    from view import View

#: Tasks without an owner that the lead keeps on the board.
OPEN_TASKS = 5
#: How likely the lead leaves a failed task for later.
LEFT = 0.6
#: Seconds between crashes, and from a crash to the restart.
CRASH_EVERY, RESTART = (100.0, 160.0), (20.0, 35.0)
#: How long a human has to settle a conflict or a decision before the agents do without.
CONFLICT, DECISION = 240.0, 300.0


def make_machine(folder: Path) -> Machine:
    """Create the repository, and a Dibs project in it."""
    tree = folder / "shop"
    for name in FILES:
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{name}\n" * random.randint(1, 8), "utf-8")
    (tree / ".gitignore").write_text("work/\n", "utf-8")
    git(tree, "init", "-q", "-b", "main")
    git(tree, "config", "user.name", AUTHOR[1].partition("=")[2])
    git(tree, "config", "user.email", AUTHOR[3].partition("=")[2])
    git(tree, "config", "gc.auto", "0")
    git(tree, "add", ".")
    git(tree, "commit", "-qm", "Begin")
    machine = Machine("", tree, own_files(folder / "home"))
    machine.dibs("init", "--yes", "--agents", "none", "--no-git-gates")
    return machine


class Crew:
    """The agents and the threads in which they work."""

    def __init__(self, machine: Machine, view: View) -> None:
        self._machine, self._view = machine, view
        self._over = threading.Event()
        self._jobs = itertools.cycle(JOBS)
        self._by_title = {job.title: job for job in JOBS}
        self.lead, self.owner, self.rival = map(self._hire, (LEAD, OWNER, RIVAL))
        self.workers = [self._hire(member) for member in WORKERS]
        self._threads: list[threading.Thread] = []
        #: The newest task with each title.
        self._created: dict[str, str] = {}
        self._decisions = itertools.cycle(DECISIONS)

    def _hire(self, member: Member) -> Worker:
        return Worker(member, self._machine, self._view, self._over)

    @contextlib.contextmanager
    def working(self) -> Iterator[None]:
        """Let everyone work until the block ends."""
        try:
            self._begin("conflict", self._conflicts)
            self._begin("lead", self._lead)
            for worker in self.workers:
                self._begin(worker.id, lambda worker=worker: self._work(worker))
            self._begin("crashes", self._crashes)
            yield
        finally:
            self._over.set()
            everyone = [self.lead, self.owner, self.rival, *self.workers]
            for worker in everyone:
                worker.agent.dismiss()
            for worker in everyone:
                worker.end()
            for thread in self._threads:
                thread.join(5)

    def _begin(self, name: str, routine: Callable[[], None]) -> None:
        def repeat() -> None:
            while not self._over.is_set():
                with contextlib.suppress(Over, ValueError, LookupError):
                    routine()
                self._over.wait(2.0)

        thread = threading.Thread(target=repeat, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    # -- routines; each starts again when it ends

    def _work(self, worker: Worker) -> None:
        if worker.crashed:
            self._over.wait(random.uniform(*RESTART))
            worker.resume()
        else:
            worker.join()
        worker.release()
        while True:
            task = worker.take_task()
            if task is None:
                worker.dibs("agent", "report", "--status", "idle")
                worker.say("has nothing to do", doing="idle")
                worker.pause(6, 12)
                continue
            worker.dibs("agent", "report", "--status", "running", "--task", task["id"])
            worker.do(task, self._by_title.get(task["title"]) or _unplanned(task))
            worker.pause(2, 6)

    def _crashes(self) -> None:
        """Kill an agent now and then; it returns with its session."""
        if not self._over.wait(random.uniform(*CRASH_EVERY)):
            random.choice(self.workers).crash()

    def _lead(self) -> None:
        """Fill the board, send messages, ask the human, and let a subagent write tests."""
        self.lead.join()
        for turn in itertools.count():
            self._fill_board()
            if turn % 5 == 1:
                self._ask_human()
            if turn % 4 == 2:
                to = random.choice(["all", *(worker.id for worker in self.workers)])
                self.lead.dibs("say", to, random.choice(MESSAGES))
                self.lead.say(f"sends a message to {to}")
            if turn % 6 == 3:
                self._subagent(f"t{turn % 90 + 10}")
            self.lead.pause(5, 9)

    def _fill_board(self) -> None:
        """Create tasks while few are left, and retry what failed."""
        tasks = _tasks(self.lead)
        for task in tasks:
            if random.random() < LEFT:
                continue
            if task["state"] == "error":
                self.lead.dibs("task", "retry", task["id"])
        waiting = [task for task in tasks if task["ready"]]
        for job in itertools.islice(self._jobs, max(0, OPEN_TASKS - len(waiting))):
            words = [word for path in job.files for word in ("--artefact", path)]
            words += ["--priority", job.priority, "--note", job.reason]
            if job.needs in self._created:
                words += ["--needs", self._created[job.needs]]
            made = self.lead.dibs("task", "new", job.title, *words, "--json")
            self._created[job.title] = made.json["created"][0]["id"]
            self.lead.say(f"creates the task: {job.title}", doing="planning")

    def _ask_human(self) -> None:
        """Ask for a decision, and withdraw an old one that nobody made."""
        answer = self.lead.dibs("decide", "ls", "--pending", "--json")
        pending = [d for d in answer.json["decisions"] if d["asker"] == self.lead.id]
        for decision in pending:
            if time.time() - decision["at"] > DECISION:
                self.lead.dibs("decide", "withdraw", decision["id"])
        if len(pending) < 2:
            title, why = next(self._decisions)
            words = ["--rationale", why, "--confirm"]
            self.lead.dibs("decide", "new", title, *words)
            self.lead.say(f"asks you to decide: {title}")

    def _subagent(self, name: str) -> None:
        """Let a subagent of the lead write a test."""
        child, file = f"{self.lead.id}.{name}", "tests/test_totals.py"
        self.lead.hook_of_subagent("SubagentStart", name, "tester")
        self._view.doing(child, "writing a test")
        as_child = ("--agent", child)
        try:
            self.lead.dibs("claim", file, "--reason", "test totals with two tax rates", *as_child)
            self.lead.say(f"starts a subagent that claims {file}")
            self.lead.pause(12, 18)
            self.lead.dibs("release", "--all", *as_child)
        finally:
            self._view.doing(child, "")
            self.lead.hook_of_subagent("SubagentStop", name, "tester")

    def _conflicts(self) -> None:
        """Let two agents need the same file, and a human decide."""
        owner, rival = self.owner, self.rival
        owner.join()
        rival.join()
        for folder, file, reason, note in itertools.cycle(CONFLICTS):
            owner.release()
            rival.release()
            if not owner.claim((folder,), reason, wait="60s"):
                continue
            owner.edit(file, reason)
            rival.edit(file, note)
            rival.dibs("ask", file, "--within", "5m", "--note", note)
            rival.say(f"asks {owner.id} to release {file}")
            owner.pause(3, 5)
            owner.dibs("answer", file, "later", "--in", "10m", "--note", "half done, tests fail")
            rival.dibs("escalate", file, "--note", note, "--json")
            rival.say(f"lets you decide about {file}", doing=f"waiting for {owner.id}")
            self._contest(folder, file, reason, note)
            rival.pause(20, 40)

    def _contest(self, folder: str, file: str, reason: str, note: str) -> None:
        """Let the rival wait and the owner work, until a human decides or the owner is done."""
        owner, rival = self.owner, self.rival
        longest = f"{CONFLICT + 60:.0f}s"
        waiting = rival.agent.start("claim", file, "--wait", longest, "--reason", note, "--json")
        until = time.monotonic() + CONFLICT
        while not waiting.done() and time.monotonic() < until:
            owner.pause(4, 8)
            if not waiting.done():
                owner.edit(file, reason)
        owner.commit(f"Work on {folder}: {reason}")
        owner.release()
        if waiting.result(120).status == 0:
            rival.say(f"gets {file}", doing=note)
            rival.work((file,), note)
            rival.commit(f"Fix {file}: {note}")
        else:
            rival.say(f"does not get {file}", doing="idle")
        self._withdraw(rival)

    def _withdraw(self, worker: Worker) -> None:
        answer = worker.dibs("decide", "ls", "--pending", "--json")
        for decision in answer.json["decisions"]:
            if decision["asker"] == worker.id:
                worker.dibs("decide", "withdraw", decision["id"])


def _tasks(worker: Worker) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = worker.dibs("task", "ls", "--json").json["tasks"]
    return found


def _unplanned(task: dict[str, Any]) -> Job:
    """Return what to do for a task that a person created."""
    return Job(task["title"], (random.choice(FILES),), task["title"])
