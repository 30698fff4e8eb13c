"""Nothing uncommitted is lost, misattributed, or taken without notice, whatever agents ordinarily do."""

from __future__ import annotations

import contextlib
import json
import random
from itertools import product

import pytest
from tests.proof.proof_work import FILES, PERSON, Agent, World
from tests.soak import effort

FIVE_MINUTES, TEN_MINUTES = 300.0, 600.0
DISCARDS = (
    "git checkout -- .", "git restore .", "git reset -q --hard", "git stash -q -u", "git clean -fdq",
    "rm -f a.txt", "echo new > b.txt", "sed -i d src/c.txt", "git checkout -q HEAD -- src",
    "python3 -c \"import os; os.remove(''.join(['src/', 'd.txt']))\"", "git rm -qf a.txt",
    "mv b.txt src/d.txt",
)  # fmt: skip


@pytest.fixture(params=["sqlite", "redis", "git"])
def engine(request, tmp_path):
    if request.param == "redis":
        return request.getfixturevalue("redis_url")
    if request.param == "git":
        return f"git:{request.getfixturevalue('git_remote').path}"
    return f"sqlite://{tmp_path}/shared.db"


@contextlib.contextmanager
def guests(world):
    """Let agents start in a world; kill them at the end."""
    agents = []

    def start(name, tree=None):
        agents.append(Agent(world, name, tree or world.root))
        return agents[-1]

    world.start = start
    try:
        yield world
    finally:
        for agent in agents:
            agent.kill()


@pytest.fixture
def world(tmp_path, engine):
    with guests(World(tmp_path / "world", engine, home=tmp_path / "home")) as made:
        yield made


def test_an_idle_owner_with_uncommitted_changes_keeps_its_claim(world):
    alice, bob = world.start("alice"), world.start("bob")
    assert alice.edit("a.txt")
    alice.end_turn()
    world.pass_time(TEN_MINUTES)

    assert not bob.edit("a.txt")
    assert alice.id in bob.heard[-1]
    assert alice.edit("a.txt")
    assert not world.lost()


def test_an_idle_owner_without_changes_loses_its_claim(world):
    alice, bob = world.start("alice"), world.start("bob")
    alice.dibs("claim", "a.txt")
    world.pass_time(TEN_MINUTES)

    assert bob.edit("a.txt")


def test_a_dead_owners_changes_are_saved_and_named_to_the_next_owner(world):
    alice, bob = world.start("alice"), world.start("bob")
    assert alice.edit("a.txt")
    alice.kill()

    assert bob.edit("a.txt")

    assert alice.id in bob.heard[-2] + bob.heard[-1]
    saved = world.kept_in(world.root)
    assert {line for line, author in world.wrote.items() if author == alice.id} <= saved
    status, said = bob.commit()
    assert status == 0, said
    assert not world.misattributed()
    assert not world.lost()


def test_a_commit_with_changes_of_a_session_that_left_is_refused_until_it_is_asked_for(world):
    alice, bob = world.start("alice"), world.start("bob")
    assert alice.edit("a.txt")
    alice.leave()
    world.pass_time(TEN_MINUTES)
    assert bob.edit("a.txt")

    status, said = bob.dibs("commit", "-m", "step")

    assert status != 0
    assert "--inherited" in said
    assert bob.commit()[0] == 0
    assert not world.misattributed()
    assert not world.lost()


def test_lines_that_landed_since_the_last_read_survive_a_rewrite(world):
    alice, bob = world.start("alice"), world.start("bob")
    alice.read("a.txt")
    assert bob.edit("a.txt")
    assert bob.commit()[0] == 0
    bob.end_turn()

    assert alice.rewrite("a.txt")
    status, said = alice.commit()

    assert status == 0, said
    assert any("refused" in said and bob.id in said for said in alice.heard)
    assert not world.undone()


def test_a_long_tool_call_keeps_claims_on_unchanged_files(world):
    alice, bob = world.start("alice"), world.start("bob")
    alice.dibs("claim", "a.txt")
    call = alice.tool("Bash", {"command": "make test"})
    assert alice.hook("PreToolUse", **call)
    world.pass_time(TEN_MINUTES)

    assert not bob.edit("a.txt")
    alice.hook("PostToolUse", **call)


def test_a_subagents_call_keeps_its_sessions_claims(world):
    alice, bob = world.start("alice"), world.start("bob")
    alice.dibs("claim", "a.txt")
    for _ in range(3):
        world.pass_time(FIVE_MINUTES - 60)
        assert alice.edit("b.txt", agent_id="sub1", agent_type="coder")

    assert not bob.edit("a.txt")


def test_a_read_keeps_the_sessions_claims(world):
    alice, bob = world.start("alice"), world.start("bob")
    alice.dibs("claim", "a.txt")
    for _ in range(3):
        world.pass_time(FIVE_MINUTES - 60)
        alice.read("b.txt")

    assert not bob.edit("a.txt")


def test_a_rewrite_from_memory_keeps_what_a_person_typed_meanwhile(world):
    alice = world.start("alice")
    alice.read("a.txt")
    world.person_writes(world.root, "a.txt")

    assert alice.rewrite("a.txt")
    assert not world.lost()
    assert alice.rewrite("a.txt")
    world.person_writes(world.root, "a.txt")
    assert alice.rewrite("a.txt")
    assert not world.lost()


@pytest.mark.parametrize("how", ["release", "revoke", "stop", "leave", "kill", "transfer"])
def test_both_sides_learn_of_every_change_of_owner(world, how):
    alice, bob = world.start("alice"), world.start("bob")
    assert alice.edit("a.txt")
    if how == "release":
        alice.dibs("release", "a.txt")
    elif how == "revoke":
        assert world.dibs("revoke", "a.txt", "--reason", "urgent")[0] == 0
    elif how == "stop":
        assert world.dibs("agent", "stop", alice.id)[0] == 0
    elif how == "transfer":
        alice.dibs("transfer", "a.txt", "--to", bob.id)
    else:
        getattr(alice, how)()

    assert bob.edit("a.txt")
    bob.hook("UserPromptSubmit", prompt="go on")

    told = "\n".join(bob.heard)
    assert alice.id in told
    assert "a.txt" in told
    assert {line for line, author in world.wrote.items() if author == alice.id} <= world.kept_in(
        world.root
    )
    if how in {"release", "revoke", "transfer"}:
        alice.hook("UserPromptSubmit", prompt="go on")
        assert bob.id in alice.said()


def _on_disk(world):
    return {
        line for tree in world.trees for path in (*FILES, "new.txt")
        for line in world.content(tree, path).splitlines()
    }  # fmt: skip


#: What each rule rests on, and a test that must fail without it.
RULES = {
    "a live process is a heartbeat": (
        "dibs.services.state.rows:outlives_ttl=False",
        test_an_idle_owner_with_uncommitted_changes_keeps_its_claim,
    ),
    "an open call and a subagent are activity": (
        "dibs.services.guard.service:note_activity=None",
        test_a_long_tool_call_keeps_claims_on_unchanged_files,
    ),
    "work is saved before it changes owner": (
        "dibs.services.state.ownership:work_of=()",
        test_a_dead_owners_changes_are_saved_and_named_to_the_next_owner,
    ),
    "a commit asks before it includes the work of others": (
        "dibs.services.commits.scope:origins={}",
        test_a_commit_with_changes_of_a_session_that_left_is_refused_until_it_is_asked_for,
    ),
    "a commit does not undo unread work": (
        "dibs.services.commits.landed:refuse_undoing=[]",
        test_lines_that_landed_since_the_last_read_survive_a_rewrite,
    ),
    "a person's work is saved before a rewrite": (
        "dibs.services.guard.uncommitted.people:author_of=None",
        test_a_rewrite_from_memory_keeps_what_a_person_typed_meanwhile,
    ),
}


@pytest.mark.parametrize("rule", RULES)
def test_without_the_rule_its_test_fails(tmp_path, rule):
    disabled, test = RULES[rule]
    broken = World(tmp_path / "world", f"sqlite://{tmp_path}/s.db", home=tmp_path / "home")
    broken.environ["PROOF_DISABLED"] = disabled
    with guests(broken), pytest.raises(AssertionError):
        test(broken)


class History:
    """A random history of agents and a person, with a judge after each part."""

    def __init__(self, world, seed, trees):
        self.world, self.chance = world, random.Random(seed)
        self.trees = trees
        self.count = 0
        self.agents = [self.new() for _ in range(3)]
        self.steps = []

    def new(self):
        self.count += 1
        tree = self.trees[self.count % len(self.trees)]
        return self.world.start(f"agent{self.count}", tree)

    def step(self):
        agent, path = self.chance.choice(self.agents), self.chance.choice(FILES)
        acts = (
            [self.edit] * 5 + [self.rewrite] * 4 + [self.read] * 3 + [self.commit] * 3 + [self.end_turn] * 3
            + [self.idle] * 3 + [self.person] * 2
            + [self.release, self.discard, self.kill, self.leave, self.revoke]
        )  # fmt: skip
        act = self.chance.choice(acts)
        self.steps.append((act.__name__, agent.id, path))
        act(agent, path)

    def edit(self, agent, path):
        agent.edit(path)

    def rewrite(self, agent, path):
        known = agent.known.get(path, "").splitlines()
        now = self.world.content(agent.tree, path).splitlines()
        if agent.rewrite(path):
            self.world.own_discard(agent.id, [*known, *now], agent.known[path].splitlines())

    def read(self, agent, path):
        agent.read(path)

    def commit(self, agent, path):
        agent.commit()

    def end_turn(self, agent, path):
        agent.end_turn()

    def idle(self, agent, path):
        self.world.pass_time(TEN_MINUTES)

    def person(self, agent, path):
        self.world.person_writes(agent.tree, path)

    def release(self, agent, path):
        agent.dibs("release", path)

    def revoke(self, agent, path):
        self.world.dibs("revoke", path, "--reason", "x")

    def discard(self, agent, path):
        before = _on_disk(self.world)
        if agent.shell(self.chance.choice(DISCARDS)):
            self.world.own_discard(agent.id, before, _on_disk(self.world))

    def kill(self, agent, path):
        agent.kill()
        self.replace(agent)

    def leave(self, agent, path):
        agent.leave()
        self.replace(agent)

    def replace(self, agent):
        self.agents[self.agents.index(agent)] = self.new()


@pytest.mark.parametrize(
    ("engine", "layout", "seed"),
    effort(
        [("sqlite", "shared", 1), ("sqlite", "worktrees", 2), ("sqlite", "clones", 1),
         ("redis", "worktrees", 4), ("git", "clones", 5)],
        list(product(("sqlite", "redis", "git"), ("shared", "worktrees", "clones"), range(20))),
    ),
    indirect=["engine"],
)  # fmt: skip
def test_random_histories_lose_nothing(world, layout, seed):
    trees = [world.root]
    if layout == "worktrees":
        for name in ("one", "two"):
            world.git("worktree", "add", "-q", "-b", name, str(world.folder / name))
            trees.append(world.folder / name)
    if layout == "clones":
        for name in ("one", "two"):
            world.git("clone", "-q", str(world.root), str(world.folder / name))
            trees.append(world.folder / name)
            world.clones.append(world.folder / name)
    world.trees[:] = trees
    history = History(world, seed, trees)
    for _ in range(effort(25, 60)):
        history.step()
        assert not world.lost(), history.steps[-6:]

    assert not world.misattributed(), history.steps
    assert not world.undone(), history.steps
    assert not uninformed(world, history.agents), history.steps


def uninformed(world, agents):
    """Return the living agents, and the person, whose work was moved away without a word to them."""
    displaced = world.displaced()
    found = []
    for agent in agents:
        agent.hook("UserPromptSubmit", prompt="go on")
        found += [
            (agent.id, path) for path in displaced.get(agent.id, ()) if path not in agent.said()
        ]
    shown = ""
    for clone in world.clones:
        listed = json.loads(world.dibs("salvage", "ls", "--json", cwd=clone)[1])["salvaged"]
        shown += "".join(world.dibs("salvage", "show", one["id"], cwd=clone)[1] for one in listed)
    return found + [(PERSON, path) for path in displaced.get(PERSON, ()) if path not in shown]
