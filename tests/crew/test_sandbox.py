"""An agent in a sandbox writes its own worktree, and nothing else of the repository."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from tests.crew import hostile
from tests.proof.proof_bypass import WAYS

import dibs as dibs_package
from dibs.crew import landlock, sandbox
from dibs.crew.sandbox import SandboxPolicy, check_policy, confine, in_bubblewrap, in_landlock
from dibs.errors import Misconfigured
from dibs.local.processes import environment_of, realm

BACKENDS = {
    "bubblewrap": (bool(sandbox.bubblewrap()), in_bubblewrap),
    "Landlock": (landlock.abi_version() >= landlock.LEAST_ABI, in_landlock),
}
USABLE = [name for name, (works, _) in BACKENDS.items() if works]
#: Parts of the git directory that an agent's commits change.
SHARED = ("objects", "refs", "logs", "dibs", "worktrees/mine")
PATCH = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-new\n+patched\n"


class Ground:
    """A home folder with a repository, the agent's worktree ``mine``, and another agent's, ``other``."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.kept = folder / "kept"
        self.root = self.home / "src" / "repo"
        self.git_dir = self.root / ".git"
        self.mine, self.other = (
            self.home / "src" / "repo.worktrees" / name for name in ("mine", "other")
        )
        self.environ = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": str(self.home),
            "GIT_CONFIG_NOSYSTEM": "1", "PYTHONPATH": str(Path(dibs_package.__file__).parents[1]),
            "DIBS_AGENT": "mine", "XDG_RUNTIME_DIR": str(folder), "TERM": "dumb",
            "XDG_STATE_HOME": str(self.home / ".cache"),
        }  # fmt: skip
        for name in (".cache", ".ssh", ".config/git"):
            (self.home / name).mkdir(parents=True)
        (self.home / ".bashrc").write_text("\n")
        (self.home / ".config/git/config").write_text("\n")
        (self.home / ".gitconfig").write_text("[user]\n\tname = Someone\n\temail = x@example.com\n")
        self.git("init", "-q", "-b", "main", "--template=", str(self.root), cwd=folder)
        self._fill()

    def _fill(self) -> None:
        for name in ("hooks", "info", "dibs", "dibs-crew"):
            (self.git_dir / name).mkdir()
        (self.git_dir / "dibs-crew/crew.toml").write_text("sandbox = true\n")
        (self.git_dir / "hooks/pre-commit").write_text("#!/bin/sh\nexit 0\n")
        self.git("config", "extensions.worktreeConfig", "true")
        self.commit({"a.txt": "old\n", "b.txt": "a\n", "src/a.py": "a\n"})
        self.git("branch", "older")
        self.git("switch", "-q", "-c", "side")
        self.commit({"side.txt": "side\n"})
        self.git("switch", "-q", "main")
        self.commit({"a.txt": "new\n"})
        for tree in (self.mine, self.other):
            self.git("worktree", "add", "-q", "-b", f"agent/{tree.name}", str(tree))
        (self.root / "b.txt").write_text("changed\n")
        (self.root / "untracked").write_text("x\n")
        (self.root / "empty").mkdir()
        (self.mine / "fix.patch").write_text(PATCH)

    def git(self, *words: str, cwd: Path | None = None) -> str:
        done = subprocess.run(
            ["git", *words], cwd=cwd or self.root, env=self.environ, check=True, capture_output=True
        )
        return done.stdout.decode().strip()

    def commit(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            (self.root / name).parent.mkdir(exist_ok=True)
            (self.root / name).write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "work")

    def policy(self, *more: Path) -> SandboxPolicy:
        writable = tuple(str(path) for path in (self.mine, *more))
        state = str(self.git_dir / "dibs")
        return SandboxPolicy(writable, str(self.root), str(self.git_dir), state, str(self.home))

    def keep(self) -> None:
        """Remember everything as it is now."""
        shutil.copytree(self.home, self.kept, symlinks=True)

    def restore(self) -> None:
        """Make everything as it was."""
        shutil.rmtree(self.home, ignore_errors=True)
        shutil.copytree(self.kept, self.home, symlinks=True, dirs_exist_ok=True)

    def fill(self, text: str, **more: object) -> str:
        """Insert this ground's folders into a command."""
        places = {
            "root": self.root, "other": self.other, "mine": self.mine, "home": self.home,
            "git": self.git_dir, **more,
        }  # fmt: skip
        for name, place in places.items():
            text = text.replace(f"{{{name}}}", str(place))
        return text.replace("{{", "{").replace("}}", "}")

    def run(self, argv: list[str], cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            argv, cwd=cwd or self.mine, env=self.environ, check=False, capture_output=True,
            text=True, stdin=subprocess.DEVNULL, timeout=60, start_new_session=True,
        )  # fmt: skip

    def seen(self, *, modes: bool = True, pinned: bool = False) -> dict[str, object]:
        """Return what must not change, by path."""
        found: dict[str, object] = {}
        own = [self.git_dir / name for name in SHARED]
        for tree in (self.root, self.other):
            for path in [tree, *sorted(tree.rglob("*"))]:
                if not any(path.is_relative_to(one) for one in own):
                    found[str(path)] = content(path, modes=modes)
        found["escaped"] = (self.home / ".cache/escaped").exists()
        if pinned:
            files = [self.mine, self.mine / ".git"]
            files += [self.git_dir / "worktrees/mine" / name for name in ("commondir", "gitdir")]
            files += [self.home / name for name in (".bashrc", ".gitconfig", ".config/git/config")]
            files += [self.home / ".ssh/authorized_keys"]
            found |= {str(path): content(path, modes=modes) for path in files}
            settings = self.git_dir / "worktrees/mine/config.worktree"
            found["settings"] = settings.read_text() if settings.exists() else ""
        return found


def content(path: Path, *, modes: bool) -> object:
    """Return what is at a path."""
    if not os.path.lexists(path):
        return None
    about = path.lstat()
    kind = about.st_mode if modes else stat.S_IFMT(about.st_mode)
    when = about.st_mtime_ns if modes and stat.S_ISREG(about.st_mode) else 0
    if path.is_symlink():
        return kind, os.readlink(path)
    return (kind, when, path.read_bytes()) if path.is_file() else (kind,)


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line]


@pytest.fixture
def ground(tmp_path):
    made = Ground(tmp_path)
    made.keep()
    return made


@pytest.fixture(params=USABLE)
def wrap(request):
    """The function that confines a command, of each sandbox that works here."""
    return BACKENDS[request.param][1]


@pytest.fixture
def outside(ground):
    """The number of a process outside of the sandbox, in the main working tree."""
    with subprocess.Popen(["sleep", "600"], cwd=ground.root) as process:
        yield process.pid
        assert process.poll() is None
        process.kill()


@pytest.mark.parametrize("name", BACKENDS)
def test_a_sandbox_works_on_this_machine(name):
    if name not in USABLE:
        pytest.skip(f"{name} does not work here, so nothing is tested in it")


def harmful(ground, wrap, commands, cwd=None, **what):
    """Run each command in the sandbox; return those that changed something that is protected."""
    found = []
    for command in commands:
        ground.restore()
        before = ground.seen(**what)
        ground.run(wrap(["bash", "-c", command], ground.policy()), cwd)
        if ground.seen(**what) != before:
            found.append(command)
    return found


def test_no_shell_write_gets_through(ground, wrap):
    commands = [ground.fill(line) for line in lines(hostile.WRITES)]
    assert len(commands) > 100

    assert harmful(ground, wrap, commands, modes=wrap is in_bubblewrap) == []


def test_no_way_past_a_claim_gets_through(ground, wrap):
    ways = [way for way in WAYS if way.cwd != "{clone}"]
    commands = [ground.fill(command) for way in ways for command in way.commands]
    assert len(commands) > 50

    assert harmful(ground, wrap, commands, cwd=ground.root, modes=wrap is in_bubblewrap) == []


def test_no_mount_and_no_other_process_opens_a_way_out(ground, wrap, outside):
    commands = [ground.fill(line, outside=outside) for line in lines(hostile.ESCAPES)]

    assert harmful(ground, wrap, commands, modes=False) == []


@pytest.mark.skipif("bubblewrap" not in USABLE, reason="needs bubblewrap")
def test_bubblewrap_protects_modes_and_what_git_and_shells_outside_read(ground):
    commands = [ground.fill(line) for line in lines(hostile.MODES + hostile.PINNED)]

    assert harmful(ground, in_bubblewrap, commands, pinned=True) == []


def test_without_a_sandbox_each_of_these_commands_does_harm(ground):
    everything = hostile.WRITES + hostile.PINNED + hostile.MODES
    commands = [ground.fill(line) for line in lines(everything)]

    def not_at_all(argv, policy):
        return argv

    harmless = set(commands) - set(harmful(ground, not_at_all, commands, pinned=True))

    assert harmless == set()


# -- what works in it


def dibs(ground, *words):
    """Run Dibs outside of the sandbox, as a person."""
    environ = {key: value for key, value in ground.environ.items() if key != "DIBS_AGENT"}
    program = [sys.executable, "-m", "dibs", *words]
    subprocess.run(program, cwd=ground.root, env=environ, check=True, capture_output=True)


@pytest.fixture
def agent(ground, wrap):
    """Run a command in the sandbox, in the agent's worktree; it must succeed."""
    dibs(ground, "init", "--agents", "none")
    dibs(ground, "git", "install")
    dibs(ground, "task", "new", "Write it", "--for", "mine")
    policy = ground.policy(ground.root / "work")

    def call(*argv: str) -> str:
        done = ground.run(wrap(argv, policy))
        assert done.returncode == 0, (argv, done.stdout, done.stderr)
        return done.stdout.strip()

    return call


def test_an_agent_works_in_its_own_tree(ground, agent):
    agent("sh", "-c", "echo x > new.txt && mkdir d && mv new.txt d/ && ln d/new.txt d/hard")
    agent("sh", "-c", "rm d/hard && ln -s new.txt d/soft && sed -i s/new/mine/ a.txt")
    agent("git", "add", "d", "a.txt")
    agent("git", "commit", "-q", "-m", "from inside")
    agent("git", "switch", "-q", "-c", "agent/second")
    agent("git", "reset", "-q", "--hard", "HEAD~1")
    agent("git", "stash", "list")

    assert ground.git("log", "-1", "--format=%s", "agent/mine") == "from inside"
    assert ground.git("show", "agent/mine:a.txt") == "mine"


def test_dibs_works_in_it_for_the_named_agent(ground, agent):
    program = (sys.executable, "-m", "dibs")

    assert "granted a.txt" in agent(*program, "claim", "a.txt")
    agent("sh", "-c", "echo claimed > a.txt")
    assert "committed" in agent(*program, "commit", "-m", "claimed")
    agent(*program, "task", "take")
    agent(*program, "task", "done", "--summary", "written")
    agent(*program, "release", "--all")

    assert ground.git("log", "-1", "--format=%s", "agent/mine") == "claimed"
    assert list((ground.root / "work/done").glob("*write-it.yaml"))


def test_caches_in_the_home_folder_are_writable(ground, agent):
    agent("sh", "-c", "mkdir -p ~/.cache/tool && echo x > ~/.cache/tool/file")
    agent("sh", "-c", "echo x > /dev/null && cat /etc/passwd /proc/self/stat > ~/.cache/read")

    assert (ground.home / ".cache/tool/file").exists()


def test_process_numbers_mean_the_same_inside_as_outside(agent):
    assert (
        agent(sys.executable, "-c", "from dibs.local.processes import *; print(realm())") == realm()
    )


@pytest.mark.skipif("bubblewrap" not in USABLE, reason="needs bubblewrap")
def test_sockets_of_programs_that_run_commands_are_hidden(ground):
    done = ground.run(in_bubblewrap(["ls", "-A", "/run"], ground.policy()))

    assert {"dbus", "docker.sock", "user"}.isdisjoint(done.stdout.split())
    assert done.returncode == 0


def test_without_network_nothing_outside_can_be_reached(ground, wrap):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = f"import socket; socket.create_connection(('127.0.0.1', {port}), 5)"
        policy = ground.policy()
        allowed, denied = (
            ground.run(wrap([sys.executable, "-c", code], policy._replace(network=network)))
            for network in (True, False)
        )

    assert allowed.returncode == 0, allowed.stderr
    assert denied.returncode != 0


# -- starting and stopping


def started(ground, wrap, code):
    """Start a Python program in the sandbox; wait for its first line, which has its process number."""
    process = subprocess.Popen(
        wrap([sys.executable, "-u", "-c", code], ground.policy()), cwd=ground.mine,
        env=ground.environ, stdout=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    return process, int(process.stdout.readline())


PATIENT = """
import os, signal, sys
signal.signal(signal.SIGTERM, lambda *_: (print("stopping"), sys.exit(7)))
print(os.getpid())
while True: signal.pause()
"""
IDLE = "import os, signal; print(os.getpid()); signal.pause()"


def test_an_agent_can_react_before_it_stops(ground, wrap):
    process, _ = started(ground, wrap, PATIENT)
    with process:
        os.killpg(process.pid, signal.SIGTERM)

        assert process.communicate(timeout=30)[0] == b"stopping\n"
    assert process.returncode == 7


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_to_the_group_ends_an_agent_that_does_not_react(ground, wrap, number):
    code = f"import signal; signal.signal(signal.SIGINT, signal.SIG_DFL); {IDLE}"
    process, pid = started(ground, wrap, code)
    with process:
        assert b"DIBS_AGENT=mine" in environment_of(pid)
        os.killpg(process.pid, number)
        process.communicate(timeout=30)  # ends with the last process

    assert process.returncode in {-number, 128 + number}


@pytest.mark.skipif("bubblewrap" not in USABLE, reason="needs bubblewrap")
def test_an_agent_dies_with_its_runner(ground):
    command = in_bubblewrap([sys.executable, "-u", "-c", IDLE], ground.policy())
    code = f"import subprocess; subprocess.run({command!r})"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as runner:
        assert runner.stdout.readline()
        runner.kill()

        assert runner.communicate(timeout=30)[0] == b""  # ends with the agent


def test_pipes_and_statuses_are_as_without_a_sandbox(ground, wrap):
    for argv, status in (
        (["sh", "-c", "exit 5"], 5),
        (["bash", "-c", "yes | head -1; exit ${PIPESTATUS[0]}"], 128 + signal.SIGPIPE),
        (["/no/such-program"], 127),
        ([str(ground.mine / "a.txt")], 126),
    ):
        assert ground.run(wrap(argv, ground.policy())).returncode == status, argv


@pytest.mark.skipif(landlock.abi_version() < landlock.SCOPE_ABI, reason="needs Landlock 6")
def test_an_agent_cannot_signal_processes_outside(ground, wrap, outside):
    done = ground.run(wrap(["kill", "-9", str(outside)], ground.policy()))

    assert "not permitted" in done.stderr


# -- what is refused


def test_a_sandbox_needs_a_worktree(ground):
    for writable in ((), (str(ground.root),), (str(ground.root / "src"),), (str(ground.home),)):
        with pytest.raises(Misconfigured, match="a sandbox needs a worktree") as caught:
            check_policy(ground.policy()._replace(writable=writable))
        assert caught.value.code == "SANDBOX"


def test_a_worktree_must_be_its_own(ground):
    (ground.mine / ".git").write_text(f"gitdir: {ground.git_dir}/worktrees/other\n")

    with pytest.raises(Misconfigured, match="a sandbox needs a worktree"):
        check_policy(ground.policy())


def test_nothing_writable_contains_the_repository(ground):
    with pytest.raises(Misconfigured, match="it contains the repository"):
        check_policy(ground.policy(ground.home))


def test_the_home_folder_is_not_in_the_repository(ground):
    with pytest.raises(Misconfigured, match="is in the repository"):
        check_policy(ground.policy()._replace(home=str(ground.root)))


@pytest.fixture
def nothing_installed(monkeypatch, tmp_path):
    """A PATH without bubblewrap; what is known about it is forgotten before and after."""
    known = (sandbox._program, sandbox.bubblewrap)
    monkeypatch.setenv("PATH", str(tmp_path))
    for one in known:
        one.cache_clear()
    yield monkeypatch
    monkeypatch.undo()
    for one in known:
        one.cache_clear()


def test_landlock_is_used_without_bubblewrap(ground, nothing_installed):
    if "Landlock" in USABLE:
        used, forced = confine(["true"], ground.policy()), in_landlock(["true"], ground.policy())
        assert used[:6] == forced[:6]  # the list of folders contains /tmp, which others change
        assert used[-1] == "true"


def test_without_either_the_error_says_what_to_install(ground, nothing_installed):
    nothing_installed.setattr(landlock, "LEAST_ABI", 1_000)

    with pytest.raises(Misconfigured, match="no program bwrap is on the PATH") as caught:
        confine(["true"], ground.policy())
    assert "apt-get install bubblewrap" in caught.value.hint


def test_a_bubblewrap_without_user_namespaces_is_not_used(ground, nothing_installed, tmp_path):
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    nothing_installed.setattr(landlock, "LEAST_ABI", 1_000)

    with pytest.raises(Misconfigured, match="cannot create a user namespace"):
        confine(["true"], ground.policy())
