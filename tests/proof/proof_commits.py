"""Agents, each a process, edit and commit in one working tree. Run as a program with the name of a job.

Every agent has its own files, which no one else may commit, and takes turns with the others on a few shared
ones. It records what Dibs reports; ``proof_commit_judge`` compares that with the history.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proof_commit_judge import AUTHOR, git, index_of, on_disk
from proof_nursery import fork, say

from dibs.cli import main
from dibs.core.claims.agents import Caller
from dibs.core.claims.rules import Granted
from dibs.core.patterns.pattern import parse
from dibs.errors import DibsError
from dibs.project.project import open_project
from dibs.services.commits.values import CommitRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.project.project import Project

SHARED = ("shared/one.txt", "shared/two.txt", "shared/three.txt")
#: What git prints if another process holds the index lock or moved the branch first.
BUSY = ("index.lock", "cannot lock ref", "unable to write new index", "HEAD.lock")


class Agent:
    """One agent: its files, its changes, and what Dibs reported."""

    def __init__(
        self, repo: str, variables: dict[str, str], name: str, diary: str, seed: int
    ) -> None:
        self.repo, self.name, self.draw = Path(repo), name, random.Random(f"{name} {seed}")
        self.project: Project = open_project(repo, variables)
        self.caller = Caller(name)
        self.diary = os.open(diary, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self.count = 0
        #: Whether file states must be unique, and whether the agent stages files with plain git.
        self.only_adds, self.stages = False, True
        #: The committed states of its own files, and their states on disk.
        self.committed: dict[str, str] = {}
        self.left: dict[str, str] = {}

    # -- files

    def paths(self) -> list[str]:
        """Return the names of the agent's own files; some share a folder with other agents' files."""
        names = [f"src/{self.name}-{n}.py" for n in range(4)]
        return [*names, f"work/{self.name}/a b", f"work/{self.name}/deep/ü.md", f"{self.name}.txt"]

    def claim_own(self) -> None:
        """Claim all own files; the globs include files that do not exist yet."""
        texts = (f"src/{self.name}-*", f"work/{self.name}/", f"{self.name}.txt")
        answer = self.project.claims.claim(self.caller, [parse(t) for t in texts], ttl=300)
        assert isinstance(answer, Granted), answer

    def edit(self) -> None:
        """Change a few own files in one of the ways that git distinguishes."""
        for path in self.draw.sample(self.paths(), self.draw.randint(1, 4)):
            place = self.repo / path
            place.parent.mkdir(parents=True, exist_ok=True)
            self.count += 1
            how = self.draw.random()
            if self.only_adds:
                how = 1.0
            if place.is_symlink() or (how < 0.15 and place.exists()):
                place.unlink()
            elif how < 0.25 and place.exists():
                place.chmod(place.stat().st_mode ^ 0o111)
            elif how < 0.32:
                place.unlink(missing_ok=True)
                place.symlink_to(f"to {self.count}")
            else:
                with place.open("a") as file:
                    file.write(f"{self.name} {self.count} {self.draw.random()}\n")
            self.left[path] = on_disk(place)

    def changed(self) -> dict[str, str]:
        """Return the own files that differ from the last commit."""
        return {p: s for p, s in self.left.items() if s != self.committed.get(p, "")}

    # -- commits

    def commit(
        self, paths: tuple[str, ...] = (), *, release: bool = False, inherited: bool = False
    ) -> str:
        """Commit through Dibs; return the commit, or the error code."""
        try:
            wish = CommitRequest(
                f"{self.name}: step {self.count}",
                tuple(parse(path, literal=True) for path in paths),
                release=release,
                inherited=inherited,
            )
            answer = self.project.commits.commit(self.caller, wish)
        except DibsError as error:
            return f"{error.code}: {error.message}"
        return getattr(answer, "commit", "") or str(answer)

    def note(self, did: str, **more: Any) -> None:
        """Record what Dibs reported."""
        line = json.dumps({"agent": self.name, "did": did, **more}) + "\n"
        os.write(self.diary, line.encode())

    def step(self) -> None:
        """Edit and commit once: own files, or a shared one while holding it."""
        self.edit()
        if self.stages and self.draw.random() < 0.2:
            stage(self.repo, [p for p in self.changed() if self.left[p]])
        if self.draw.random() < 0.25 and self.commit_shared():
            return
        changed = self.changed()
        if not changed:
            return
        said = self.commit()
        self.note("commit", commit=said, changed=changed)
        if is_commit(said):
            self.committed.update(changed)

    def commit_shared(self) -> bool:
        """Add a line to a shared file while holding it, commit only that, and release it."""
        path = self.draw.choice(SHARED)
        if not isinstance(self.project.claims.claim(self.caller, [parse(path)]), Granted):
            return False
        place = self.repo / path
        with place.open("a") as file:
            file.write(f"{self.name} {self.count}\n")
        said = self.commit((path,), release=True)
        self.note(
            "commit", commit=said, changed={path: on_disk(place)}, line=f"{self.name} {self.count}"
        )
        return True


def is_commit(said: str) -> bool:
    """Return whether the text is a commit hash and not an error code."""
    return len(said) in (40, 64) and set(said) <= set("0123456789abcdef")


def stage(repo: Path, paths: list[str]) -> None:
    """Stage files with plain git, as agents do; skip it if the index is locked."""
    if paths:
        git(repo, "add", "--", *paths, check=False)


def crew(
    repo: str, variables: str, diary: str, agents: str, goal: str, seed: str, user: str
) -> Any:
    """Let agents commit ``goal`` times each, alongside a plain git user; report the time."""
    names = [f"agent{number}" for number in range(int(agents))]
    os.environ.update(AUTHOR)
    began = time.monotonic()
    about = (repo, variables, diary)
    pids = [fork(partial(work, *about, name, int(goal), int(seed), user=user)) for name in names]
    beside = []
    if user != "nobody":
        beside.append(begin(partial(plain_user, *about, int(seed), user)))
    if user in ("only", "nobody", "gated"):
        beside.append(begin(partial(stager, *about)))
    failed = [pid for pid in pids if os.waitpid(pid, 0)[1]]
    took = time.monotonic() - began
    for pid, ready in beside:  # the agents may finish before the other process has started
        os.read(ready, 1)
        os.kill(pid, signal.SIGTERM)
        failed += [pid] if os.waitpid(pid, 0)[1] else []
    return {"took": took, "failed": len(failed)}


def begin(act: Callable[[int], None]) -> tuple[int, int]:
    """Run a process alongside the agents; its output is readable once it has started or ended."""
    ready, tell = os.pipe()
    pid = fork(partial(act, tell=tell))
    os.close(tell)
    return pid, ready


def work(
    repo: str, variables: str, diary: str, name: str, goal: int, seed: int, *, user: str
) -> None:
    """Act as one agent for ``goal`` steps, then commit what is left."""
    agent = Agent(repo, json.loads(variables), name, diary, seed)
    agent.only_adds, agent.stages = user == "all", user != "index"
    agent.claim_own()
    for _ in range(goal):
        agent.step()
    changed = agent.changed()
    if changed:
        agent.note("commit", commit=agent.commit(), changed=changed)
    agent.note("end", left=agent.left)
    agent.project.close()


class Stop:
    """Whether this process has been asked to end; it ends between two steps, and reports when it is ready."""

    def __init__(self, tell: int) -> None:
        self.told, self._tell, self._said = False, tell, False
        signal.signal(signal.SIGTERM, self._hear)

    def ready(self) -> None:
        """Report once that there has been enough work to check."""
        if not self._said:
            os.write(self._tell, b"!")
        self._said = True

    def _hear(self, *_: object) -> None:
        self.told = True


#: How plain users commit: the index, all tracked files, or only their own.
HABITS: dict[str, tuple[tuple[str, ...], ...]] = {
    "index": ((),),
    "all": (("-a",),),
    "only": (("--only",),),
    "gated": (("-a",), ("-a", "--no-verify"), ("--only",)),
}


def plain_user(repo: str, variables: str, diary: str, seed: int, habit: str, tell: int) -> None:
    """Edit own files and commit them with plain git until asked to end."""
    stop, refused = Stop(tell), False
    user = Agent(repo, json.loads(variables), "plain", diary, seed)
    user.only_adds = habit == "all"
    user.claim_own()
    while not stop.told:
        user.edit()
        git(user.repo, "add", "-A", "--", *[p for p in user.left if user.left[p]], check=False)
        words = user.draw.choice(HABITS[habit])
        targets = ["--", *sorted(user.changed())] if words == ("--only",) else []
        told = git(
            user.repo, "commit", "-qm", "plain", *words, *targets, check=False, DIBS_AGENT="plain"
        )
        if not told.returncode:
            user.committed.update(user.left)
        user.note("plain", words=words, code=told.returncode, said=told.stderr[-300:])
        refused |= told.returncode != 0 and "-a" in words and "holds" in told.stderr
        if user.committed and (refused or habit != "gated"):
            stop.ready()
        time.sleep(user.draw.uniform(0.0, 0.05))
    user.note("end", left=user.left)


#: Files that a user stages: with content, with intent to add, and assumed unchanged.
STAGED = ("new", "edited", "intended", "assumed")


def stage_each_kind(repo: Path) -> None:
    """Stage a file of each kind; retry if the index is locked."""
    git(repo, "add", "staged/new", "staged/edited", "staged/assumed", check=False)
    git(repo, "update-index", "--assume-unchanged", "staged/assumed", check=False)
    git(repo, "add", "-N", "staged/intended", check=False)


def staged_whole(repo: Path) -> bool:
    """Return whether all staged files are in the index and stay there for a while.

    A plain `git commit` reads the index before it locks it, and may write the old state.
    """
    time.sleep(0.1)
    tags = git(repo, "ls-files", "-v", "staged/").stdout
    return "h staged/assumed" in tags and {f"staged/{n}" for n in STAGED} <= set(index_of(repo))


def stager(repo: str, variables: str, diary: str, tell: int) -> None:
    """Stage files of every kind and keep editing; check regularly that the index is as staged."""
    stop, looks = Stop(tell), 0
    agent = Agent(repo, json.loads(variables), "stager", diary, 0)
    folder = agent.repo / "staged"
    answer = agent.project.claims.claim(agent.caller, [parse("staged/")], ttl=300)
    assert isinstance(answer, Granted)
    folder.mkdir(exist_ok=True)
    for name in STAGED:
        (folder / name).write_text(f"{name}, staged\n")
    while not all(staged_whole(agent.repo) for _ in range(2)):
        stage_each_kind(agent.repo)
        time.sleep(0.2)
    (folder / "edited").write_text("edited on\n")
    before = {p: s for p, s in index_of(agent.repo).items() if p.startswith("staged/")}
    while not stop.told:
        now = {p: s for p, s in index_of(agent.repo).items() if p.startswith("staged/")}
        looks += 1
        if now != before:
            agent.note("staged", before=before, now=now)
            return
        stop.ready()
        time.sleep(0.1)
    agent.note("kept", looks=looks, count=len(before))


def storm(repo: str, variables: str, diary: str, kills: str, seed: str, whole: str) -> Any:
    """Kill ``dibs commit`` at random times while other agents work; report how often it was still running.

    With ``whole``, its git processes are killed, too.
    """
    os.environ.update(AUTHOR | json.loads(variables))
    draw = random.Random(seed)
    crew = [Agent(repo, json.loads(variables), f"agent{n}", diary, int(seed)) for n in range(3)]
    for agent in crew:
        agent.claim_own()
        agent.project.close()  # no child may inherit an open store
    in_time, attempts, took = 0, 0, [0.3]
    while in_time < int(kills):
        victim, other = draw.sample(crew, 2)
        attempts += 1
        pid = attempt(victim, attempts)
        beside = 0
        if not whole and draw.random() < 0.4:
            attempts += 1
            beside = attempt(other, attempts)
        began = time.monotonic()
        time.sleep(draw.uniform(0.0, sum(took) / len(took)))
        in_time += kill(pid, whole=bool(whole))
        if beside:
            other.note("beside", status=status_of(beside))
            took = [*took[-9:], time.monotonic() - began]
        if whole:
            victim.note("locks", names=clear_locks(Path(repo)))
    for agent in crew:
        attempts += 1
        agent.note("end", left=agent.left, status=status_of(attempt(agent, attempts)))
    return {"failed": 0, "kills": in_time, "attempts": attempts}


def status_of(pid: int) -> int:
    """Return the exit status of a child."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def kill(pid: int, *, whole: bool) -> bool:
    """Kill a process, and optionally its children; return whether it was still running."""
    if whole:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGSTOP)  # so that it cannot start another
            for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
                os.kill(int(child), signal.SIGKILL)
    os.kill(pid, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(pid, 0)[1])


def clear_locks(repo: Path) -> list[str]:
    """Remove the locks of killed git processes, as a person does when no git is running."""
    found = (repo / ".git").rglob("*.lock")
    own = {repo / ".git/index.lock", repo / ".git/dibs/gate.lock"}
    locks = [path for path in found if path not in own and path.parent != repo / ".git/dibs"]
    for lock in locks:
        lock.unlink()
    return [lock.name for lock in locks]


def attempt(agent: Agent, number: int) -> int:
    """Start ``dibs commit`` for an agent's latest edits; the message contains the attempt."""
    agent.edit()
    agent.note("attempt", number=number, left=agent.left)
    words = ["commit", "-m", f"attempt {number}", "--agent", agent.name, "--repo", str(agent.repo)]

    def command() -> None:
        sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - till the process ends
        os._exit(main(words))

    return fork(command)


def pause(repo: str, variables: str, name: str, step: str, ttl: str) -> Any:
    """Change ``src/x.py`` and commit it, but pause at ``step`` of the gate until resumed."""
    from dibs.services.commits import gate

    os.environ.update(AUTHOR)
    project, caller = open_project(repo, json.loads(variables)), Caller(name)
    span = max(float(ttl), project.engine.shortest_ttl)
    answer = project.claims.claim(caller, [parse("src/x.py")], ttl=span)
    assert isinstance(answer, Granted)
    (Path(repo) / "src/x.py").write_text(f"{name}\n")
    stops, locked = [step], []

    def reach(place: str) -> None:
        if place in stops:
            stops.clear()
            os.kill(os.getpid(), signal.SIGSTOP)
        if place == "moving":
            locked.append(has_lock(Path(repo) / ".git"))

    gate.reach = reach
    reach("before")
    return {"said": commit_alone(project, caller), "locked": locked}


def has_lock(place: Path) -> bool:
    """Return whether this process holds git's index lock."""
    lock = place / "index.lock"
    return any(mark.samefile(lock) for mark in place.glob(f"dibs-lock-{os.getpid()}-*"))


def commit_alone(project: Project, caller: Caller) -> str:
    """Commit what ``caller`` holds, with what others left in it; return the commit or the error code."""
    agent = Agent.__new__(Agent)
    agent.project, agent.caller, agent.name, agent.count = project, caller, caller.id, 0
    return agent.commit(inherited=True)


def succeed(repo: str, variables: str, path: str) -> Any:
    """Take over ``path`` and commit it; do not wait long for paused agents."""
    from dibs.git import index
    from dibs.services.commits import gate

    os.environ.update(AUTHOR)
    gate.TURN, index.STOPPED = 0.2, 1.0
    project, caller = open_project(repo, json.loads(variables)), Caller("successor")
    answer = project.claims.claim(caller, [parse(path)], wait=60)
    assert isinstance(answer, Granted)
    (Path(repo) / path).write_text("successor\n")
    return {"said": commit_alone(project, caller)}


def run() -> None:
    """Run a job."""
    jobs = {"crew": crew, "storm": storm, "pause": pause, "succeed": succeed}
    say(jobs[sys.argv[1]](*sys.argv[2:]))


if __name__ == "__main__":
    run()
