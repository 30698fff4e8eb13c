"""When a client disconnects, it leaves the queue, and none of its work is lost."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys

import pytest
from tests.mcp.wires import NEW, OLD, PATIENCE, Stdio, queue_of, until

from dibs import Dibs

ERAS = pytest.mark.parametrize("era", [OLD, NEW])
#: A server whose store fails whenever a briefing is marked as delivered.
FORGETFUL = (
    "from dibs.errors import Unavailable\n"
    "from dibs.services.briefing.service import Briefings\n"
    "def delivered(*_):\n"
    "    raise Unavailable('the store is away')\n"
    "Briefings.delivered = delivered\n"
    "from dibs.cli import program; program()"
)
#: A server that ignores hangups, as under nohup.
UNDER_NOHUP = (
    "import signal\n"
    "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    "from dibs.cli import program; program()"
)
NOISY = (
    "import os, sys\n"
    "from dibs.mcp import registry, tools_claims\n"
    "real = tools_claims.status\n"
    "def status(*given):\n"
    "    print('a stray word')\n"
    "    os.write(1, b'another\\n')\n"
    "    os.system('echo a third')\n"
    "    return real(*given)\n"
    "registry.TOOLS['status'] = registry.TOOLS['status']._replace(act=status)\n"
    "from dibs.cli import program; program()"
)


def test_a_canceled_wait_leaves_the_queue_and_is_granted_nothing(any_pair, path):
    alice, bob = any_pair
    alice.call("claim", paths=[path])
    id_ = bob.begin_call("wait", paths=[path], seconds=60)
    until(lambda: queue_of(alice, path) == ["bob"])

    bob.cancel(id_)

    until(lambda: queue_of(alice, path) == [])
    alice.call("release", paths=[path])
    assert alice.call("status", paths=[path])["claims"] == []


def test_a_grant_during_a_cancellation_is_released(monkeypatch, tmp_path):
    """Force the race: cancel the request after the claim was granted and before the thread returns."""
    import subprocess

    import anyio

    from dibs import Dibs
    from dibs.mcp import waiting
    from dibs.mcp.inputs import WaitAsked

    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    scopes = []

    class Session:
        async def report_progress(self, *_):
            return None

    class Context:
        session = Session()

    with Dibs.open(tmp_path, agent="bob") as dibs:
        real = waiting._work

        def work(*given):
            answer = real(*given)
            anyio.from_thread.run_sync(scopes[0].cancel)
            return answer

        monkeypatch.setattr(waiting, "_work", work)

        async def main():
            with anyio.CancelScope() as scope:
                scopes.append(scope)
                await waiting.McpWaits().wait(
                    Context(), dibs, WaitAsked(paths=["kept.py", "new.py"], seconds=5.0)
                )
            return scope.cancelled_caught

        dibs.claim("kept.py")
        assert anyio.run(main)
        assert [one.claim.pattern for one in dibs.held("bob")] == ["kept.py"]


@ERAS
def test_the_end_of_the_input_stops_the_server_and_its_waiters_and_keeps_claims(
    repo, path, wires, era
):
    alice, bob = wires(NEW, "alice"), Stdio(repo, "leaver", era)
    try:
        alice.call("claim", paths=[path])
        bob.call("claim", paths=[path + ".own"])
        bob.begin_call("wait", paths=[path], seconds=60)
        until(lambda: queue_of(alice, path) == ["leaver"])

        bob.process.stdin.close()
        assert bob.process.wait(PATIENCE) == 0

        assert queue_of(alice, path) == []
        held = alice.call("status", paths=[path + ".own"])["claims"]
        assert [one["agent"] for one in held] == ["leaver"]
    finally:
        alice.call("release", all=True)
        bob.close()


def test_a_signal_stops_the_server_and_its_waiters(repo, path, wires):
    alice = wires(NEW, "alice")
    alice.call("claim", paths=[path])
    signals = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    crew = {number: Stdio(repo, f"signalled-{number}", NEW) for number in signals}
    try:
        for bob in crew.values():
            bob.begin_call("wait", paths=[path], seconds=60)
        until(lambda: len(queue_of(alice, path)) == len(crew))

        for number, bob in crew.items():
            bob.process.send_signal(number)
            bob.process.wait(PATIENCE)
            assert bob.name not in queue_of(alice, path)
    finally:
        alice.call("release", all=True)
        for bob in crew.values():
            bob.close()


def test_an_ignored_hangup_does_not_stop_the_server(repo):
    bob = Stdio(repo, "bob", NEW, program=(sys.executable, "-c", UNDER_NOHUP))
    try:
        bob.call("status")
        bob.process.send_signal(signal.SIGHUP)

        assert bob.call("status")["agent"] == "bob"
    finally:
        bob.close()


def test_only_messages_are_written_to_standard_output(repo):
    wire = Stdio(repo, "noisy", NEW, program=(sys.executable, "-c", NOISY))
    try:
        wire.call("status")
        wire.fails("claim", paths=["../x"])
        wire.send(b"garbage\n")
        wire.call("status")
        wire.process.stdin.close()
        wire.process.wait(5)
        wire._reader.join(5)
        assert all(json.loads(line)["jsonrpc"] == "2.0" for line in wire.lines)
        said = wire.process.stderr.read()
        assert [word in said for word in (b"stray", b"another", b"third")] == [True] * 3
    finally:
        with contextlib.suppress(ValueError):
            wire.close()


def test_a_briefing_counts_as_delivered_once_it_was_sent_and_not_before(pair, repo):
    from dibs import Dibs
    from dibs.mcp import tools_work
    from dibs.mcp.inputs import BriefAsked

    alice, bob = pair

    def briefed(dibs, number):
        letters = dibs.project.mail.inbox(dibs.caller, everything=True)
        return [one.briefed for one in letters if one.message.id == number]

    with Dibs.open(repo, agent=f"reader-{bob.era}") as dibs:
        tools_work.brief(dibs, BriefAsked())[1]()
        sent = alice.call("say", to=dibs.caller.id, text="told by hand")["id"]
        told, confirm = tools_work.brief(dibs, BriefAsked())
        assert sent in told["mail"]
        assert briefed(dibs, sent) == [0]
        confirm()
        assert briefed(dibs, sent) != [0]

    bob.call("brief")
    with Dibs.open(repo, agent="bob") as dibs:
        sent = alice.call("say", to="bob", text="told by the server")["id"]
        until(lambda: sent in bob.call("brief")["mail"])
        until(lambda: briefed(dibs, sent) != [0])


def test_a_store_that_fails_after_a_briefing_does_not_stop_the_server(repo):
    wire = Stdio(repo, "forgotten", NEW, program=(sys.executable, "-c", FORGETFUL))
    try:
        assert wire.call("brief")["changed"]
        assert wire.call("status")["agent"] == "forgotten"
    finally:
        wire.close()


def test_a_running_server_stops_using_a_store_that_the_clone_no_longer_uses(tmp_path):
    import subprocess

    from dibs.project import clone_record
    from dibs.project.location import locate

    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    wire = Stdio(tmp_path, "long-lived", NEW)
    try:
        assert wire.call("claim", paths=["a"])["outcome"] == "granted"
        other = {"DIBS_ENGINE": f"sqlite://{tmp_path}/other.db"}
        clone_record.write(locate(str(tmp_path), other), replace=True)
        assert wire.fails("claim", paths=["b"])["code"] == "ENGINE_MISMATCH"
    finally:
        wire.close()


def test_a_running_server_uses_new_settings_and_a_new_store_at_the_next_call(tmp_path):
    import shutil
    import subprocess

    from dibs.project.project import create

    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    wire = Stdio(tmp_path, "long-lived", NEW)
    try:
        assert wire.call("claim", paths=["a"])["claims"][0]["ttl"] == 300
        (tmp_path / "dibs.toml").write_text('[claims]\nttl = "10m"\n')
        assert wire.call("claim", paths=["b"])["claims"][0]["ttl"] == 600
        (tmp_path / "dibs.toml").write_text("[claims]\nttl = 7x\n")
        assert wire.fails("claim", paths=["c"])["code"] == "CONFIG"
        (tmp_path / "dibs.toml").unlink()
        assert wire.call("claim", paths=["c"])["claims"][0]["ttl"] == 300

        shutil.rmtree(tmp_path / ".git" / "dibs")
        create(str(tmp_path))[0].close()
        assert wire.fails("claim", paths=["b"])["code"] == "STORE_REPLACED"
        assert wire.call("claim", paths=["b"])["outcome"] == "granted"
    finally:
        wire.close()


def test_with_the_setting_the_server_sends_heartbeats_while_its_agent_holds_claims(tmp_path):
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    erin = Stdio(tmp_path, "erin", OLD, DIBS_HEARTBEAT="0.1")
    dibs = Dibs.open(tmp_path, agent="erin")

    def seen():
        return dibs.project.agents.show("erin")[0].last_seen

    erin.call("claim", paths=["a.py"])
    first = seen()
    until(lambda: seen() > first + 0.3)

    erin.process.kill()
    erin.process.wait()
    dead = seen()
    erin.close()
    assert dibs.held("erin")[0].expires_at == pytest.approx(dead + 300)
    dibs.close()
