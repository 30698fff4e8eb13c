"""A fixed scene for screenshots: a crew of eight, at a fixed time, after 50 minutes of work.

The commands are real. Only the engine's clock is moved, in this process and in the server that shows the
scene, so that ages and times are the same in every run.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts" / "demo"))

from cast import DECISIONS, FILES, JOBS, LEAD, OWNER, RIVAL, WORKERS  # noqa: E402 - the demo's folder

if TYPE_CHECKING:
    from cast import Job, Member

#: When the pictures are taken: 2026-03-12 14:30 UTC.
NOW = 1773325800.0
EVERYONE = (LEAD, OWNER, RIVAL, *WORKERS)
#: How many minutes each task takes, in turn.
SPANS = (9.0, 6.5, 11.0, 7.0, 10.0)
LENGTH = 50.0
SETTINGS = """\
[claims]
ttl = "20m"
[alerts]
off = ["unguarded_agent", "idle_agents_ready_tasks"]
[notify]
desktop = false
"""
CLAIM = ("--ttl", "20m")


def set_clock(shift: float) -> list[float]:
    """Shift the engine's clock in this process; the list holds the seconds, which the caller may change."""
    from dibs.engines.shared import clock

    shifts = [shift]
    plain = clock.reader
    clock.reader = lambda *given: lambda: plain(*given)() + shifts[0]
    return shifts


class Scene:
    """Plays the scene in the current folder."""

    def __init__(self) -> None:
        self._shifts = set_clock(0.0)
        #: Agents, with files that they were denied.
        self._denied: set[tuple[Member | None, str]] = set()
        #: The id of each task, by its short name in the plan.
        self._tasks: dict[str, str] = {}
        self._steps: list[tuple[float, Member | None, tuple[str, ...]]] = []

    def play(self) -> None:
        """Run all steps in order of time."""
        self._plan()
        for at, who, words in sorted(self._steps, key=lambda step: -step[0]):
            self._move(at)
            if words[0] == "edit":
                if (who, words[1]) not in self._denied:
                    _edit(words[1], at)
            else:
                self._dibs(who, *words)
        self._move(0.0)
        for member in EVERYONE:
            self._dibs(member, "renew")
        self._dibs(None, "alerts", "check")

    def _move(self, minutes: float) -> None:
        """Go to a time, in minutes before the end."""
        then = NOW - minutes * 60
        self._shifts[0] = then - time.time()
        for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):
            os.environ[name] = f"{then:.0f} +0000"

    def _dibs(self, who: Member | None, *words: str) -> None:
        from dibs.cli import main

        os.environ.pop("DIBS_AGENT", None)
        if who is not None:
            os.environ["DIBS_AGENT"] = who.id
        raw = io.BytesIO()
        out = io.TextIOWrapper(raw, "utf-8", write_through=True)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            status = main([self._tasks.get(word, word) for word in words])
        if words[:2] == ("task", "new"):
            self._tasks[f"task {words[2]}"] = json.loads(raw.getvalue())["created"][0]["id"]
        elif words[0] == "claim" and status:
            self._denied.update((who, word) for word in words)
        elif status and words[0] != "commit":  # an agent that was denied has nothing to commit
            raise SystemExit(f"scene: dibs {' '.join(words)} failed: {raw.getvalue().decode()}")

    # -- the plan

    def _plan(self) -> None:
        for number, member in enumerate(EVERYONE):
            joined = LENGTH - number * 0.2
            words = ("--role", member.role, "--model", member.model)
            self._steps.append((joined, member, ("agent", "join", *words)))
        jobs = list(JOBS)
        for number, job in enumerate(jobs):
            words = [word for path in job.files for word in ("--artefact", path)]
            words += ["--priority", job.priority, "--note", job.reason, "--json"]
            self._steps.append(
                (LENGTH - 2 - number * 0.05, LEAD, ("task", "new", job.title, *words))
            )
        for place, worker in enumerate(WORKERS):
            self._work(place, worker, jobs[place :: len(WORKERS)])
        self._talk()

    def _work(self, place: int, worker: Member, jobs: list[Job]) -> None:
        """Let a worker do its tasks, one after the other; the last one is still in progress."""
        at = LENGTH - 4 - place * 1.1
        for number, job in enumerate(jobs):
            span = SPANS[(place + number) % len(SPANS)]
            name = f"task {job.title}"
            self._steps.append((at, worker, ("task", "start", name)))
            reason = ("--reason", job.reason, "--task", name)
            self._steps.append((at - 0.1, worker, ("claim", *job.files, *reason, *CLAIM)))
            if at - span < 1.0:
                self._steps += [(at - 0.4, worker, ("edit", path)) for path in job.files]
                return
            self._steps += [(at - span * 0.6, worker, ("edit", path)) for path in job.files]
            self._steps.append((at - span, worker, ("commit", "-m", job.title, "--release")))
            done = ("task", "done", name, "--summary", f"{job.reason}; all tests pass")
            self._steps.append((at - span - 0.1, worker, done))
            at -= span + 0.6

    def _talk(self) -> None:
        """Add waits, messages, decisions, an alert, and a conflict that needs a human."""
        file, folder = "src/shop/checkout/tax.py", "src/shop/checkout/"
        steps = [
            (30.0, OWNER, ("claim", "src/shop/payments/", "--reason", "split the provider", *CLAIM)),
            (27.0, RIVAL, ("claim", "src/shop/payments/ledger.py", "--queue")),
            (24.0, OWNER, ("release", "--all")),
            (23.9, RIVAL, ("claim", "src/shop/payments/ledger.py", "--reason", "month-end", *CLAIM)),
            (19.0, RIVAL, ("edit", "src/shop/payments/ledger.py")),
            (18.0, RIVAL, ("commit", "-m", "Fix the month-end report", "--release")),
            (12.0, OWNER, ("claim", folder, "--reason", "rewrite all totals in cents", "--ttl", "20m")),
            (11.0, OWNER, ("edit", "src/shop/checkout/totals.py")),
            (9.0, RIVAL, ("claim", file, "--queue", "--reason", "tax fix for today's release")),
            (8.8, RIVAL, ("ask", file, "--within", "5m", "--note", "the tax fix is due today")),
            (8.0, OWNER, ("answer", file, "later", "--in", "30m", "--note", "half done")),
            (6.0, RIVAL, ("escalate", file, "--note", "the tax fix must be in today's release")),
            (14.0, LEAD, ("decide", "new", DECISIONS[0][0], "--rationale", DECISIONS[0][1], "--confirm")),
            (3.0, LEAD, ("claim", "src/shop/checkout/shipping.py", "--queue", "--reason", "review")),
            (22.0, LEAD, ("say", "all", "schema.sql changed: run the migrations again")),
            (5.0, LEAD, ("say", "human", "the release branch is ready for you to look at")),
            (2.0, WORKERS[2], ("agent", "report", "--context", "0.91")),
        ]  # fmt: skip
        steps += [
            (1.5, member, ("agent", "report", "--context", f"{0.2 + 0.09 * number:.2f}"))
            for number, member in enumerate(EVERYONE)
            if member is not WORKERS[2]
        ]
        self._steps += steps


def _edit(path: str, at: float) -> None:
    file = Path(path)
    file.write_text(file.read_text("utf-8") + f"changed {at:.1f} minutes before\n", "utf-8")


def make_tree(tree: Path) -> None:
    """Create the sample repository with a Dibs project."""
    import subprocess

    for number, name in enumerate(FILES):
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{name}\n" * (3 + number * 37 % 90), "utf-8")
    (tree / "dibs.toml").write_text(SETTINGS, "utf-8")
    (tree / ".gitignore").write_text("work/\n", "utf-8")
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "Begin"]):
        subprocess.run(["git", "-C", str(tree), *words], check=True)


def main(words: list[str]) -> int:
    """Play the scene in the current folder, or run ``dibs serve`` with the scene's clock."""
    from dibs.cli import main as run

    if words[0] == "serve":
        set_clock(NOW - float(words[1]))
        return run(words[:1] + words[2:])
    with contextlib.redirect_stdout(io.StringIO()):
        run(["init", "--yes", "--agents", "none", "--no-git-gates"])
    Scene().play()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
