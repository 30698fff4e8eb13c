"""Let a crew of one kind of agent work on a board of three tasks, and stop it when they are merged.

The tasks end in different ways: with a command, after the reminder, because the first turn ended without a
result, and with a text command.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.e2e.model import BoardScript, Model, Say
from tests.e2e.world import World, until

if TYPE_CHECKING:
    from tests.e2e.agents import Kind
    from tests.e2e.model import Steps

#: The tasks, and for each the file that it asks for.
FILES = {"Add one": "one.txt", "Add two": "two.txt", "Add three": "three.txt"}
#: The time limit for the board; the slowest agent needs a third of it.
LIMIT = 240
#: How long a runner may take to exit after it has recorded that its agent is stopped, in seconds.
RUNNERS_END = 5


@dataclass
class CrewStory:
    """The result of a crew's work."""

    world: World
    #: The tasks' ids by title.
    tasks: dict[str, str]
    #: The processes of the crew before it was stopped.
    before: list[int] = field(default_factory=list)
    #: Those of its agents after that, and, a moment later, all of them.
    agents: list[int] = field(default_factory=list)
    after: list[int] = field(default_factory=list)
    #: What ``dibs crew stop`` printed.
    stop: str = ""

    def entries(self, kind: str) -> list[dict[str, Any]]:
        """Return the ledger entries of a kind, oldest first."""
        found = [entry for entry in self.world.ledger() if entry["kind"] == kind]
        return sorted(found, key=lambda entry: entry["seq"])


def tell_crew(folder: Path, kind: Kind) -> CrewStory:
    """Let two agents of this kind finish the board, and return the result."""
    world = World(folder, [kind])
    with Model(_script(world, kind)) as model:
        variables = kind.environ(folder, model.url)
        kind.prepare(folder, world.repo, model.url)
        kind.trust(world.repo, world.environ(folder) | variables)
        world.profile(folder)
        world.git("add", "-A")
        world.git("commit", "-qm", "set up")
        (world.repo / "crew.toml").write_text(_config(kind, variables))
        story = CrewStory(world, _board(world))
        token = world.dibs("token", "new", "--scope", "human").stdout.strip()
        try:
            up = world.dibs("crew", "up")
            assert up.returncode == 0, up.stdout + up.stderr
            merged = until(lambda: _is_merged(world), LIMIT)
            assert merged, _logs(world)
            story.before = _processes(folder)
            story.stop = world.dibs("crew", "stop", token=token).stdout
            story.agents = _processes(folder, runners=False)
            until(lambda: not _processes(folder), RUNNERS_END)
            story.after = _processes(folder)
        finally:
            world.dibs("crew", "stop", token=token)
            world.dibs("serve", "stop", token=token)
    return story


def _board(world: World) -> dict[str, str]:
    """Create the tasks, the last of which needs the first; return their ids by title."""
    tasks: dict[str, str] = {}
    for title in FILES:
        needs = ["--needs", tasks["Add one"]] if title == "Add three" else []
        made = _json(world, "task", "new", title, *needs, "--json")
        tasks[title] = made["created"][0]["id"]
    return tasks


def _config(kind: Kind, variables: dict[str, str]) -> str:
    """Return the configuration; JSON strings are TOML strings."""
    values = ", ".join(f"{name} = {json.dumps(value)}" for name, value in variables.items())
    return f"""\
max_agents = 2
[roles.developer]
agent = "{kind.name}"
model = "{kind.model}"
set = {{ {values} }}
"""


def _script(world: World, kind: Kind) -> BoardScript:
    def new(agent: str, title: str, task: str) -> Steps:
        write = kind.create(world.tree(agent), FILES[title], f"{agent}\n")
        ends = {
            "Add one": _done(kind, task),
            "Add two": [Say("This turn has no result.")],
            "Add three": [_text_command(task)],
        }
        return [write, *ends[title]]

    return BoardScript(new, lambda task: _done(kind, task))


def _done(kind: Kind, task: str) -> Steps:
    """Return the steps that finish a task with a command if the agent can run one."""
    if not kind.has_commands:
        return [_text_command(task)]
    return [kind.shell(f'dibs task done {task} --summary "wrote it"'), Say()]


def _text_command(task: str) -> Say:
    return Say(
        f'⟦⟦ DIBS {{"tool": "task", "action": "done", "id": "{task}", "text": "wrote it"}} ⟧⟧'
    )


def _is_merged(world: World) -> bool:
    """Return whether all files are on main and no agent works."""
    listed = world.git("ls-tree", "-r", "--name-only", "main").splitlines()
    if not set(FILES.values()) <= set(listed):
        return False
    crew = _json(world, "crew", "ls", "--json")
    return all(one["state"] == "idle" for one in crew["members"])


def _processes(home: Path, *, runners: bool = True) -> list[int]:
    """Return the processes of the crew's agents, and of their runners."""
    from dibs.crew.processes import MARK
    from dibs.local.processes import environment_of

    ours = f"HOME={home}".encode()
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        environ = environment_of(int(place.name))
        agent = any(one.startswith(f"{MARK}=".encode()) for one in environ)
        if ours in environ and (agent or (runners and b"dibs.crew.runner" in _words(place))):
            found.append(int(place.name))
    return found


def _words(process: Path) -> list[bytes]:
    try:
        return (process / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def _logs(world: World) -> str:
    names = [one["agent"] for one in _json(world, "crew", "ls", "--all", "--json")["members"]]
    return "\n".join(f"{name}: {world.dibs('crew', 'logs', name).stdout[-3000:]}" for name in names)


def _json(world: World, *words: str) -> Any:
    done = world.dibs(*words)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)
