"""Run two agents at once in one repository: once for each kind of agent, checked by every test.

The owner changes two files and waits. The second agent tries to change one of them: with its edit tool, in
its shell, with a commit, and over MCP. It does other work, then waits in the queue. The owner commits and
ends; the second continues. Files are checked at fixed steps, so nothing depends on timing.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.e2e.model import Say, Script
from tests.e2e.world import World, until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.agents import Kind
    from tests.e2e.model import Steps
    from tests.e2e.world import Run

#: Builds the path at run time, so that it is not visible in the command.
SLY = "python3 -c \"from base64 import b64decode as d; open(d('c3JjL2MucHk=').decode(), 'a').write('# sly')\""
WAIT = "dibs claim src/a.py --wait 60s"


@dataclass
class Story:
    """The result of a run."""

    world: World
    holder: Run
    second: Run
    #: The content of a file, or the log, at each check.
    looks: dict[str, str] = field(default_factory=dict)


def tell(folder: Path, holds: Kind, wants: Kind) -> Story:
    """Run both agents and return the result."""
    world = World(folder, [holds, wants])
    looks: dict[str, str] = {}
    held = threading.Event()
    with world.agent(holds, Script(_holder(world, holds, held))) as holder:
        assert until(held.is_set), holder.told()
        with world.agent(wants, Script(_second(world, wants, looks))) as second:
            second.wait()
        holder.wait()
    return Story(world, holder, second, looks)


def tell_without_dibs(folder: Path, kind: Kind) -> Story:
    """Let two unguarded agents change one file, and return the result."""
    world = World(folder, [kind], wired=False)
    held, done = threading.Event(), threading.Event()
    first = kind.change(world.repo, "src/a.py", "a = 0", "a = 'held'", label="hold")
    then = kind.change(world.repo, "src/a.py", "a = 'held'", "a = 'stolen'", label="edit")
    with world.agent(kind, Script([*first, Say(look=held.set, when=done.is_set)])) as holder:
        assert until(held.is_set), holder.told()
        with world.agent(kind, Script([*then, Say(look=done.set)])) as second:
            second.wait()
        holder.wait()
    return Story(world, holder, second)


def _holder(world: World, kind: Kind, held: threading.Event) -> Steps:
    repo = world.repo
    return [
        *kind.change(repo, "src/a.py", "a = 0", "a = 'held'", label="hold"),
        *kind.change(repo, "src/c.py", "c = 0", "c = 'held'", label="hold more"),
        kind.shell(
            "git commit -qm held -- src/a.py src/c.py",
            label="commit",
            look=held.set,
            when=world.waiting,
        ),
        Say(label="end"),
    ]


def _second(world: World, kind: Kind, looks: dict[str, str]) -> Steps:
    repo = world.repo

    def look(name: str, path: str) -> None:
        looks[name] = world.text(path)

    return [
        *kind.change(repo, "src/a.py", "a = 'held'", "a = 'stolen'", label="edit"),
        kind.shell(
            "echo stolen > src/a.py", label="redirect", look=lambda: look("after edit", "src/a.py")
        ),
        kind.shell(SLY, label="sly", look=lambda: look("after redirect", "src/a.py")),
        kind.shell("git commit -qm wrong -- src/a.py", label="wrong commit"),
        kind.mcp("claim", {"paths": ["src/a.py"]}, label="ask"),
        *kind.change(repo, "src/b.py", "b = 0", "b = 'second'", label="other work"),
        kind.shell(
            WAIT, label="wait", look=lambda: looks.update(head=world.git("log", "--format=%s"))
        ),
        # A commit that undoes a change which its agent has not read is refused once.
        kind.shell("cat src/a.py", label="read"),
        *kind.change(repo, "src/a.py", "a = 'held'", "a = 'second'", label="edit again"),
        kind.shell("git commit -qm mine -- src/a.py src/b.py", label="right commit"),
        Say(label="end"),
    ]


@dataclass
class Family:
    """The result of an agent and its subagent."""

    world: World
    run: Run


def tell_family(folder: Path, kind: Kind) -> Family:
    """Let an agent change a file, start a subagent that changes another, and commit both."""
    world = World(folder, [kind])
    done = threading.Event()

    def ended() -> bool:
        """Return whether the subagent has ended; Codex does not wait for that."""
        return done.is_set() and not world.agents()[world.claims()["src/d.py"]]["parent"]

    start = kind.subagent("ERRAND", label="start")
    assert start is not None
    task = [
        *kind.change(world.repo, "src/d.py", "d = 0", "d = 'sub'", label="sub edit"),
        *kind.finish(look=done.set),
    ]
    steps = [
        *kind.change(world.repo, "src/a.py", "a = 0", "a = 'main'", label="edit"),
        start,
        kind.shell("git commit -qm both -- src/a.py src/d.py", label="commit", when=ended),
        Say(),
    ]
    with world.agent(kind, Script(steps, {"ERRAND": task})) as run:
        run.wait()
    return Family(world, run)
