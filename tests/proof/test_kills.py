"""Killed or stopped processes keep their claims for the ttl, and no longer."""

from __future__ import annotations

import json
import os
import signal
import time
from typing import TYPE_CHECKING

import apsw
import pytest
from proof_crew import Puppet, Repo, eventually, nursery
from tests.soak import effort

if TYPE_CHECKING:
    from pathlib import Path

    from dibs.core.claims.ledger import Entry

pytestmark = pytest.mark.slow

TTL = 5.0
KILLS = effort(150, 1_000)
#: What a loaded machine may take to start a command or to wake up.
SLACK = 10.0


def _seen(repo: Repo, agent: str) -> float:
    """Return an agent's last heartbeat on the engine's clock."""
    seen: float = json.loads(repo.rows()[f"beat/{agent}"])[0]
    return seen


def test_a_killed_owners_claim_goes_to_the_next_waiter_after_the_ttl_and_not_before(repo: Repo):
    holder = Puppet(repo, "holder")
    assert holder.do("claim", "src/x.py")["granted"]
    waiter = repo.start("claim", "src/*.py", "--wait", "60s", "--json", agent="waiter")
    eventually("the waiter is in the queue", lambda: repo.tickets() == ["waiter"])
    last = holder.do("renew")["before"]
    os.kill(holder.process.pid, signal.SIGKILL)
    holder.end()
    seen = _seen(repo, "holder")

    out, _ = waiter.communicate(timeout=60)

    assert time.monotonic() - last >= TTL
    assert json.loads(out)["outcome"] == "granted"
    (grant,) = [e for e in repo.ledger() if e.kind == "lock_acquired" and e.agent == "waiter"]
    # By the ledger's time: on a busy machine, a process may take seconds to end.
    assert TTL <= grant.at - seen <= TTL + SLACK


def test_a_stopped_owner_wakes_up_fenced_and_its_successor_is_unharmed(repo: Repo):
    holder = Puppet(repo, "holder")
    try:
        assert holder.do("claim", "src/x.py", "docs/left")["granted"]
        os.kill(holder.process.pid, signal.SIGSTOP)
        out, _ = repo.start(
            "claim", "src/x.py", "--wait", "60s", "--json", agent="successor"
        ).communicate(timeout=60)
        token = json.loads(out)["token"]
        rows = repo.rows()
        os.kill(holder.process.pid, signal.SIGCONT)

        assert holder.do("renew", "src/x.py")["error"] == "FENCED"
        assert holder.do("release", "src/x.py")["error"] == "FENCED"
        assert holder.do("renew", "docs/left")["error"] == "FENCED", "although no one took it"
        for word in ("renew", "release"):
            late = repo.dibs(word, "src/x.py", agent="holder")
            assert late.returncode == 4, late
            assert late.stderr.count("\n") == 1

        assert repo.rows() == rows, "a fenced call changes nothing"
        kept = repo.dibs("renew", "src/x.py", "--token", str(token), agent="successor")
        assert kept.returncode == 0, kept.stderr
    finally:
        holder.end()


def test_a_process_that_stops_inside_a_transaction_delays_others_only_for_the_timeout(
    repo: Repo,
):
    assert repo.dibs("claim", "docs/", agent="early").returncode == 0
    stuck = Puppet(repo, "stuck")
    try:
        assert stuck.do("hang")["inside"]
        os.kill(stuck.process.pid, signal.SIGSTOP)
        started = time.monotonic()

        refused = repo.dibs("claim", "src/x.py", agent="other", DIBS_TIMEOUT="0.5s")

        assert refused.returncode == 69, refused
        assert refused.stderr.count("\n") == 1
        assert time.monotonic() - started < 0.5 + SLACK
        assert repo.claims() == {"docs/": "early"}, "readers are not delayed"
    finally:
        stuck.end()
    assert repo.dibs("claim", "src/x.py", agent="other").returncode == 0


def _claims_by_ledger(entries: list[Entry]) -> dict[tuple[str, str], int]:
    """Replay the ledger: return the tokens by agent and pattern."""
    held: dict[tuple[str, str], int] = {}
    for entry in entries:
        patterns = entry.details.get("patterns", [entry.details.get("pattern")])
        keys = [(entry.agent, pattern) for pattern in patterns]
        if entry.kind == "lock_acquired":
            held.update(dict.fromkeys(keys, entry.seq))
        elif entry.kind in ("lock_released", "lock_expired"):
            for key in keys:
                del held[key]
    return held


def _claims_by_rows(rows: dict[str, str]) -> dict[tuple[str, str], int]:
    records = [json.loads(row) for key, row in rows.items() if key.startswith(("at/", "in/"))]
    return {(record["agent"], record["pattern"]): record["token"] for record in records}


def test_many_kills_under_load_lose_nothing_that_was_confirmed(repo: Repo, tmp_path: Path):
    log = tmp_path / "acknowledged"

    found = nursery("kills", str(repo.path), str(log), str(KILLS), timeout=240)

    assert found == {"overlaps": [], "gave_up": 0}
    entries = repo.ledger()
    assert _claims_by_ledger(entries) == _claims_by_rows(repo.rows()), "both are one change"
    grants = {entry.seq: entry for entry in entries if entry.kind == "lock_acquired"}
    seqs = [entry.seq for entry in entries]
    assert seqs == list(range(1, len(seqs) + 1)), "no entry is missing or duplicated"
    acknowledged = [json.loads(line) for line in log.read_text().splitlines()]
    assert len(acknowledged) > KILLS / 2, "how many there are depends on the machine"
    for agent, claims in acknowledged:
        for token, pattern in claims:
            assert token in grants, f"token {token} was confirmed and is lost"
            assert grants[token].agent == agent
            assert pattern in grants[token].details["patterns"]
    database = apsw.Connection(str(repo.state / "dibs.db"))
    assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    database.close()
    assert repo.dibs("claim", "src/x.py", "--wait", "1s", agent="after").returncode in (0, 3)
