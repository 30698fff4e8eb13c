"""One agent of the crew that keeps working: it takes tasks, claims their files, edits, and commits."""

from __future__ import annotations

import contextlib
import json
import random
import signal
import threading
import time
from concurrent.futures import TimeoutError as Late
from typing import TYPE_CHECKING, Any

from machines import Answer, DemoError

from crew import PATIENCE, Agent

if TYPE_CHECKING:
    from pathlib import Path

    from cast import Job, Member
    from machines import Machine
    from view import View

DONE = 0
#: Exit status of `dibs commit` if nothing has changed.
NOTHING = 6


class Over(Exception):
    """The demo ends, or the agent has crashed."""


class Worker:
    """A member of the crew, with the steps of its work. Failed commands are part of that work."""

    def __init__(self, member: Member, machine: Machine, view: View, over: threading.Event) -> None:
        self.member, self.id = member, member.id
        self._machine, self._view, self._over = machine, view, over
        self._context = random.uniform(0.15, 0.75)
        self._crash = threading.Event()
        self.agent = Agent(self.id, machine)

    # -- life

    def join(self) -> None:
        """Start a session, as the program's hook does."""
        self._hook("SessionStart", source="startup", model=self.member.model)
        self.dibs(
            "agent", "report", "--role", self.member.role, "--context", f"{self._context:.2f}"
        )
        self._view.doing(self.id, "joined")

    def crash(self) -> None:
        """Die like a process that is killed."""
        self._crash.set()
        self.agent.signal(signal.SIGKILL)
        self.say("crashes", doing="crashed")

    def resume(self) -> None:
        """Start again with the same session."""
        self.agent.end()
        self.agent = Agent(self.id, self._machine)
        self._crash.clear()
        self.join()
        self.say("is back")

    @property
    def crashed(self) -> bool:
        """Whether the agent's process was killed."""
        return self._crash.is_set()

    def end(self) -> None:
        """Stop the process."""
        self.agent.end()

    # -- steps

    def dibs(self, *words: str, given: str = "", longest: float = PATIENCE) -> Answer:
        """Run a command; raise Over if the agent dies or the demo ends meanwhile."""
        if self._over.is_set() or self._crash.is_set():
            raise Over
        try:
            return self.agent.start(*words, given=given).result(longest)
        except (DemoError, OSError, Late) as error:
            raise Over from error

    def pause(self, shortest: float, longest: float) -> None:
        """Work or think for a while."""
        until = time.monotonic() + random.uniform(shortest, longest)
        while (left := until - time.monotonic()) > 0:
            if self._crash.is_set() or self._over.wait(min(left, 0.5)):
                raise Over

    def say(self, what: str, doing: str = "") -> None:
        """Show what the agent does."""
        self._view.note(self.id, what)
        if doing:
            self._view.doing(self.id, doing)

    def take_task(self) -> dict[str, Any] | None:
        """Take the next task from the board."""
        answer = self.dibs("task", "take", "--no-claim", "--json")
        if answer.status != DONE:
            return None
        task: dict[str, Any] = answer.json["task"]
        self.say(f"takes the task: {task['title']}", doing=task["title"])
        return task

    def claim(self, files: tuple[str, ...], reason: str, *, wait: str = "", task: str = "") -> bool:
        """Claim files, in the queue if ``wait`` is given; return whether they are granted."""
        words = ["claim", *files, "--reason", reason, "--json"]
        words += ["--task", task] if task else []
        answer = self.dibs(*words)
        if answer.status != DONE and wait:
            holder = _holder(answer)
            self.say(f"waits for {holder}: {', '.join(files)}", doing=f"waiting for {holder}")
            answer = self.dibs(*words, "--wait", wait, longest=600)
        if answer.status == DONE:
            self.say(f"claims {', '.join(files)}", doing=reason)
            return True
        self.say(f"is denied {', '.join(files)}", doing="denied")
        return False

    def edit(self, path: str, text: str) -> bool:
        """Edit a file through the hook of the program; return whether the edit is allowed."""
        tool = "replace" if self._gemini else "Edit"
        before, after = (
            ("BeforeTool", "AfterTool") if self._gemini else ("PreToolUse", "PostToolUse")
        )
        file = self._machine.tree / path
        self._hook(
            after,
            tool_name="read_file" if self._gemini else "Read",
            tool_input={"file_path": str(file)},
        )
        change = {"file_path": str(file), "old_string": "a", "new_string": text}
        answer = self._hook(before, tool_name=tool, tool_input=change)
        if "deny" in answer.out or answer.status != DONE:
            self.say(f"is blocked from editing {path}")
            return False
        self._write(file, text)
        self._hook(after, tool_name=tool, tool_input=change, tool_response={"success": True})
        return True

    def _write(self, file: Path, text: str) -> None:
        """Change the last line of a file."""
        lines = file.read_text("utf-8").splitlines()[:8]
        mark = {"sql": "--", "md": "<!--", "css": "/*"}.get(file.suffix[1:], "#")
        end = {"<!--": " -->", "/*": " */"}.get(mark, "")
        last = f"{mark} {text} ({time.time():.0f}){end}"
        file.write_text("\n".join([*lines, last]) + "\n", "utf-8")

    def work(self, files: tuple[str, ...], text: str, *, rounds: int = 2) -> None:
        """Edit files for a while, and report how full the context is."""
        for _ in range(rounds):
            for path in files:
                self.edit(path, text)
                self.pause(3, 7)
            self._context += random.uniform(0.02, 0.06)
            if self._context > 0.93:
                self._context = 0.12
                self.say("compacts its context")
            self.dibs("agent", "report", "--context", f"{self._context:.2f}")

    def commit(self, message: str) -> None:
        """Commit the claimed files and release them."""
        words = ("commit", "-m", message, "--release", "--json")
        answer = self.dibs(*words)
        if answer.status not in {DONE, NOTHING}:
            self.say("reads what others have committed since", doing="merging")
            answer = self.dibs(*words, "--anyway")
        if answer.status == DONE:
            self.say(f"commits: {message}", doing="idle")
        else:
            self.release()

    def release(self) -> None:
        """Release everything."""
        self.dibs("release", "--all")

    def finish(self, task: dict[str, Any], summary: str) -> None:
        """Report a task's result: done or failed."""
        lot = random.random()
        if lot < 0.08:
            self.dibs(
                "task", "fail", task["id"], "--message", "two tests fail on the CI server only"
            )
            self.say(f"gives up: {task['title']}")
            return
        self.dibs("task", "done", task["id"], "--summary", summary)
        self.say(f"finishes: {task['title']}")

    def set_aside(self, task: dict[str, Any]) -> None:
        """Give a task back to the board."""
        self.dibs("task", "release", task["id"])

    # -- a whole job

    def do(self, task: dict[str, Any], job: Job) -> None:
        """Do a task from its claims to its result."""
        if not self.claim(job.files, job.reason, wait="90s", task=task["id"]):
            self.dibs("ask", job.files[0], "--within", "2m", "--note", job.reason)
            self.set_aside(task)
            self.pause(4, 8)
            return
        self.work(job.files, job.reason)
        self.commit(job.title)
        self.finish(task, f"{job.reason}; changed {len(job.files)} files, all tests pass")

    @property
    def _gemini(self) -> bool:
        return self.member.program == "gemini"

    def _hook(self, event: str, **fields: Any) -> Answer:
        call = {
            "hook_event_name": event,
            "session_id": self.member.session,
            "cwd": str(self._machine.tree),
            **fields,
        }
        return self.dibs("hook", self.member.program, given=json.dumps(call))

    def hook_of_subagent(self, event: str, name: str, role: str) -> None:
        """Start or end a subagent."""
        self._hook(event, agent_id=name, agent_type=role)


def _holder(answer: Answer) -> str:
    with contextlib.suppress(ValueError, LookupError):
        return str(answer.json["conflicts"][0]["holder"])
    return "another agent"
