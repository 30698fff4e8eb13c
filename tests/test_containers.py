"""The container recipe: one agent per container, each with its own home, clone, and processes."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parent.parent
RECIPE = ROOT / "examples" / "containers"
ENTRYPOINT = RECIPE / "entrypoint.sh"
DIBS = Path(sys.executable).with_name("dibs")
#: A pid namespace of its own, as a container has, in which nothing outlives the first process.
NAMESPACE = [
    "unshare",
    "--user",
    "--map-root-user",
    "--pid",
    "--fork",
    "--kill-child",
    "--mount-proc",
]


def namespace():
    """Return the words that start a program in a pid namespace; none where that is not allowed."""
    if not shutil.which("unshare"):
        return []
    done = subprocess.run([*NAMESPACE, "true"], capture_output=True, check=False)
    return NAMESPACE if done.returncode == 0 else []


class Shared:
    """A bare repository with a queue, and the containers that work on it."""

    def __init__(self, folder):
        self.folder = folder
        self.bare = folder / "repo.git"
        self.namespace = namespace()
        self.running = []
        self.git("init", "-q", "--bare", "-b", "main", str(self.bare), at=folder)
        self.git("clone", "-q", str(self.bare), str(folder / "first"), at=folder)
        self.git("checkout", "-q", "-B", "main")
        self.commit({"current_tasks/.gitkeep": "", "src/all.txt": "one\ntwo\nthree\n"})

    def git(self, *words, at=None):
        names = {f"GIT_{who}_{what}": "first@example.org"
                 for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}  # fmt: skip
        return subprocess.run(
            ["git", *words], cwd=at or self.folder / "first", env={**os.environ, **names},
            check=True, capture_output=True, text=True,
        ).stdout  # fmt: skip

    def commit(self, files):
        for path, text in files.items():
            (self.folder / "first" / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / "first" / path).write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "files")
        if self.subjects():
            self.git("pull", "-q", "--rebase", "origin", "main")
        self.git("push", "-q", "origin", "main")

    def age(self, task, *, hours):
        """Rewrite a lock as if it were older."""
        self.git("pull", "-q", "--rebase", "origin", "main")
        path = f"current_tasks/{task}.lock"

        def earlier(found):
            return f"{datetime.fromisoformat(found[0]) - timedelta(hours=hours):%Y-%m-%dT%H:%M:%SZ}"

        self.commit({path: re.sub(r"20\d\d-\S+Z", earlier, self.show(path))})

    def put(self, *names):
        self.commit({f"tasks/pending/{name}.yml": f"title: {name}\n" for name in names})

    def start(self, agent, *command, generation=0, **extra):
        """Start a container: nothing of this account's own, and a new home for each generation."""
        home = self.folder / f"{agent}.{generation}"
        home.mkdir(exist_ok=True)
        environ = {
            "HOME": str(home), "PATH": f"{DIBS.parent}:/usr/local/bin:/usr/bin:/bin",
            "REPO_URL": str(self.bare), "WORKSPACE": str(home / "shared-repo"), "WAIT": "1s",
            "AGENT_ID": agent, **extra,
        }  # fmt: skip
        process = subprocess.Popen(
            [*self.namespace, "env", "-i", *(f"{k}={v}" for k, v in environ.items()),
             str(ENTRYPOINT), *command],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            cwd=home, start_new_session=True,
        )  # fmt: skip
        self.running.append(process)
        return process

    def files(self, folder, ref="main"):
        return self.git("ls-tree", "-r", "--name-only", ref, "--", folder, at=self.bare).split()

    def show(self, path, ref="main"):
        return self.git("show", f"{ref}:{path}", at=self.bare)

    def subjects(self):
        return self.git("log", "--all", "--format=%s", at=self.bare).splitlines()

    def unfinished(self):
        listed = self.git("for-each-ref", "--format=%(refname:short)", at=self.bare).split()
        return [name for name in listed if name.startswith("unfinished/")]

    def close(self):
        for process in self.running:
            kill(process)


@pytest.fixture
def shared(tmp_path):
    shared = Shared(tmp_path)
    yield shared
    shared.close()


def kill(process):
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()


def ended(process):
    out = process.communicate(timeout=120)[0]
    assert process.returncode == 0, out
    return out


def eventually(what, holds, process):
    give_up = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < give_up, what
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.02)


def test_three_containers_finish_each_task_once_and_push_the_work(shared):
    tasks = [f"lint-{number}" for number in range(5)]
    shared.put(*tasks)

    agents = [
        shared.start(f"agent-{n}", "bash", "-c", 'echo "$DIBS_AGENT" > "src/$DIBS_TASK.txt"')
        for n in range(3)
    ]
    said = [ended(process) for process in agents]

    assert sorted(re.findall(r": took (.*)", "\n".join(said))) == tasks
    assert shared.files("src") == sorted([*(f"src/{task}.txt" for task in tasks), "src/all.txt"])
    assert shared.files("tasks/done") == [f"tasks/done/{task}.yml" for task in tasks]
    assert shared.files("current_tasks") == ["current_tasks/.gitkeep"]
    assert shared.unfinished() == []
    subjects = shared.subjects()
    for task in tasks:
        owner = shared.show(f"src/{task}.txt").strip()
        assert subjects.count(f"claim: {task} by {owner}") == 1
        assert subjects.count(f"done: {task} by {owner}") == 1


def test_a_command_that_fails_marks_the_task_as_failed_and_keeps_its_work(shared):
    shared.put("a")

    ended(shared.start("agent-1", "bash", "-c", "echo half > src/half.txt; exit 5"))

    assert shared.files("tasks/failed") == ["tasks/failed/a.yml"]
    assert shared.files("src") == ["src/all.txt"]
    (branch,) = shared.unfinished()
    assert shared.show("src/half.txt", branch) == "half\n"


def test_a_task_may_have_any_name(shared):
    names = ["-x", "Fix [a] & b; $(touch hacked)", "ünïcode..lock"]
    shared.put(*names)

    ended(shared.start("agent-1", "bash", "-c", 'echo x > "src/half-$DIBS_TASK"; false'))

    failed = shared.git("ls-tree", "-z", "--name-only", "main:tasks/failed", at=shared.bare)
    assert sorted(failed.split("\0")[:-1]) == sorted(f"{name}.yml" for name in names)
    assert len(shared.unfinished()) == 3
    assert not (shared.folder / "agent-1.0/shared-repo/hacked").exists()


def test_work_that_conflicts_with_the_branch_is_kept_on_a_branch(shared):
    shared.put("a")
    first = shared.folder / "first"
    rival = f"cd {first} && git pull -q && echo theirs > src/all.txt && git commit -qam rival && git push -q"
    identity = "-c user.name=x -c user.email=x@x"
    rival = rival.replace("git commit", f"git {identity} commit").replace(
        "git pull", "git pull --rebase"
    )

    ended(shared.start("agent-1", "bash", "-c", f"({rival}) && echo mine > src/all.txt"))

    assert shared.show("src/all.txt") == "theirs\n"
    assert shared.files("tasks/failed") == ["tasks/failed/a.yml"]
    (branch,) = shared.unfinished()
    assert shared.show("src/all.txt", branch) == "mine\n"


def test_a_stopped_container_keeps_its_work_and_releases_its_task(shared):
    shared.put("a")
    process = shared.start(
        "agent-1", "bash", "-c", "echo half > src/half.txt; touch started; sleep 60"
    )
    eventually("it works", (shared.folder / "agent-1.0/shared-repo/started").exists, process)

    inner = process.pid
    for child in Path(f"/proc/{inner}/task/{inner}/children").read_text().split() or [inner]:
        os.kill(int(child), signal.SIGTERM)
    process.communicate(timeout=60)

    assert shared.files("current_tasks") == ["current_tasks/.gitkeep"]
    assert shared.files("tasks") == ["tasks/pending/a.yml"]
    assert "release: a by agent-1" in shared.subjects()
    (branch,) = shared.unfinished()
    assert shared.show("src/half.txt", branch) == "half\n"


def work_until_killed(shared):
    """Kill a container while its command runs; its processes end with it, and its lock stays."""
    process = shared.start(
        "agent-1", "bash", "-c", "echo half > src/half.txt; touch started; sleep 60"
    )
    eventually("it works", (shared.folder / "agent-1.0/shared-repo/started").exists, process)
    kill(process)
    assert shared.files("current_tasks") == ["current_tasks/.gitkeep", "current_tasks/a.lock"]


def test_a_killed_container_is_replaced_by_one_with_a_fresh_clone(shared):
    shared.put("a", "b")
    work_until_killed(shared)

    replaced = shared.start("agent-1", "true", generation=1)
    eventually(
        "it does the other task", lambda: "tasks/done/b.yml" in shared.files("tasks"), replaced
    )
    assert "tasks/pending/a.yml" in shared.files("tasks"), "the dead container may still be alive"
    shared.age("a", hours=3)
    ended(replaced)

    assert shared.files("tasks/done") == ["tasks/done/a.yml", "tasks/done/b.yml"]
    story = [line for line in reversed(shared.subjects()) if re.match(r"\w+: a\b", line)]
    assert story[0] == "claim: a by agent-1"
    assert story[1].startswith("expire: a, held by agent-1 since ")
    assert story[2:] == ["claim: a by agent-1", "done: a by agent-1"]


def test_a_killed_container_that_restarts_keeps_its_work_and_continues(shared):
    shared.put("a")
    work_until_killed(shared)

    ended(shared.start("agent-1", "true"))

    assert shared.files("tasks/done") == ["tasks/done/a.yml"]
    (branch,) = shared.unfinished()
    assert shared.show("src/half.txt", branch) == "half\n"


def test_the_agents_name_is_the_host_name_by_default(shared):
    shared.put("a")

    ended(shared.start("", "true"))

    assert f"done: a by {os.uname().nodename}" in shared.subjects()


def test_the_recipe_is_well_formed():
    compose = YAML(typ="safe").load((RECIPE / "compose.yaml").read_text("utf-8"))
    dockerfile = (RECIPE / "Dockerfile").read_text("utf-8")
    agent = compose["services"]["agent"]

    assert (RECIPE / agent["build"]["context"]).resolve() == ROOT
    assert (ROOT / agent["build"]["dockerfile"]).exists()
    for source in re.findall(r"^COPY (?:--\S+ )*(\S+) ", dockerfile, re.MULTILINE):
        assert (ROOT / source).exists()
    assert os.access(ENTRYPOINT, os.X_OK)
    assert subprocess.run(["bash", "-n", str(ENTRYPOINT)], check=False).returncode == 0
    assert "set -euo pipefail" in ENTRYPOINT.read_text("utf-8")
