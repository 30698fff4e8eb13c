"""Claims as ``claim:<file>`` keys: a view that people read with redis-cli, and that changes nothing."""

from __future__ import annotations

import json
import random
from contextlib import suppress

import pytest
from tests.servers import RedisServer
from tests.services.wired import wired
from tests.soak import seeds

from dibs.config.load import Config
from dibs.core.claims.agents import Caller
from dibs.core.patterns.pattern import parse
from dibs.engines.redis.engine import RedisEngine
from dibs.engines.redis.mirror import Mirror
from dibs.errors import DibsError, NotFound
from dibs.services.claims.agents import Agents
from dibs.services.claims.claim_keys import PREFIX, claim_keys
from dibs.services.claims.holdings import Holdings
from dibs.services.claims.service import Claims
from dibs.services.state.lifecycle import begin_life

FILE = "src/auth/login.ts"
KEY = f"claim:{FILE}"


class Crew:
    """The agents of one project, on a real server."""

    def __init__(self, url, project="shop", **options):
        mirror = Mirror(PREFIX, claim_keys)
        self.engine = RedisEngine(url, project, renew=begin_life, mirror=mirror, **options)
        store = wired(self.engine, Config(ttl=30.0))
        self.claims, self.holdings, self.agents = Claims(store), Holdings(store), Agents(store)

    def claim(self, agent, *patterns, **options):
        return self.claims.claim(Caller(agent), [parse(p) for p in patterns], **options)

    def release(self, agent, *patterns):
        return self.holdings.release(Caller(agent), [parse(p) for p in patterns])

    def beat(self, agent):
        self.agents.beat(Caller(agent))

    def held(self):
        return {(h.claim.agent, h.claim.pattern) for h in self.claims.all()[0]}


@pytest.fixture(autouse=True)
def every_heartbeat_counts(monkeypatch):
    """A test's heartbeats follow each other within milliseconds."""
    monkeypatch.setattr("dibs.services.claims.claim_keys._ONCE", 1e-6)


@pytest.fixture
def client(redis_server, redis_url):
    with redis_server.client(redis_url) as client:
        yield client


@pytest.fixture
def crew(redis_url):
    made = Crew(redis_url)
    yield made
    made.engine.close()


def shown(client, pattern="claim:*"):
    """Return the keys and their values."""
    return {key: client.get(key) for key in client.scan_iter(pattern)}


def forward(client, key, left):
    """Let time pass for one key."""
    client.pexpire(key, left)


def test_a_claim_is_a_key_with_its_owner_and_its_ttl(crew, client):
    crew.claim("agent-a", FILE)

    assert shown(client) == {KEY: "agent-a"}
    assert 29_000 < client.pttl(KEY) <= 30_000


@pytest.mark.parametrize(
    "pattern", ["src/auth/*", "src/**", "docs/", "task:fix-login", "port:8000"]
)
def test_the_key_contains_the_pattern_as_it_was_claimed(crew, client, pattern):
    crew.claim("agent-a", pattern)

    assert shown(client) == {f"claim:{parse(pattern).text}": "agent-a"}


def test_a_heartbeat_extends_the_keys_of_its_agent_only(crew, client):
    crew.claim("agent-a", FILE, "b", reason="x")
    crew.claim("agent-b", "c")
    for key in (KEY, "claim:b", "claim:c"):
        forward(client, key, 5_000)

    crew.beat("agent-a")

    assert client.pttl(KEY) > 29_000
    assert client.pttl("claim:b") > 29_000
    assert client.pttl("claim:c") <= 5_000


def test_a_renewal_with_another_ttl_changes_the_key(crew, client):
    crew.claim("agent-a", FILE)

    crew.holdings.renew(Caller("agent-a"), ttl="2m")

    assert 119_000 < client.pttl(KEY) <= 120_000


def test_a_key_never_outlives_its_claims_limit(crew, client):
    crew.claims._store.config = Config(ttl=300.0, max_hold=60.0)

    crew.claim("agent-a", FILE, ttl=300)

    assert client.pttl(KEY) <= 60_000


def test_a_release_deletes_the_key(crew, client):
    crew.claim("agent-a", FILE, "other")

    crew.release("agent-a", FILE)
    assert shown(client) == {"claim:other": "agent-a"}
    crew.agents.leave(Caller("agent-a"))
    assert shown(client) == {}
    assert not list(client.scan_iter("dibs:*mirror*"))


def test_a_transfer_and_a_revocation_change_the_key(crew, client):
    crew.claim("agent-a", FILE, "other")
    crew.beat("agent-b")

    crew.holdings.transfer(Caller("agent-a"), [parse(FILE)], to="agent-b")
    assert shown(client) == {KEY: "agent-b", "claim:other": "agent-a"}

    crew.holdings.revoke(Caller("human", "human"), parse("other"), reason="now")
    assert shown(client) == {KEY: "agent-b"}


def test_the_owners_of_a_shared_claim_are_listed_with_commas(crew, client):
    crew.claim("agent-a", FILE, mode="shared", ttl=60)
    crew.claim("agent-b", FILE, mode="shared")
    assert shown(client) == {KEY: "agent-a,agent-b"}
    assert client.pttl(KEY) > 59_000

    crew.beat("agent-a")
    assert shown(client) == {KEY: "agent-a,agent-b"}
    crew.release("agent-a", FILE)
    assert shown(client) == {KEY: "agent-b"}
    assert client.pttl(KEY) <= 30_000
    crew.release("agent-b", FILE)
    assert shown(client) == {}


def test_several_files_appear_together_or_not_at_all(crew, client):
    crew.claim("agent-b", "auth/types.ts")

    crew.claim("agent-a", "auth/login.ts", "auth/types.ts")

    assert shown(client) == {"claim:auth/types.ts": "agent-b"}


@pytest.mark.parametrize("act", ["delete", "set", "setex", "persist", "append"])
def test_changing_a_key_changes_no_claim_and_a_heartbeat_restores_it(crew, client, act):
    crew.claim("agent-a", FILE)
    if act == "delete":
        client.delete(KEY)
    elif act == "set":
        client.set(KEY, "mallory")
    elif act == "setex":
        client.set(KEY, "agent-a", px=1_000_000)
    elif act == "persist":
        client.persist(KEY)
    else:
        client.append(KEY, "x")

    assert crew.held() == {("agent-a", FILE)}
    assert not hasattr(crew.claim("agent-b", FILE), "claims")
    crew.beat("agent-a")

    assert shown(client) == {KEY: "agent-a"}
    assert 29_000 < client.pttl(KEY) <= 30_000


def test_the_keys_of_another_program_are_never_changed(crew, client):
    client.set(KEY, "agent-a", px=90_000)
    client.rpush("claim:list", "x")
    client.set("claim:plain", "nexus")

    crew.claim("agent-a", FILE, "list", "plain")
    crew.beat("agent-a")
    assert client.get(KEY) == "agent-a"
    assert 80_000 < client.pttl(KEY) <= 90_000
    crew.release("agent-a")

    assert client.get(KEY) == "agent-a"
    assert client.pttl(KEY) > 80_000
    assert client.lrange("claim:list", 0, -1) == ["x"]
    assert (client.get("claim:plain"), client.pttl("claim:plain")) == ("nexus", -1)


def test_a_key_of_another_program_is_replaced_once_it_is_gone(crew, client):
    client.set(KEY, "nexus-7", px=90_000)
    crew.claim("agent-a", FILE)
    client.delete(KEY)

    crew.beat("agent-a")

    assert shown(client) == {KEY: "agent-a"}


@pytest.mark.parametrize("beats", [0, 1])
def test_a_key_that_another_program_took_over_is_left_alone(crew, client, beats):
    crew.claim("agent-a", FILE)
    client.set(KEY, "nexus-7", px=90_000)

    for _ in range(beats):
        crew.beat("agent-a")
    crew.release("agent-a")

    assert client.get(KEY) == "nexus-7"


@pytest.mark.parametrize("rid", ["deleted", "unused", "disowned"])
def test_the_first_project_has_the_bare_prefix_and_others_do_not_disturb_it(redis_url, client, rid):
    one, two = Crew(redis_url, "one"), Crew(redis_url, "two")
    one.claim("agent-a", FILE)
    two.claim("agent-b", FILE)
    assert shown(client) == {KEY: "agent-a", f"claim:{{two}}:{FILE}": "agent-b"}

    two.release("agent-b", FILE)
    assert shown(client) == {KEY: "agent-a"}
    found = {f.what: f.text for f in two.engine.inspect()}
    assert "claim:{two}:*" in found["claim keys"]
    assert "without a project belongs to one" in found["claim keys"]
    one.engine.close()
    two.engine.close()
    client.delete(KEY)
    if rid == "deleted":
        client.delete(*client.keys("dibs:{one}:*"))
    elif rid == "unused":
        state = client.hget("dibs:{one}:meta", "state").split("|")
        state[5] = str(int(state[5]) - 86_400_000_000)
        client.hset("dibs:{one}:meta", "state", "|".join(state))
    else:
        client.delete("dibs:claim:owner")
    two = Crew(redis_url, "two")
    two.claim("agent-b", FILE)
    assert shown(client) == {KEY: "agent-b"}
    two.engine.close()


@pytest.mark.parametrize(
    "name",
    ["a b.ts", "a:b:c.ts", "*literal*", "-x", "{shop}.ts", "%d %s", "ü/日本.ts", "/".join(["x" * 200] * 5)],
)  # fmt: skip
def test_hostile_file_names_are_safe(crew, client, name):
    pattern = parse(name, literal=True)
    crew.claims.claim(Caller("agent-a"), [pattern])
    crew.claim("agent-a", "other")
    crew.beat("agent-a")
    assert shown(client) == {f"claim:{pattern.text}": "agent-a", "claim:other": "agent-a"}

    crew.holdings.release(Caller("agent-a"), [pattern])

    assert shown(client) == {"claim:other": "agent-a"}


def test_the_script_accepts_any_name(redis_url, client):
    name = "a\nb\r\n %1 \x00 9 9 9 x"
    mirror = Mirror("claim:", lambda *_: ([], [], ["a", name, 9**16, " 30 0 9"]))
    engine = RedisEngine(redis_url, "shop", mirror=mirror)

    engine.transact(lambda txn: txn.put("row", "x"))

    assert client.get(f"claim:{name}") == "a"
    engine.close()


def test_a_new_life_deletes_the_keys(crew, client, redis_url):
    crew.claim("agent-a", FILE)
    client.hdel("dibs:{shop}:values", "beat/agent-a")  # which ends the life

    with pytest.raises(NotFound):
        crew.release("agent-a", FILE)

    assert shown(client) == {}
    assert not list(client.scan_iter("dibs:*mirror*"))


@pytest.mark.parametrize(
    ("claims", "later", "extends"),
    [(16, 0.0, False), (16, 0.06, True), (17, 0.06, False), (17, 2.9, False), (17, 3.0, True)],
)
def test_many_claims_of_one_agent_are_extended_at_most_ten_times_per_ttl(claims, later, extends):
    old, new = ([now, 30.0, 1e12, claims, 0, "agent"] for now in (9_000.0, 9_000.0 + later))

    _, heard, _ = claim_keys({"beat/a": json.dumps(new)}, lambda _: json.dumps(old))

    assert heard == (["a", int((9_000 + later) * 1000)] if extends else [])


def test_a_heartbeat_extends_a_thousand_keys(crew, client):
    files = [f"src/{n}.ts" for n in range(1_000)]
    crew.claim("agent-a", *files)
    for file in files[::100]:
        forward(client, f"claim:{file}", 5_000)
    row = json.loads(client.hget("dibs:{shop}:values", "beat/agent-a"))
    earlier = json.dumps([row[0] - 10, *row[1:]])

    crew.engine.transact(lambda txn: txn.put("beat/agent-a", earlier))
    crew.beat("agent-a")

    assert min(client.pttl(f"claim:{file}") for file in files) > 20_000


def test_a_user_without_access_to_the_keys_can_still_claim(tmp_path):
    with RedisServer(tmp_path, user="dibs", password="s3cret") as server:
        with server.client() as client:
            client.execute_command(
                "ACL", "SETUSER", "limited", "on", ">pw", "~dibs:{*", "&*", "+@all"
            )
        crew = Crew(f"redis://limited:pw@127.0.0.1:{server.port}/0")

        crew.claim("agent-a", FILE)
        crew.beat("agent-a")
        crew.beat("agent-a")

        assert crew.held() == {("agent-a", FILE)}
        with server.client() as client:
            assert len(client.execute_command("ACL", "LOG")) == 1  # it is not tried again
        (found,) = [f for f in crew.engine.inspect() if f.what == "claim keys"]
        assert "claim:*" in found.text
        assert "not written" in found.text
        crew.engine.close()


def act(chance, crew, agents, names):
    """Let some agent do something, which may be refused."""
    me, some, verb = chance.choice(agents), chance.sample(names, 2), chance.randrange(8)
    with suppress(DibsError):
        if verb < 3:
            mode = chance.choice(["exclusive", "shared", "shared"])
            crew.claim(me, *some, mode=mode, ttl=chance.choice([30, 60, 300]))
        elif verb == 3:
            crew.release(me, *some)
        elif verb == 4:
            crew.beat(me)
        elif verb == 5:
            crew.holdings.renew(Caller(me), ttl=chance.choice([30, 90]))
        elif verb == 6:
            crew.holdings.transfer(Caller(me), [parse(some[0])], to=chance.choice(agents))
        else:
            crew.agents.leave(Caller(me))


@pytest.mark.parametrize("seed", seeds(6))
def test_after_any_history_the_keys_are_the_live_claims(redis_url, client, seed):
    chance = random.Random(seed)
    crews = [Crew(redis_url) for _ in range(3)]

    for _ in range(60):
        act(chance, chance.choice(crews), "abcd", ["x", "y", "z", "src/*", "task:t", "Y"])
        held = {}
        for one in crews[0].claims.all()[0]:
            held.setdefault(f"claim:{one.claim.pattern}", []).append(one)
        owners = {key: sorted(one.claim.agent for one in some) for key, some in held.items()}
        assert shown(client) == {key: ",".join(some) for key, some in owners.items()}
        for key, some in held.items():
            left = max(one.expires_in for one in some) * 1000
            assert left - 2_000 < client.pttl(key) <= left + 2_000, key
    for crew in crews:
        crew.engine.close()
