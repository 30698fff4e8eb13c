"""One agent holds files and waits longer than the ttl; another starts again and again, each time differently.

Each start is a scene with its own result. A scene that fails does not prevent the next one.
"""

from __future__ import annotations

import json
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.e2e.model import Call, Say, Script, together
from tests.e2e.world import World, until

import dibs
from dibs.install.agents.table import AGENTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.e2e.agents import Kind
    from tests.e2e.model import Steps
    from tests.e2e.world import Run

#: The ttl passes many times before the last scene ends.
SETTINGS = '[claims]\nttl = "5s"\n'
SERVER = Path(__file__).with_name("notes_server.py")
HELD = "a = 'held'"
#: A hook that dies.
DEAD = """\
import os, signal, sys
os.kill(os.getpid(), signal.SIGKILL) if "killed" in sys.stdin.read() else os._exit(1)
"""
#: How long the owner waits for all scenes, in seconds.
PATIENCE = 280.0


@dataclass
class Scenes:
    """The results."""

    world: World
    holder: Run
    #: A human's token, made before the first agent started.
    token: str
    #: The runs of the second agent, by scene, and the scenes that failed.
    runs: dict[str, Run] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    #: What a scene saw: the content of files, or claims.
    looks: dict[str, str] = field(default_factory=dict)

    def scene(self, name: str) -> Run:
        """Return the run of a scene."""
        assert name not in self.failures, self.failures[name]
        return self.runs[name]


def tell_scenes(folder: Path, holds: Kind, wants: Kind) -> Scenes:
    """Run all scenes and return the results."""
    world = World(folder, [holds, wants], settings=SETTINGS)
    held, done = threading.Event(), threading.Event()
    home = folder / "holder"
    made = world.dibs("token", "new", "--scope", "human", environ=world.environ(home))
    with world.agent(holds, Script(_holder(world, holds, held, done)), home=home) as holder:
        assert until(held.is_set), holder.told()
        scenes = Scenes(world, holder, made.stdout.strip())
        try:
            _play(scenes, wants)
        finally:
            scenes.looks["claims"] = json.dumps(world.claims())
            scenes.looks["submodule"] = world.text("lib/m.py")
            done.set()
        holder.wait()
    return scenes


def _holder(world: World, kind: Kind, held: threading.Event, done: threading.Event) -> Steps:
    return [
        *kind.change(world.repo, "src/a.py", "a = 0", HELD, label="hold"),
        # Git does not report changes inside a submodule, so this claim needs a longer ttl.
        kind.shell("dibs claim lib/m.py --ttl 10m", label="hold longer"),
        *kind.change(world.repo, "lib/m.py", "m = 0", "m = 'held'", label="hold more"),
        Say(look=held.set, when=done.is_set, patience=PATIENCE, label="idle"),
    ]


def _play(scenes: Scenes, kind: Kind) -> None:
    home = scenes.world.folder / "second"
    repo = scenes.world.repo

    def ready(home: Path) -> None:
        kind.allow(home, repo)
        kind.add_server(home, [sys.executable, str(SERVER), str(repo / "src" / "a.py")])

    def ordinary(home: Path) -> None:
        kind.allow(home, repo)
        kind.trust(repo, _environ(scenes.world, kind, home))

    def user(home: Path) -> None:
        # The token is the user's, whose home folder the first agent has.
        state = {"XDG_STATE_HOME": str(scenes.world.folder / "holder" / ".local" / "state")}
        done = scenes.world.dibs(
            "init", "--user", "--agents", kind.name,
            environ=_environ(scenes.world, kind, home) | state, token=scenes.token,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr

    def steal(label: str, at: str = "") -> Steps:
        folder, path = (repo / at, "a.py") if at else (repo, "src/a.py")
        return list(kind.change(folder, path, HELD, "a = 'stolen'", label=label))

    free = kind.create(repo, "src/f.py", "f = 1\n", label="free")
    _scene(scenes, kind, "work", [*_many_calls(scenes, kind), Say()], home=home, ready=ready)
    _scene(
        scenes, kind, "resume", [*steal("again"), Say()],
        home=home, start=kind.resumed, resumed=True,
    )  # fmt: skip
    below = {"at": "src", "ready": lambda home: kind.allow(home, repo), "start": kind.trusting}
    _scene(scenes, kind, "subfolder", [*steal("below", "src"), Say()], **below)
    if AGENTS[kind.name].hooks.user_file:
        _scene(scenes, kind, "user", [*steal("untrusted", "src"), Say()], at="src", ready=user)
    sandboxed = [
        kind.shell("dibs claim src/e.py", label="command"),
        kind.mcp("claim", {"paths": ["src/e.py"]}, label="tool"),
    ]
    _scene(
        scenes, kind, "ordinary", [*steal("asked"), free, *sandboxed, Say()],
        ready=ordinary, start=kind.ordinary,
    )  # fmt: skip
    _nested(scenes, kind, steal("nested")[-1])
    _consent(scenes, kind, ordinary)
    _kill_hooks(scenes.world)
    dead = [
        kind.create(repo, "src/killed.py", "g = 1\n", label="killed"),
        kind.create(repo, "src/silent.py", "g = 1\n", label="silent"),
        kind.shell("echo 'h = 1' > src/shell.py", label="silent shell"),
    ]
    _scene(scenes, kind, "dead hook", [*dead, Say()])


def _environ(world: World, kind: Kind, home: Path) -> dict[str, str]:
    """Return the environment of a user, with no model."""
    given = kind.environ(home, "http://127.0.0.1:9")
    given.pop("GEMINI_CLI_TRUST_WORKSPACE", "")
    return world.environ(home) | given


def _nested(scenes: Scenes, kind: Kind, edit: Call) -> None:
    """Let a program of the model call tools, and open a shell that it could type into."""
    opened = Call("exec_command", {"cmd": "bash --norc -i", "tty": True, "yield_time_ms": 1000})
    first, second = kind.nested(edit, label="nested"), kind.nested(opened, label="typed")
    if first and second:
        _scene(scenes, kind, "nested", [first, second, Say()], ready=kind.nest)


def _consent(scenes: Scenes, kind: Kind, accept: Callable[[Path], None]) -> None:
    """Ask ``dibs doctor --prove`` before and after the user accepts the hooks."""
    home = scenes.world.folder / "consent"
    home.mkdir()
    kind.prepare(home, scenes.world.repo, "http://127.0.0.1:9")
    environ = _environ(scenes.world, kind, home)
    for name in ("prove before", "prove after"):
        done = scenes.world.dibs("doctor", "--prove", "--json", environ=environ)
        proofs = [
            proof for proof in json.loads(done.stdout)["proofs"] if proof["guard"] == kind.name
        ]
        scenes.looks[name] = "\n".join(
            proof["what"] for proof in proofs if proof["outcome"] == "failed"
        )
        accept(home)


def _many_calls(scenes: Scenes, kind: Kind) -> Steps:
    world = scenes.world
    repo = world.repo

    def look(name: str, read: Callable[[], str]) -> Callable[[], None]:
        return lambda: scenes.looks.update({name: read()})

    def text(path: str) -> Callable[[], str]:
        return lambda: world.text(path)

    def note(path: str) -> dict[str, str]:
        return {"path": str(repo / path)}

    return [
        kind.read(repo, "src/a.py", label="read"),
        kind.shell("cat src/a.py && git diff --stat", label="cat"),
        *together(
            kind.create(repo, "src/new.py", "new = 1\n", label="together free",
                        look=look("after reads", lambda: json.dumps(world.claims()))),
            kind.change(repo, "src/a.py", HELD, "a = 'stolen'", label="together held")[-1],
            kind.shell("cat src/b.py", label="together read"),
        ),
        kind.mcp("read_note", note("src/a.py"), "notes", label="note read",
                 look=look("after together", text("src/a.py"))),
        kind.mcp("save_note", note("src/a.py") | {"text": "stolen\n"}, "notes", label="note held"),
        kind.mcp("tidy", {}, "notes", label="note hidden", look=look("after note", text("src/a.py"))),
        kind.shell(f'printf "{HELD}\\n" > /dev/null', label="pause",
                   look=lambda: (repo / "src" / "a.py").write_text(f"{HELD}\n")),
        *kind.change(repo, "lib/m.py", "m = 'held'", "m = 'stolen'", label="submodule"),
    ]  # fmt: skip


def _scene(
    scenes: Scenes,
    kind: Kind,
    name: str,
    steps: Steps,
    *,
    resumed: bool = False,
    **given: Any,
) -> None:
    """Run one scene, and note if it fails."""
    script = Script(steps, earlier=None if resumed else 0)
    try:
        with scenes.world.agent(kind, script, **given) as run:
            scenes.runs[name] = run
            run.wait()
        scenes.looks[name] = scenes.world.text("src/a.py")
    except Exception as error:  # noqa: BLE001  each test of the scene fails for this reason
        scenes.failures[name] = repr(error)
    (scenes.world.repo / "src" / "a.py").write_text(f"{HELD}\n")


def _kill_hooks(world: World) -> None:
    """Let every hook run a program that is killed, as if out of memory, or that fails silently."""
    script = Path(dibs.__file__).parent / "guard" / "run.py"
    dead = world.folder / "dead" / "guard" / "run.py"
    dead.parent.mkdir(parents=True)
    dead.write_text(DEAD)
    for path in world.git("ls-files", "-o").splitlines():
        file = world.repo / path
        if "node_modules" not in path and str(script) in file.read_text(errors="replace"):
            file.write_text(file.read_text().replace(str(script), str(dead)))
