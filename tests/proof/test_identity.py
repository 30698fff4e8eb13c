"""An agent cannot act as another agent or as a human: the matrix of command, caller, and target."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import shlex
import subprocess
import sys
import termios
import time
from itertools import product
from pathlib import Path
from shutil import which
from typing import TextIO

import pytest
from tests.proof.proof_identity import (
    ACCEPTED,
    AS_AGENT,
    CALLERS,
    ESCAPES,
    FOR_HUMANS,
    NOT_YOU,
    OTHER_TARGETS,
    SPEAKING,
    YES,
    human_table,
    table,
    target_table,
)
from tests.soak import SOAK, effort

from dibs import Dibs
from dibs.core.claims.agents import Agent
from dibs.core.claims.commands import FOR_AGENTS, HUMAN_ONLY, human_only
from dibs.errors import BadInput
from dibs.local.identity import MARKERS
from dibs.local.repository import find
from dibs.local.server_files import note_guarded, server_folder
from dibs.project.project import create
from dibs.server.security.identity import TokenScope
from dibs.server.security.tokens import TokenStore
from dibs.services.state.ledger import Query

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")

DOCS = Path(__file__).parents[2] / "docs" / "explanation" / "identity.md"
PROGRAM = str(Path(__file__).parent / "proof_session.py")
PATIENCE = 60.0
PAT = "pat-terminal"


def plain(**more: str) -> dict[str, str]:
    """Return an environment without the names and markers of the process that runs the tests."""
    kept = {
        k: v for k, v in os.environ.items() if k not in MARKERS and k[:5] not in {"DIBS_", "GIT_D"}
    }
    return {**kept, **more}


class Actor:
    """A process whose children run commands and hooks; ``proof_session.py`` says how."""

    def __init__(self, root: Path, *, terminal: bool = False, **more: str) -> None:
        self.root, self._made = str(root), None
        words = [sys.executable, PROGRAM]
        if terminal:
            self._read, self._write = _in_terminal(words, plain(**more))
        else:
            made = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=plain(**more)
            )
            self._read, self._write, self._made = made.stdout, made.stdin, made
        self.ask("sh", "true", self.root)  # it has started

    def ask(self, *line: object) -> tuple[int, str]:
        self._write.write(f"{json.dumps(line)}\n")
        self._write.flush()
        return tuple(json.loads(self._read.readline()))

    def dibs(self, *words: str) -> str:
        """Run a command; return the code of its error, or nothing."""
        return code_of(*self.ask("dibs", with_json(words), self.root))

    def sh(self, command: str) -> tuple[int, str]:
        return self.ask("sh", command, self.root)

    def hook(self, session: str, event: str, **more: object) -> str:
        payload = {"session_id": session, "cwd": self.root, "hook_event_name": event, **more}
        return self.ask("hook", payload)[1]

    def close(self) -> None:
        self._write.close()
        self._read.close()
        if self._made is not None:
            self._made.wait(PATIENCE)


def with_json(words: tuple[str, ...]) -> list[str]:
    """Return a command line that prints its error as JSON."""
    place = words.index("--") if "--" in words else len(words)
    return [*words[:place], "--json", *words[place:]]


def code_of(status: int, said: str) -> str:
    for line in said.splitlines():
        error = json.loads(line).get("error") if line.startswith("{") else None
        if error:
            return error["code"] if isinstance(error, dict) else error
    return "" if status in {0, 4, 6} else f"status {status}: {said[-300:]}"


def _in_terminal(words: list[str], environ: dict[str, str]) -> tuple[TextIO, TextIO]:
    """Start a program in a terminal of its own, below no process of the tests."""
    (into, write), (read, out), (_, slave) = os.pipe(), os.pipe(), pty.openpty()
    child = os.fork()
    if child == 0:
        if os.fork():
            os._exit(0)
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        os.dup2(into, 0)
        os.dup2(out, 1)
        os.execve(words[0], words, environ)
    for handle in (into, out, slave):
        os.close(handle)
    os.waitpid(child, 0)
    return os.fdopen(read), os.fdopen(write, "w")


class World:
    """A project with two guarded sessions, a subagent, and people who were there before them."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "repo"
        subprocess.run(["git", "init", "-q", self.root], check=True)
        for key in ("user.name", "user.email"):
            subprocess.run(["git", "-C", self.root, "config", key, "t@example.com"], check=True)
        self.project, _ = create(str(self.root))
        self.person = Actor(self.root, terminal=True, USER="pat")
        self.script = Actor(self.root, USER="pat")
        self.person.dibs("agent", "join", "--agent", "heir")
        self.alice = self.agent("alice", "11111111-a")
        self.bob = self.agent("bob", "22222222-b")
        self.bob.hook("22222222-b", "SubagentStart", agent_id="kid", agent_type="tester")
        self.kid = next(s.agent.id for s in self.project.agents.all() if s.agent.parent == "bob")
        self.edit(self.alice, "11111111-a", "a.py")
        self.token, _ = TokenStore(server_folder()).new(TokenScope.HUMAN)

    def agent(self, name: str, session: str) -> Actor:
        made = Actor(self.root, DIBS_AGENT=name)
        made.hook(session, "SessionStart", source="startup")
        return made

    def edit(self, agent: Actor, session: str, path: str, **more: str) -> str:
        tool = {
            "tool_name": "Write",
            "tool_input": {"file_path": f"{self.root}/{path}", "content": "x"},
        }
        return agent.hook(session, "PreToolUse", **tool, **more)

    def holder(self, path: str) -> list[str]:
        return [
            held.claim.agent for held in self.project.claims.all()[0] if held.claim.pattern == path
        ]

    def close(self) -> None:
        for actor in (self.person, self.script, self.alice, self.bob):
            actor.close()
        self.project.close()


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    made = World(tmp_path_factory.mktemp("identity"))
    yield made
    made.close()


# -- commands under an agent's name


def call_as(world: World, who: str, words: tuple[str, ...], target: str = "alice") -> str:
    if who == "itself":
        return world.alice.dibs(*words)
    if who == "shell":
        env = plain(DIBS_AGENT=target)
        done = subprocess.run(
            [sys.executable, "-m", "dibs", *with_json(words)], cwd=world.root, env=env,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        return code_of(done.returncode, done.stdout + done.stderr)
    actors = {
        "above": world.bob,
        "other": world.bob,
        "human": world.person,
        "unproven": world.script,
    }
    place = words.index("--") if "--" in words else len(words)
    name = world.kid if who == "above" else target
    return actors[who].dibs(*words[:place], "--agent", name, *words[place:])


#: Every command by another agent, and one command of each row of the matrix by every caller.
ROWS = {answers: name for name, (_, answers) in AS_AGENT.items()}
CELLS = effort(
    [("other", name) for name in AS_AGENT] + list(product(CALLERS, ROWS.values())),
    list(product(CALLERS, AS_AGENT)),
)


@pytest.mark.parametrize(("who", "name"), sorted({*CELLS}))
def test_a_name_works_only_for_its_process_tree_and_where_the_matrix_says_so(world, who, name):
    words, answers = AS_AGENT[name]
    expected = dict(zip(CALLERS, answers, strict=True))[who]
    path = "a.py"
    if expected == YES:
        path = f"{name.replace(' ', '-')}-{who}.py"  # of its own: another test may transfer a file
        session, more = (
            ("22222222-b", {"agent_id": "kid"}) if who == "above" else ("11111111-a", {})
        )
        owner = world.bob if who == "above" else world.alice
        world.edit(owner, session, path, **more)

    code = call_as(world, who, tuple(word.format(path=path) for word in words))

    if expected == NOT_YOU:
        assert code == "NOT_YOU"
        assert world.holder("a.py") in (["alice"], ["heir"], [])
    else:
        assert code in ACCEPTED


@pytest.mark.parametrize("what", OTHER_TARGETS)
@pytest.mark.parametrize("name", effort(list(ROWS.values()), list(AS_AGENT)))
def test_a_shell_may_use_the_name_of_an_agent_without_hooks_but_not_of_a_human(world, what, name):
    target, answers = OTHER_TARGETS[what]
    words = tuple(word.format(path=f"{target}-{name}.py") for word in AS_AGENT[name][0])
    assert (
        world.person.dibs("agent", "join", *(["--agent", target] if what != "a human" else []))
        == ""
    )

    for who, expected in answers.items():
        code = call_as(world, who, words, target)
        assert code in (ACCEPTED if expected == YES else {expected.strip("`")}), who


def test_the_matrix_has_every_command_in_which_a_human_may_name_a_running_agent():
    assert set(AS_AGENT) >= FOR_AGENTS - {"agent stop"}  # its test stops an agent


def test_an_agent_stops_only_itself_and_the_agents_below_it(world):
    assert world.bob.dibs("agent", "stop", "alice") == "NOT_YOU"
    assert world.script.dibs("agent", "stop", "alice", "--agent", "bob") == "NOT_YOU"
    assert world.bob.dibs("agent", "stop", "alice", "--agent", world.kid) == "NOT_YOU"


def test_an_agent_cannot_become_anothers_parent(world):
    for words in (
        ("agent", "join", "--agent", "alice", "--parent", "bob"),
        ("agent", "join", "--parent", "alice"),
        ("agent", "join", "--agent", "stranger", "--parent", "bob"),
    ):
        assert world.bob.dibs(*words) == "NOT_YOU"
    assert world.project.agents.show("alice")[0].agent.parent == ""


# -- commands for humans


def test_the_matrix_has_every_command_for_humans():
    found = [f"{human_only(words)} " for words in FOR_HUMANS.values()]

    assert {name for name in HUMAN_ONLY if any(one.startswith(f"{name} ") for one in found)} == set(
        HUMAN_ONLY
    )


def run_all(world: World, escape: str, jobs: list[tuple[str, ...]], name: str) -> list[str]:
    """Let bob run commands after an escape from its process tree; return their codes."""
    folder = world.root.parent / name
    folder.mkdir()
    lines = [json.dumps(["dibs", with_json(words), str(world.root)]) for words in jobs]
    (folder / "jobs").write_text("\n".join(lines) + "\n")
    run = f"{sys.executable} {PROGRAM} < {folder}/jobs > {folder}/out 2> {folder}/err"
    script = f"unset DIBS_AGENT\n{run}\nmv {folder}/out {folder}/done\n"
    (folder / "run").write_text(script)
    world.bob.sh(escape.format(run=f"sh {folder}/run", name=f"dibs-{os.getpid()}"))
    until = time.monotonic() + PATIENCE
    while not (folder / "done").exists() and time.monotonic() < until:
        os.sched_yield()
    answers = [json.loads(line) for line in (folder / "done").read_text().splitlines()]
    assert len(answers) == len(jobs), (folder / "err").read_text()
    return [code_of(*answer) for answer in answers]


def works(escape: str) -> bool:
    """Return whether this machine has the programs for an escape, and allows it."""
    if "unshare" in escape:
        done = subprocess.run(
            ["unshare", "-Urpf", "--mount-proc", "true"], check=False, capture_output=True
        )
        return done.returncode == 0
    return all(which(program) for program in ("script", "tmux") if program in escape)


@pytest.mark.parametrize("way", ESCAPES)
def test_no_escape_makes_an_agent_human(world, way):
    if not works(ESCAPES[way]):
        pytest.skip("this machine does not allow it")
    stays = way in {"in its own shell", "`env -u DIBS_AGENT`", "`script`"}
    speaking = [words for words in SPEAKING.values() if "{decision}" not in words]
    commands = list(FOR_HUMANS.values())
    first = SOAK or way == next(iter(ESCAPES))
    jobs = [*(commands if first else commands[:1]), *(() if stays else speaking[:1])]

    codes = run_all(world, ESCAPES[way], jobs, f"escape-{list(ESCAPES).index(way)}")

    assert dict(zip(map(" ".join, jobs), codes, strict=True)) == dict.fromkeys(
        map(" ".join, jobs), "HUMANS_ONLY"
    )
    assert not [one for one in world.project.agents.all() if one.agent.status == "terminated"]


def test_a_terminal_that_an_agent_opened_is_not_the_humans(world):
    assert world.person.dibs("claim", "mine.py", "yours.py", "--new") == ""
    jobs = [
        ("release", "mine.py"), ("transfer", "yours.py", "--to", "bob"), ("agent", "leave"),
        ("agent", "stop", PAT),
    ]  # fmt: skip

    codes = run_all(world, "USER=pat setsid -f script -qc '{run}' /dev/null", jobs, "opened")

    assert codes == ["FENCED", "FENCED", "NO_AGENT", "NOT_YOU"]
    assert (world.holder("mine.py"), world.holder("yours.py")) == ([PAT], [PAT])
    assert world.person.dibs("release", "mine.py", "yours.py") == ""


@pytest.mark.parametrize("way", list(ESCAPES)[-2:])
def test_a_session_keeps_its_name_where_processes_are_hidden(world, way):
    if not works(ESCAPES[way]):
        pytest.skip("this machine does not allow it")
    jobs = [
        ("release", "a.py", "--agent", "alice"),
        ("claim", "hidden.py", "--new", "--agent", "h"),
    ]

    assert run_all(world, ESCAPES[way], jobs, f"hidden-{len(way)}") == ["NOT_YOU", ""]


def test_an_agent_stays_itself_in_a_pid_namespace_with_the_proc_around_it(world):
    way = "unshare -Urpf {run}"
    if not works(way):
        pytest.skip("this machine does not allow it")
    jobs = [
        ("revoke", "a.py", "--reason", "mine"),
        ("release", "a.py", "--agent", "alice"),
        ("claim", "k.py", "--new"),
    ]

    assert run_all(world, way, jobs, "outer") == ["HUMANS_ONLY", "NOT_YOU", ""]
    assert world.holder("k.py") == ["bob"]


def test_a_person_without_a_terminal_is_not_proven_while_a_session_runs(world):
    for words in (*FOR_HUMANS.values(), SPEAKING["say"], SPEAKING["decide new"]):
        assert world.script.dibs(*words) == "HUMANS_ONLY", words


def test_a_person_in_a_terminal_is_a_human(world):
    for words in (
        FOR_HUMANS["revoke"],
        SPEAKING["say"],
        SPEAKING["decide new"],
        ("agent", "ls"),
    ):
        assert world.person.dibs(*words) != "HUMANS_ONLY", words


def test_a_humans_token_proves_a_human_unless_an_agent_was_started_with_it(world, tmp_path):
    env = plain(DIBS_TOKEN=world.token, USER="pat")
    run = [sys.executable, "-m", "dibs", "say", "alice", "hello", "--json"]

    def said(environ):
        done = subprocess.run(
            run, cwd=world.root, env=environ, capture_output=True, text=True, check=False
        )
        return code_of(done.returncode, done.stdout + done.stderr)

    assert said(env) == ""
    assert said({**env, "DIBS_TOKEN": world.token[::-1]}) == "HUMANS_ONLY"
    thief = Actor(world.root, DIBS_AGENT="thief", DIBS_TOKEN=world.token)
    thief.hook("33333333-c", "SessionStart", source="startup")
    assert said(env) == "HUMANS_ONLY"
    assert thief.dibs("revoke", "a.py", "--reason", "mine") == "HUMANS_ONLY"
    thief.hook("33333333-c", "SessionEnd", reason="other")
    thief.close()


def detached(world, environ, *words):
    """Run a command that an agent has detached from its process; return its error."""
    line = shlex.join([sys.executable, "-m", "dibs", *with_json(words)])
    said = world.root.parent / "said"
    said.unlink(missing_ok=True)
    settings = shlex.join(f"{name}={value}" for name, value in environ.items())
    command = f"{line} > {said}.part 2>&1 < /dev/null; mv {said}.part {said}"
    world.alice.sh(f"(cd / && setsid env -i {settings} sh -c {shlex.quote(command)} &)")
    ends = time.monotonic() + PATIENCE
    while not said.exists() and time.monotonic() < ends:
        time.sleep(0.02)
    return said.read_text()


@pytest.mark.parametrize("way", ["sh", "detached"])
def test_an_agent_cannot_make_a_humans_token_outside_of_its_project(world, way):
    note_guarded(find(str(world.root)).state)  # as its first hook did
    line = shlex.join([sys.executable, "-m", "dibs", "token", "new", "--scope", "human", "--json"])
    env = plain(USER="pat")

    if way == "sh":
        said = world.alice.sh(f"cd / && {line}")[1]
    else:
        said = detached(world, env, "token", "new", "--scope", "human")

    assert code_of(77, said) in {"HUMANS_ONLY", "NOT_YOU"}


def test_an_agent_is_not_a_human_in_another_project_and_selects_no_store_there(world, tmp_path):
    note_guarded(find(str(world.root)).state)
    other = tmp_path / "other"
    subprocess.run(["git", "init", "-q", other], check=True)
    store = f"sqlite://{find(str(world.root)).state}/dibs.db"
    dibs = f"cd {other} && env -u DIBS_AGENT {sys.executable} -m dibs"

    for line in (f"{dibs} revoke a.py --reason mine --json", f"{dibs} init --uninstall --json"):
        assert code_of(77, world.bob.sh(line)[1]) == "HUMANS_ONLY"
    engine = f"DIBS_ENGINE={store} {sys.executable} -m dibs claim a.py --json"
    said = json.loads(world.bob.sh(f"cd {other} && {engine}")[1])
    assert said["outcome"] == "granted", "it is another project's a.py"


def test_the_name_that_a_session_was_started_with_need_not_be_an_agent_id(world):
    eve = Actor(world.root, DIBS_AGENT="Code Reviewer")
    eve.hook("88888888-h", "SessionStart", source="startup")

    said = json.loads(eve.ask("dibs", ["claim", "review.md", "--json"], eve.root)[1])

    assert said["outcome"] == "granted"
    assert world.holder("review.md") == ["Code-Reviewer"]
    eve.close()


def test_a_token_in_an_agents_own_home_folder_proves_nothing(world, tmp_path):
    made = {**plain(USER="pat"), "HOME": str(tmp_path)}
    made.pop("XDG_STATE_HOME", None)
    token, _ = TokenStore(server_folder(made)).new(TokenScope.HUMAN)

    said = detached(
        world, {**made, "DIBS_TOKEN": token}, "say", "alice", "hello", "--repo", str(world.root)
    )

    assert code_of(77, said) == "HUMANS_ONLY"


# -- events


@pytest.mark.parametrize(
    "event", ["PreToolUse", "PostToolUse", "UserPromptSubmit", "Stop", "SessionEnd"]
)
def test_an_event_with_another_processs_session_is_refused_and_changes_nothing(world, event):
    world.edit(world.alice, "11111111-a", "a.py")
    before = [(s.agent, s.claims) for s in world.project.agents.all()]
    tool = {
        "tool_name": "Write",
        "tool_input": {"file_path": f"{world.root}/stolen.py", "content": "x"},
    }

    said = world.bob.hook("11111111-a", event, **tool)

    assert "NOT_YOU" in said
    assert ('"deny"' in said) == (event == "PreToolUse")
    assert [(s.agent, s.claims) for s in world.project.agents.all()] == before
    assert world.bob.dibs("whoami") == ""
    assert (
        json.loads(world.bob.ask("dibs", ["whoami", "--json"], world.bob.root)[1])["agent"] == "bob"
    )


def test_an_editors_event_for_another_agents_session_is_refused(world):
    tool = {"tool_name": "Write", "tool_input": {"file_path": f"{world.root}/stolen.py"}}
    given = {
        "conversation_id": "cccc-1",
        "cursor_version": "1.0",
        "workspace_roots": [str(world.root)],
        "cwd": str(world.root),
    }
    cursor = Actor(world.root)
    cursor.ask("hook", {**given, "hook_event_name": "sessionStart"}, "cursor")

    event = {**given, "hook_event_name": "preToolUse", **tool}
    said = world.bob.ask("hook", event, "cursor")[1]

    assert "NOT_YOU" in said
    assert world.holder("stolen.py") == []
    cursor.ask("hook", event, "cursor")
    assert world.holder("stolen.py") != []
    cursor.close()


def test_a_detached_process_cannot_send_a_sessions_events(world):
    world.edit(world.alice, "11111111-a", "detached.py")  # another test may have ended her session
    payload = {"session_id": "11111111-a", "cwd": world.bob.root, "hook_event_name": "SessionEnd"}
    (world.root.parent / "event").write_text(json.dumps(payload))
    done = world.root.parent / "sent"
    run = f"{sys.executable} -m dibs hook claude < {world.root.parent}/event > {done}.out 2>&1"
    run = f"{run}; mv {done}.out {done}"
    world.bob.sh(f"setsid -f sh -c {shlex.quote(run)}")
    until = time.monotonic() + PATIENCE
    while not done.exists() and time.monotonic() < until:
        os.sched_yield()

    assert "NOT_YOU" in done.read_text()
    assert world.project.agents.show("alice")[0].agent.status == "running"


def test_an_agent_that_ends_its_own_session_is_still_an_agent(world):
    eve = Actor(world.root)
    eve.hook("77777777-g", "SessionStart", source="startup")
    payload = {"session_id": "77777777-g", "cwd": eve.root, "hook_event_name": "SessionEnd"}
    command = f"{sys.executable} -m dibs hook claude <<< {shlex.quote(json.dumps(payload))}"

    assert eve.sh(command)[0] == 0

    assert world.project.agents.show("claude-77777777")[0].agent.status == "exited"
    assert eve.dibs("revoke", "a.py", "--reason", "mine") == "HUMANS_ONLY"
    assert eve.dibs("release", "a.py", "--agent", "alice") == "NOT_YOU"
    whoami = json.loads(eve.ask("dibs", ["whoami", "--json"], eve.root)[1])
    assert whoami["agent"] == "claude-77777777"
    eve.close()


def test_the_name_of_an_ended_session_works_only_in_its_process_tree_until_its_process_exits(world):
    eve, name = Actor(world.root), "claude-12121212"
    eve.hook("12121212-l", "SessionStart", source="startup")
    world.edit(eve, "12121212-l", "left.py")
    (world.root / "left.py").write_text("unfinished")
    eve.hook("12121212-l", "SessionEnd", reason="other")

    assert world.script.dibs("commit", "-m", "mine", "--agent", name) == "NOT_YOU"
    assert world.script.dibs("release", "left.py", "--agent", name) == "NOT_YOU"
    assert world.holder("left.py") == [name]
    assert world.person.dibs("release", "left.py", "--agent", name) == ""
    eve.close()


def test_a_session_that_runs_on_in_a_second_terminal_is_another_agent(world):
    other = Actor(world.root, DIBS_AGENT="alice")
    other.hook("11111111-a", "SessionStart", source="resume")

    assert json.loads(other.ask("dibs", ["whoami", "--json"], other.root)[1])["agent"] == "alice-2"
    other.hook("11111111-a", "SessionEnd", reason="other")
    other.close()


# -- parents and stops


def nested(world: World, *lines: object) -> list[tuple[int, str]]:
    """Run lines in an agent that bob starts in its shell."""
    text = "\n".join(map(json.dumps, lines))
    _, said = world.bob.sh(f"{sys.executable} {PROGRAM} <<'EOF'\n{text}\nEOF")
    return [json.loads(line) for line in said.splitlines()]


def event(world: World, session: str, name: str, **more: str) -> list[object]:
    return [
        "hook",
        {"session_id": session, "cwd": str(world.root), "hook_event_name": name, **more},
    ]


def test_the_parent_of_a_session_is_the_agent_whose_process_started_it(world):
    nested(world, event(world, "44444444-d", "SessionStart", source="startup"))

    child = world.project.agents.show("bob-2")[0].agent
    assert child.parent == "bob"


def test_an_agent_cannot_claim_the_process_above_it_as_its_own(world):
    bob = world.project.agents.show("bob")[0].agent.pid
    start, end = (
        {"session_id": session, "cwd": str(world.root), "hook_event_name": name}
        for session, name in (("88888888-h", "SessionStart"), ("22222222-b", "SessionEnd"))
    )
    hook = f"CLAUDE_PID=%d {sys.executable} -m dibs hook claude <<< %s"

    *_, (_, who) = nested(
        world, ["hook", start], ["sh", hook % (bob, shlex.quote(json.dumps(end))), str(world.root)],
        ["dibs", ["whoami", "--json"], str(world.root)],
    )  # fmt: skip

    assert json.loads(who)["agent"].startswith("bob-")
    assert world.project.agents.show("bob")[0].agent.status == "running"
    eve = world.agent("eve", "99999999-i")
    eve.sh(hook % (os.getpid(), shlex.quote(json.dumps(start))))
    eve.close()
    records = os.path.join(world.project.place.repository.state, "sessions")
    assert str(os.getpid()) not in os.listdir(records)  # the tests did not become an agent


def test_only_a_human_lets_a_stopped_agent_back_in(world):
    eve, name = Actor(world.root), "claude-55555555"  # a new session gets another name
    eve.hook("55555555-e", "SessionStart", source="startup")

    assert world.person.dibs("agent", "stop", name, "--agent", "alice", "--reason", "loops") == ""

    assert "pat-terminal" in world.project.agents.show(name)[0].agent.ended
    (entry,) = world.project.ledger.newest(Query(kinds=frozenset({"agent_terminated"})), 1)
    assert (entry.agent, entry.role) == ("pat-terminal", "human")
    assert eve.dibs("claim", "e.py", "--new") == "AGENT_STOPPED"
    assert eve.dibs("agent", "join") == "AGENT_STOPPED"
    assert eve.dibs("agent", "join", "--agent", "eve") == "NOT_YOU"
    eve.hook("55555555-e", "SessionEnd", reason="clear")
    eve.hook("66666666-f", "SessionStart", source="clear")
    assert '"deny"' in world.edit(eve, "66666666-f", "e.py")
    assert eve.dibs("claim", "e.py", "--new") == "AGENT_STOPPED"
    assert world.bob.dibs("agent", "join", "--agent", name) == "NOT_YOU"
    assert world.person.dibs("agent", "join", "--agent", name) == ""
    assert eve.dibs("claim", "e.py", "--new") == ""
    eve.close()


@pytest.mark.parametrize(
    "name",
    [
        "Dibs",
        "SYSTEM",
        "admin",
        "human",
        "root",
        "Human-2",
        "Admin",
        "everyone",
        "dibs.",
        "Admin_",
        "sam-terminal",
        "Sam.Terminal",
    ],
)
def test_a_reserved_name_is_refused_in_every_surface(world, name):
    assert world.script.dibs("claim", "r.py", "--new", "--agent", name) == "AGENT_ID"
    assert world.script.dibs("agent", "join", "--agent", name) == "AGENT_ID"
    with pytest.raises(BadInput, match="reserved"):
        Dibs.open(world.root, agent=name, environ=plain())
    with pytest.raises(BadInput, match="reserved"):
        world.project.agents.join(Agent(name))


def test_the_python_api_and_mcp_use_only_names_of_their_process_tree(world):
    code = (
        "import sys; from dibs import Dibs, DibsError\n"
        "for agent in sys.argv[1:]:\n"
        "    try:\n"
        "        print(Dibs.open(agent=agent or None).caller.id)\n"
        "    except DibsError as error:\n"
        "        print(error.code)\n"
    )
    (world.root.parent / "names.py").write_text(code)
    run = f"{sys.executable} {world.root.parent}/names.py '' bob alice stranger {world.kid}"

    assert world.bob.sh(run)[1].split() == ["bob", "bob", "NOT_YOU", "NOT_YOU", world.kid]
    assert world.bob.sh(f"DIBS_AGENT=alice {run}")[1].split()[0] == "NOT_YOU"


# -- the documentation


@pytest.mark.parametrize(
    ("mark", "made"),
    [
        ("identity matrix", table),
        ("target matrix", target_table),
        ("human matrix", human_table),
    ],
)
def test_the_documentation_has_the_matrix(mark, made):
    text = DOCS.read_text(encoding="utf-8")
    begin, end = f"<!-- {mark}: begin -->", f"<!-- {mark}: end -->"

    assert text[text.index(begin) + len(begin) : text.index(end)].strip() == made()


@pytest.mark.parametrize(
    ("command", "denied"),
    [
        ("dibs release --all --agent alice", True),
        ("DIBS_AGENT=alice dibs release --all", True),
        ("setsid -f dibs revoke a.py --reason mine", True),
        ("tmux send-keys 'dibs revoke a.py' Enter", True),
        ("dibs status && dibs ask a.py", False),
        ("grep -rn 'dibs revoke' .", False),
        ("dibs release --agent bob.kid", False),
    ],
)
def test_a_call_that_runs_dibs_as_someone_else_is_denied_before_it_runs(world, command, denied):
    tool = {"tool_name": "Bash", "tool_input": {"command": command}}

    said = world.bob.hook("22222222-b", "PreToolUse", **tool)

    assert ('"deny"' in said) == denied, said
