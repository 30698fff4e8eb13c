"""A branch with lock files that scripts, Dibs agents, and people share, and a judge of its history.

Everything runs as separate processes in separate clones with separate homes. The judge reads only the
branch, its reflog, and the diary of what each agent believed.
"""

from __future__ import annotations

import calendar
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Future

_Done = TypeVar("_Done")

SCRIPT = Path(__file__).parent.parent / "data" / "claim-task.sh"
DIBS = Path(sys.executable).with_name("dibs")
#: How long Dibs honors a lock file without settings, in seconds.
LOCK_AGE = 7200
TOOK, NOTHING, EMPTY, TRY_AGAIN = 0, 3, 6, 69
#: Where an agent can be killed: before its push, during it, and after it but before the answer.
POINTS = ("before", "during", "after")

#: Kill the process group of the agent that pushes, if a file asks for it.
HOOK = """#!/usr/bin/env bash
orders=("{orders}/{point}-"*)
[ -e "${{orders[0]}}" ] || exit 0
while read -r old new ref; do
    subject=$(git log -1 --format=%s "$new")
    case "$subject" in "claim: "*" by "*) agent=${{subject##* by }} ;; *) continue ;; esac
    if mv "{orders}/{point}-$agent" "{orders}/reached-{point}-$agent" 2> /dev/null; then
        kill -9 -- "-$(cat "{orders}/group-$agent")"
        exit 1
    fi
done
"""

#: A ``git`` that kills the agent when it pushes, or holds the push back, if a file asks for it.
GIT = """#!/usr/bin/env bash
for word in "$@"; do
    case "$word" in push | send-pack)
        if mv "{orders}/before-{name}" "{orders}/reached-before-{name}" 2> /dev/null; then
            kill -9 -- "-$(cat "{orders}/group-{name}")"
            exit 1
        fi
        if mv "{orders}/hold-{name}" "{orders}/held-{name}" 2> /dev/null; then
            cat "{orders}/go-{name}" > /dev/null
        fi ;;
    esac
done
exec {git} "$@"
"""


class Killed(Exception):
    """The agent was killed."""


class Entry(NamedTuple):
    """A line of the diary: at ``time``, ``agent`` began or stopped to believe that it owns ``task``."""

    time: float
    agent: str
    task: str
    owns: bool


# -- the world


class World:
    """A bare repository, and the clones of everyone who pushes to it."""

    def __init__(self, folder: Path, **variables: str) -> None:
        self.folder = folder
        self.bare = folder / "shared.git"
        self.orders = folder / "orders"
        self.variables = variables
        #: How long a dead agent's claim stays in its store, in seconds.
        self.ttl = 300
        self.buries = False
        self.diary: list[Entry] = []
        self.faults: list[str] = []
        self.dead: set[str] = set()
        self.over = threading.Event()
        self._lock = threading.Lock()
        self.orders.mkdir(parents=True)
        self.first = Member(self, "first", clone=False)
        self.first.git("init", "-q", "--bare", "-b", "main", str(self.bare), at=folder)
        self.first.git("config", "core.logAllRefUpdates", "true", at=self.bare)
        for hook, point in (("pre-receive", "during"), ("post-receive", "after")):
            path = self.bare / "hooks" / hook
            path.parent.mkdir(exist_ok=True)
            path.write_text(HOOK.format(orders=self.orders, point=point))
            path.chmod(0o755)
        self.first.git("init", "-q", "-b", "main", str(self.first.clone), at=folder)
        self.first.git("remote", "add", "origin", str(self.bare))
        self.first.push({"README.md": "code\n", "current_tasks/.gitkeep": ""}, "start")

    def member(self, name: str) -> Member:
        """Return a new member with its own home and clone."""
        return Member(self, name)

    def put(self, tasks: dict[str, str]) -> None:
        """Add tasks to the queue."""
        files = {f"tasks/pending/{name}.yml": text for name, text in tasks.items()}
        # From the newest commit: a rebase would move new tasks to done/, as it sees the others there.
        self.first.git("fetch", "-q", "origin", "main")
        self.first.git("reset", "-q", "--hard", "FETCH_HEAD")
        self.first.push(files, "add tasks")

    def note(self, agent: str, task: str, *, owns: bool) -> None:
        """Write into the diary."""
        with self._lock:
            self.diary.append(Entry(time.monotonic(), agent, task, owns))

    def blame(self, fault: str) -> None:
        """Record something that must not happen."""
        with self._lock:
            self.faults.append(fault)

    def files(self, folder: str) -> dict[str, str]:
        """Return the files below ``folder`` on the branch, with their contents."""
        return files_at(self.bare, "main", folder)

    def locks(self) -> dict[str, str]:
        """Return the owner of each locked task."""
        return {
            stem(path): owner(text)
            for path, text in self.files("current_tasks").items()
            if path.endswith((".lock", ".txt"))
        }

    def open_tasks(self) -> set[str]:
        """Return the tasks that are not done."""
        return {stem(path) for path in self.files("tasks/pending") if path.endswith(".yml")}

    def age(self, older: int = LOCK_AGE + 60) -> None:
        """Rewrite the locks of dead agents as if they were ``older`` seconds older.

        With ``buries``, also end their claims in the shared store, which has a clock of its own.
        """
        buried = {*self.locks().values()} & self.dead if self.buries else set()
        while True:
            self.first.git("fetch", "-q", "origin", "main")
            self.first.git("reset", "-q", "--hard", "FETCH_HEAD")
            for path in (self.first.clone / "current_tasks").glob("*.lock"):
                text = path.read_text()
                if owner(text) in self.dead:
                    path.write_text(re.sub(TIME, lambda at: stamp(seconds(at[0]) - older), text))
            self.first.git("commit", "-q", "-a", "--allow-empty", "-m", "time passes")
            if self.first.run("git", "push", "-q", "origin", "HEAD:main").returncode == 0:
                break
        for (
            agent
        ) in buried:  # only now: an agent of this store replaces the lock of an ended claim at once
            self.first.dibs("release", "--all", DIBS_AGENT=agent)


class Member:
    """Someone with a home and a clone: a script, a Dibs agent, or a person who commits."""

    def __init__(
        self, world: World, name: str, *, clone: bool = True, heir_of: Member | None = None
    ) -> None:
        self.world = world
        self.name = name
        self.home = heir_of.home if heir_of else world.folder / f"home-{name}"
        self.clone = self.home / "work"
        self.process: subprocess.Popen[str] | None = None
        self.is_dead = False
        self._owned: set[str] = set()
        self._planted: dict[str, str] = heir_of._planted if heir_of else {}
        self._lock = threading.Lock()
        self._bin = world.folder / f"bin-{name}"
        self.home.mkdir(exist_ok=True)
        text = f"[user]\n\tname = {name}\n\temail = {name}@example.org\n"
        (self.home / ".gitconfig").write_text(text)
        #: Nothing of the machine's own: no settings, no other identity.
        self.environ = {
            "HOME": str(self.home), "GIT_CONFIG_NOSYSTEM": "1", "LANG": "C.UTF-8", "AGENT_ID": name,
            "PATH": f"{self._bin}:{DIBS.parent}:/usr/local/bin:/usr/bin:/bin",
            "DIBS_AGENT": name, "REPO": str(self.clone), **world.variables,
        }  # fmt: skip
        if clone and not heir_of:
            self.git("clone", "-q", str(world.bare), str(self.clone), at=self.home)

    def order(self, what: str) -> None:
        """Ask for something to happen at the member's next claim: see ``HOOK`` and ``GIT``."""
        wrapper = self._bin / "git"
        wrapper.parent.mkdir(exist_ok=True)
        words = {"orders": self.world.orders, "name": self.name, "git": shutil.which("git")}
        wrapper.write_text(GIT.format(**words))
        wrapper.chmod(0o755)
        (self.world.orders / f"{what}-{self.name}").touch()

    @contextmanager
    def overtaken(self, act: Callable[[Member], _Done]) -> Iterator[Future[_Done]]:
        """Let the member act, and run the block right before its first push; yield what it will return."""
        orders = self.world.orders
        os.mkfifo(orders / f"go-{self.name}")
        self.order("hold")  # before it acts: it could push right away
        with ThreadPoolExecutor(1) as pool:
            done = pool.submit(act, self)
            give_up = time.monotonic() + 60
            while not (orders / f"held-{self.name}").exists():
                assert not done.done(), f"{self.name} did not push: {done.result()}"
                assert time.monotonic() < give_up, f"{self.name} does not push"
                time.sleep(0.01)
            yield done
            (orders / f"go-{self.name}").write_text("go")

    def git(self, *words: str, at: Path | None = None, check: bool = True) -> str:
        """Run git to completion, and return what it printed."""
        done = self.run("git", *words, at=at)
        if check and done.returncode:
            raise AssertionError(f"git {' '.join(words)}: {done.stderr}")
        return done.stdout

    def dibs(self, *words: str, **extra: str) -> subprocess.CompletedProcess[str]:
        """Run ``dibs`` to completion."""
        return self.run(str(DIBS), *words, **extra)

    def run(
        self, *words: str, at: Path | None = None, **extra: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a program in its own process group; raise ``Killed`` if the agent was killed."""
        with self._lock:
            if self.is_dead:
                raise Killed
            self.process = subprocess.Popen(
                words, cwd=at or self.clone, env={**self.environ, **extra}, text=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                start_new_session=True,
            )  # fmt: skip
            (self.world.orders / f"group-{self.name}").write_text(str(self.process.pid))
        out, err = self.process.communicate(timeout=120)
        with self._lock:
            if self.process.returncode == -signal.SIGKILL:
                self._die()
            if self.is_dead:
                raise Killed
        return subprocess.CompletedProcess(words, self.process.returncode, out, err)

    def kill(self) -> None:
        """Kill whatever the agent runs now; it never runs anything again."""
        with self._lock:
            self._die()
            if self.process and self.process.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(self.process.pid, signal.SIGKILL)

    def _die(self) -> None:
        if not self.is_dead:
            self.is_dead = True
            self.world.dead.add(self.name)
            for task in sorted(self._owned):
                self.world.note(self.name, task, owns=False)

    def believe(self, task: str, *, owns: bool) -> None:
        """Begin or stop to work on a task."""
        with self._lock:
            if self.is_dead:
                raise Killed
            self.world.note(self.name, task, owns=owns)
            (self._owned.add if owns else self._owned.discard)(task)

    def plant(self, *, dirty: bool) -> None:
        """Leave uncommitted work in the clone: untracked, and also changed and staged if ``dirty``."""
        names = {"scratch.txt": "mine\n"}
        if dirty:
            names |= {"README.md": f"{self.name} edits this\n", "staged.txt": f"{self.name}\n"}
        for name, text in names.items():
            (self.clone / name).write_text(text)
        if dirty:
            self.git("add", "staged.txt")
        self._planted = names

    def check_files(self) -> None:
        """Report uncommitted work that was touched, and an operation that was left behind."""
        for name, text in self._planted.items():
            path = self.clone / name
            if not path.exists() or path.read_text() != text:
                self.world.blame(f"{name} of {self.name} was changed")
        if "staged.txt" in self._planted:
            status = plain_git(self.clone, "status", "--porcelain", "--", "staged.txt", "README.md")
            if status.splitlines() != [" M README.md", "A  staged.txt"]:
                self.world.blame(f"status of {self.name}: {status!r}")
        for name in self._left_behind() if not self.is_dead else ():
            self.world.blame(f"{self.name} left {name}")

    def _left_behind(self) -> list[str]:
        """Return what an interrupted operation left in the clone."""
        inside = self.clone / ".git"
        states = ("rebase-merge", "rebase-apply", "MERGE_HEAD", "CHERRY_PICK_HEAD")
        locks = [str(path) for path in inside.rglob("*.lock") if "dibs" not in path.parts]
        return [name for name in states if (inside / name).exists()] + locks

    def push(self, files: dict[str, str], subject: str) -> None:
        """Commit ``files`` and push, until the push is accepted."""
        for path, text in files.items():
            (self.clone / path).parent.mkdir(parents=True, exist_ok=True)
            (self.clone / path).write_text(text)
        self.git("add", "-A", *files)
        self.git("commit", "-q", "-m", subject)
        self.deliver()

    def deliver(self) -> None:
        """Push what is committed; rebase and retry while others are faster."""
        for _ in range(100):
            if self.run("git", "push", "-q", "origin", "HEAD:main").returncode == 0:
                return
            self.git("pull", "-q", "--rebase", "origin", "main")
        raise AssertionError("others were always faster")


# -- what agents do


def take_with_script(member: Member) -> str:
    """Run the document's script once; return the task that it claimed, if any."""
    done = member.run("bash", str(SCRIPT))
    said = re.findall(r"(?m)^Claimed (.*)$", done.stdout)
    if done.returncode or not said:
        member.git("rebase", "--abort", check=False)
        member.git("fetch", "-q")
        member.git("reset", "-q", "--hard", "origin/main")
    return said[0] if said and not done.returncode else ""


def finish_with_script(member: Member, task: str) -> None:
    """Finish a task as a script does: one commit that moves its file and deletes its lock.

    The script lists the queue before it pulls, so it can lock a task that is done already; if the queue is
    empty, it locks the task ``*``.
    """
    member.git("pull", "-q", "--rebase")
    (member.clone / "tasks" / "done").mkdir(exist_ok=True)
    is_open = (member.clone / f"tasks/pending/{task}.yml").exists()
    if is_open:
        member.git("mv", f"tasks/pending/{task}.yml", f"tasks/done/{task}.yml")
    member.git("--literal-pathspecs", "rm", "-q", f"current_tasks/{task}.lock")
    member.git("commit", "-q", "-m", f"{'done' if is_open else 'release'}: {task} by {member.name}")
    member.deliver()


def take_with_dibs(member: Member) -> str:
    """Run ``dibs task take`` once; return the task that it took, if any."""
    done = member.dibs("task", "take", "--json", "--ttl", f"{member.world.ttl}s")
    if done.returncode not in {TOOK, NOTHING, EMPTY, TRY_AGAIN}:
        member.world.blame(f"take by {member.name}: {done.returncode} {done.stdout} {done.stderr}")
    return str(json.loads(done.stdout)["task"]["id"]) if done.returncode == TOOK else ""


def finish_with_dibs(member: Member, task: str) -> None:
    """Run ``dibs task done``, again if the branch changed all the time."""
    for _ in range(5):
        done = member.dibs("task", "done", task)
        if done.returncode != TRY_AGAIN:
            break
    if done.returncode:
        member.world.blame(f"done {task} by {member.name}: {done.returncode} {done.stderr}")


TAKE = {"script": take_with_script, "dibs": take_with_dibs}
FINISH = {"script": finish_with_script, "dibs": finish_with_dibs}


class Agent(threading.Thread):
    """Take and finish tasks until the round is over; a killed member is replaced by a new one."""

    def __init__(self, world: World, kind: str, name: str, seed: int) -> None:
        super().__init__(name=name, daemon=True)
        self.world, self.kind, self.draw = world, kind, random.Random(seed)
        self.member = self._hire(0)

    def run(self) -> None:
        """Work until the round is over."""
        life = 0
        try:
            while not self._worked():
                life += 1
                self.member = self._hire(life)
        except Exception as error:
            self.world.blame(f"{self.member.name}: {error!r}")
            raise

    def _worked(self) -> bool:
        """Work; return whether the agent is still alive at the end."""
        with suppress(Killed):
            while not self.world.over.is_set():
                self._one_task()
        self.member.check_files()
        return not self.member.is_dead

    def _hire(self, life: int) -> Member:
        """Return a new agent: with a new clone, or every other time in the dead agent's clone.

        A script cannot work in a clone where another one was killed, so it always gets a new one.
        """
        name = f"{self.name}.{life}"
        if self.kind == "dibs" and life % 2:
            return Member(self.world, name, heir_of=self.member)
        member = Member(self.world, name)
        member.plant(dirty=self.kind == "dibs" and self.draw.random() < 0.5)
        return member

    def _one_task(self) -> None:
        task = TAKE[self.kind](self.member)
        if not task:
            self.world.over.wait(self.draw.uniform(0.05, 0.3))
            return
        self.member.believe(task, owns=True)
        time.sleep(self.draw.uniform(0.0, 0.2))
        self.member.believe(task, owns=False)
        FINISH[self.kind](self.member, task)


class Committer(threading.Thread):
    """A person or a bot that pushes other work to the same branch."""

    def __init__(self, world: World, name: str, seed: int) -> None:
        super().__init__(name=name, daemon=True)
        self.world, self.draw = world, random.Random(seed)
        self.member = world.member(name)

    def run(self) -> None:
        """Push a commit now and then until the round is over."""
        number = 0
        while not self.world.over.is_set():
            number += 1
            is_shared = number % 5 == 0 and self.name.startswith("person0")
            path = "README.md" if is_shared else f"src/{self.name}-{number}.c"
            self.member.push({path: f"int {self.name}{number};\n"}, f"work {number}")
            self.world.over.wait(self.draw.uniform(0.3, 1.2))


class Crew:
    """Three scripts, three Dibs agents, and two committers on one branch."""

    def __init__(
        self, world: World, seed: int, kinds: tuple[str, ...] = ("script", "dibs")
    ) -> None:
        self.world, self.draw = world, random.Random(seed)
        world.over.clear()
        self.agents = [
            Agent(world, kind, f"{kind}-{number}-{seed}", self.draw.randrange(1 << 30))
            for number in range(3)
            for kind in kinds
        ]
        self.committers = [
            Committer(world, f"person{number}x{seed}", self.draw.randrange(1 << 30))
            for number in range(2)
        ]

    def start(self) -> None:
        """Start everyone at once."""
        for thread in (*self.agents, *self.committers):
            thread.start()

    def stop(self) -> None:
        """Let everyone finish what they do."""
        self.world.over.set()
        for thread in (*self.agents, *self.committers):
            thread.join(120)

    def kill_at_random(self, count: int) -> None:
        """Kill this many agents, each at a random moment."""
        for _ in range(count):
            time.sleep(self.draw.uniform(0.2, 1.2))
            self.draw.choice(self.agents).member.kill()

    def kill_at(self, point: str, kind: str) -> None:
        """Kill an agent of this kind when it gets to this point of its next claim."""
        agent = [a for a in self.agents if a.kind == kind][POINTS.index(point)]
        agent.member.order(point)

    def wait_until(self, what: str, holds: Callable[[], bool], within: float = 240.0) -> None:
        """Wait for a state of the branch."""
        give_up = time.monotonic() + within
        while not holds():
            if time.monotonic() > give_up or self.world.faults:
                self.stop()
                state = (self.world.faults, self.world.open_tasks(), self.world.locks())
                raise AssertionError(f"{what}: {state}")
            time.sleep(0.1)


def play(world: World, seed: int, tasks: Iterable[str], kills: int = 4) -> Crew:
    """Let a crew finish ``tasks`` while some of its agents are killed; return the crew."""
    world.put({name: f"title: {name}\n" for name in tasks})
    crew = Crew(world, seed)
    for point in POINTS:
        for kind in ("script", "dibs"):
            crew.kill_at(point, kind)
    crew.start()
    crew.kill_at_random(kills)
    crew.wait_until(
        "every task is done or was left by a dead agent",
        lambda: all(world.locks().get(task) in world.dead for task in world.open_tasks()),
    )
    give_up = time.monotonic() + 240
    while before := world.open_tasks():
        assert time.monotonic() < give_up, (before, world.locks())
        world.age()
        # An agent may also die after it took a dead one's task, so time passes again and again.
        again = time.monotonic() + 10
        crew.wait_until(
            "a dead agent's task is done",
            lambda b=before, t=again: world.open_tasks() < b or time.monotonic() > t,
        )
    crew.stop()
    return crew


# -- helpers

TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"


def owner(lock: str) -> str:
    """Return the agent that a lock file names."""
    found = re.search(r"(?m)^agent: (.*)$", lock)
    return found[1] if found else "unknown"


def seconds(text: str) -> int:
    """Return a time in a lock file as seconds since 1970."""
    return calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ"))


def stamp(at: float) -> str:
    """Return a time as lock files write it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


def stem(path: str) -> str:
    """Return the name of a task from the path of one of its files."""
    return path.rpartition("/")[2].rpartition(".")[0]


def files_at(bare: Path, commit: str, *folders: str) -> dict[str, str]:
    """Return the files in ``folders`` at a commit, with their contents."""
    listed = plain_git(bare, "ls-tree", "-r", "-z", commit, "--", *folders)
    found = [line.split("\t", 1) for line in listed.split("\0") if line]
    ids = [facts.split()[2] for facts, _ in found]
    given = "".join(f"{id_}\n" for id_ in ids)
    out = plain_git(bare, "cat-file", "--batch", given=given)
    contents = {}
    for _, path in found:
        header, _, out = out.partition("\n")
        size = int(header.split()[2])
        contents[path], out = out.encode()[:size].decode(), out.encode()[size + 1 :].decode()
    return contents


def plain_git(bare: Path, *words: str, given: str = "") -> str:
    """Run git in the shared repository."""
    done = subprocess.run(
        ["git", *words], cwd=bare, input=given, capture_output=True, text=True, check=True
    )
    return done.stdout
