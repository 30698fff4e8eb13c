"""Commands of the CLI on another machine: they run on the server, as the identity of the token."""

import http.client
import json
import os
import pty
import signal
import subprocess
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
import uvicorn
from starlette.applications import Starlette
from tests.server.conftest import PATIENCE, PROGRAM, free_port, own_environment, run_dibs, until

from dibs.core.claims.agents import Caller
from dibs.server.commands import command_routes
from dibs.server.security.identity import IDENTITY, RequestIdentity, TokenScope
from dibs.server.security.refusals import RequestRefused, answer


class Remote:
    """A server that takes every request as one identity, and a folder elsewhere."""

    def __init__(self, resident, elsewhere):
        self.resident, self.elsewhere = resident, elsewhere
        self.repo = Path(resident.repo)
        self.port = free_port()
        self.identity = RequestIdentity(Caller("alice", "agent", "there"), TokenScope.AGENT)
        app = Starlette(routes=command_routes(resident))

        async def front(scope, receive, send):
            if scope["type"] == "http":
                scope[IDENTITY] = self.identity
            await app(scope, receive, send)

        config = uvicorn.Config(
            front,
            host="127.0.0.1",
            port=self.port,
            lifespan="off",
            log_level="error",
            timeout_graceful_shutdown=1,
        )
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, daemon=True)
        self.thread.start()
        until(lambda: self.server.started)
        self.environ = own_environment(elsewhere, DIBS_SERVER=f"http://127.0.0.1:{self.port}")

    def act_as(self, name, scope):
        role = "human" if scope >= TokenScope.HUMAN else "agent"
        self.identity = RequestIdentity(Caller(name, role, "there"), scope)

    def dibs(self, *words, folder=None, stdin=""):
        return subprocess.run(
            [*PROGRAM, *words], cwd=folder or self.elsewhere, env=self.environ, input=stdin,
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip

    def here(self, *words):
        environ = {k: v for k, v in self.environ.items() if k != "DIBS_SERVER"}
        return run_dibs(self.repo, environ, *words)


@pytest.fixture
def remote(resident, short_tmp):
    found = Remote(resident, short_tmp())
    yield found
    found.server.should_exit = True
    found.thread.join(PATIENCE)


def held(remote):
    shown = json.loads(remote.here("status", "--json").stdout)
    return {claim["pattern"]: claim["agent"] for claim in shown["claims"]}


def test_a_command_runs_on_the_server_as_the_owner_of_the_token(remote):
    done = remote.dibs("claim", "src/a.py", "--reason", "login")

    assert done.returncode == 0, done.stderr
    assert "granted src/a.py" in done.stdout
    assert held(remote) == {"src/a.py": "alice"}


def test_a_denial_and_an_error_keep_their_exit_status_and_their_stream(remote):
    remote.here("claim", "a.py", "--agent", "bob")

    denied = remote.dibs("claim", "a.py", "--json")
    wrong = remote.dibs("claim", "../x")

    assert (denied.returncode, json.loads(denied.stdout)["outcome"]) == (3, "denied")
    assert (wrong.returncode, wrong.stdout) == (65, "")
    assert "outside" in wrong.stderr


def test_an_agents_token_works_for_no_other_name(remote):
    remote.here("claim", "a.py", "--agent", "bob")

    other = remote.dibs("release", "a.py", "--agent", "bob")
    variable = subprocess.run(
        [*PROGRAM, "release", "a.py"], cwd=remote.elsewhere, env={**remote.environ, "DIBS_AGENT": "bob"},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert (other.returncode, other.stderr.count("\n")) == (77, 1)
    assert variable.returncode != 0
    assert held(remote) == {"a.py": "bob"}


def test_an_agents_token_does_not_stop_another_agent(remote):
    remote.here("agent", "join", "--agent", "bob")

    answer = remote.dibs("agent", "stop", "bob", "--json")

    assert json.loads(answer.stdout)["error"]["code"] == "NOT_YOU"
    remote.act_as("hana", TokenScope.HUMAN)
    assert remote.dibs("agent", "stop", "bob").stdout == "stopped bob\n"


def test_whoami_names_the_owner_of_the_token(remote):
    shown = remote.dibs("whoami").stdout

    assert shown.startswith("alice, an agent\n  because of the token for the server\n")


def test_a_human_may_name_an_agent_and_revoke(remote):
    remote.act_as("anna", TokenScope.HUMAN)

    remote.dibs("claim", "a.py", "--agent", "carol")
    assert held(remote) == {"a.py": "carol"}
    done = remote.dibs("revoke", "a.py", "--reason", "stuck")

    assert done.returncode == 0, done.stderr
    assert held(remote) == {}


@pytest.mark.parametrize(
    ("words", "scope"),
    [
        ("claim a.py", TokenScope.READ),
        ("revoke a.py --reason x", TokenScope.AGENT),
        ("engine use", TokenScope.HUMAN),
        ("git uninstall", TokenScope.HUMAN),
        ("status --repo /", TokenScope.ADMIN),
    ],
)
def test_a_command_beyond_the_scope_is_refused_and_changes_nothing(remote, words, scope):
    remote.here("claim", "a.py", "--agent", "bob")
    remote.act_as("eve", scope)

    done = remote.dibs(*words.split())

    assert done.returncode in {65, 77}, done.stderr
    assert done.stderr.count("\n") == 1
    assert held(remote) == {"a.py": "bob"}


@pytest.mark.parametrize("name", ["init", "hook", "mcp", "serve", "completion"])
def test_the_server_does_not_run_a_command_of_the_other_machine(remote, name):
    reply = _post(remote, {"argv": [name]})

    assert reply[-1]["status"] == 77
    assert "only on the machine" in "".join(part.get("err", "") for part in reply)


def _post(remote, body):
    link = http.client.HTTPConnection("127.0.0.1", remote.port, timeout=PATIENCE)
    with closing(link):
        kind = {"Content-Type": "application/json"}
        link.request("POST", "/api/v1/commands", json.dumps(body), kind)
        return [json.loads(line) for line in link.getresponse().read().splitlines()]


@pytest.mark.parametrize("folder", ["..", "/etc", "no/such", "a\0b"])
def test_a_folder_outside_of_the_repository_is_refused(remote, folder):
    (only,) = _post(remote, {"argv": ["status"], "folder": folder})

    assert only["error"]["code"] == "NO_FOLDER"


def test_an_agent_cannot_read_a_file_of_the_server_that_is_outside_of_the_repository(
    remote, tmp_path
):
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret")
    remote.here("claim", "a.py", "--agent", "alice")
    (remote.repo / "a.py").write_text("x")

    reply = _post(remote, {"argv": ["commit", "-F", str(secret)]})

    assert reply[-1]["status"] == 77
    log = subprocess.run(
        ["git", "log", "--format=%B"], cwd=remote.repo, capture_output=True, text=True, check=True
    )
    assert "the secret" not in log.stdout


def test_a_file_of_the_other_machine_is_sent_along(remote):
    (remote.elsewhere / "message.txt").write_text("add a\n")
    remote.here("claim", "a.py", "--agent", "alice")
    (remote.repo / "a.py").write_text("x")

    done = remote.dibs("commit", "-F", "message.txt")

    assert done.returncode == 0, done.stderr
    log = subprocess.run(
        ["git", "log", "-1", "--format=%s"],
        cwd=remote.repo,
        capture_output=True,
        text=True,
        check=True,
    )
    assert log.stdout == "add a\n"


def test_standard_input_is_sent_along(remote):
    remote.here("agent", "join", "--agent", "bob")

    assert remote.dibs("say", "bob", "-", stdin="hello there").returncode == 0
    assert "hello there" in remote.here("inbox", "--agent", "bob").stdout


def test_the_current_folder_of_a_clone_counts(remote):
    (remote.repo / "src").mkdir()
    clone = remote.elsewhere / "clone"
    subprocess.run(["git", "clone", "-q", remote.repo, clone], check=True)
    (clone / "src").mkdir()

    remote.dibs("claim", "new.py", "--new", folder=clone / "src")

    assert held(remote) == {"src/new.py": "alice"}


def test_run_claims_on_the_server_and_runs_the_command_here(remote):
    script = "echo $PWD; dibs_ran=1; exit 5"

    done = remote.dibs("run", "--claim", "src/", "--", "sh", "-c", script)

    assert (done.returncode, done.stdout.strip()) == (5, str(remote.elsewhere))
    kinds = [entry["kind"] for entry in json.loads(remote.here("log", "--json").stdout)]
    assert kinds[-2:] == ["lock_acquired", "lock_released"]


def test_run_stops_the_command_when_its_claim_is_revoked(remote):
    mark = remote.elsewhere / "started"
    running = subprocess.Popen(
        [*PROGRAM, "run", "--claim", "a.py", "--", "sh", "-c", f"touch {mark}; exec sleep 60"],
        cwd=remote.elsewhere, env=remote.environ, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    until(mark.exists)
    started = time.monotonic()

    assert remote.here("revoke", "a.py", "--reason", "needed").returncode == 0

    _, told = running.communicate(timeout=30)
    assert running.returncode == 4
    assert time.monotonic() - started < 10
    assert "needed" in told


def test_an_interrupt_ends_the_command_on_the_server(remote):
    remote.here("claim", "a.py", "--agent", "bob")
    waiting = subprocess.Popen(
        [*PROGRAM, "claim", "a.py", "--wait", "60"], cwd=remote.elsewhere, env=remote.environ,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    queue = lambda: json.loads(remote.here("status", "--json").stdout)["queue"]  # noqa: E731
    until(queue)

    waiting.send_signal(signal.SIGINT)

    waiting.communicate(timeout=30)
    assert waiting.returncode == 130
    assert queue() == []


def test_a_client_that_disappears_leaves_the_queue(remote):
    remote.here("claim", "a.py", "--agent", "bob")
    waiting = subprocess.Popen(
        [*PROGRAM, "claim", "a.py", "--wait", "60"], cwd=remote.elsewhere, env=remote.environ,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    queue = lambda: json.loads(remote.here("status", "--json").stdout)["queue"]  # noqa: E731
    until(queue)

    waiting.kill()
    waiting.communicate(timeout=30)

    until(lambda: queue() == [])


def test_a_terminal_gets_colors_and_its_own_width(remote):
    pid, handle = pty.fork()
    if pid == 0:
        os.chdir(remote.elsewhere)
        os.execve(PROGRAM[0], [*PROGRAM, "claim", "a.py"], {**remote.environ, "TERM": "xterm"})
    shown = b""
    while True:
        try:
            part = os.read(handle, 4096)
        except OSError:
            break
        shown += part
        if not part:
            break
    os.waitpid(pid, 0)

    assert b"\x1b[" in shown
    assert b"granted" in shown


def test_a_server_that_does_not_answer_is_reported_in_one_line(tmp_path):
    environ = own_environment(tmp_path, DIBS_SERVER=f"http://127.0.0.1:{free_port()}")

    done = run_dibs(tmp_path, environ, "status")

    assert (done.returncode, done.stderr.count("\n")) == (69, 1)
    assert "dibs serve" in done.stderr


@pytest.mark.parametrize(
    "url",
    [
        "http://build.example:7341",
        "ftp://x",
        "https://user:pw@host",
        "unix://relative",
        "https://h/path",
        "nonsense",
    ],
)
def test_an_unusable_address_is_refused_before_anything_is_sent(tmp_path, url):
    done = run_dibs(
        tmp_path, own_environment(tmp_path, DIBS_SERVER=url, DIBS_TOKEN="dibs_x"), "status"
    )

    assert (done.returncode, done.stderr.count("\n")) == (78, 1)
    assert "pw" not in done.stderr


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        ("AUTH", "set DIBS_TOKEN or DIBS_TOKEN_FILE; on the server, dibs token new creates one"),
        ("PROJECT_NEEDED", "set DIBS_SERVER_PROJECT"),
        ("HOST", "wait"),
    ],
)
def test_a_refusal_names_the_variables_of_the_client(remote, code, hint):
    async def refuse(scope, _, send):
        await answer(RequestRefused("no", code=code, status=400, hint="wait"), scope, send)

    remote.server.config.loaded_app = refuse

    done = remote.dibs("status")

    assert done.stderr == f"dibs: no ({hint})\n"


def test_a_refused_token_that_may_only_read_gets_the_command_for_an_agents_token(remote):
    remote.act_as("reader", TokenScope.READ)

    done = remote.dibs("claim", "a.py")

    assert done.returncode == 77
    assert done.stderr.endswith("(create one on the server: dibs token new --agent NAME)\n")
