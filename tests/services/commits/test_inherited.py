"""Other authors' lines in the files of a commit: refused, or committed whole with their authors named."""

from __future__ import annotations

import os

import pytest
from tests.services.commit_world import ALICE, BOB, CAROL, World

from dibs.core.changes.trailers import authors_in, read_signed
from dibs.services.commits.values import CommitDenied

pytestmark = pytest.mark.usefixtures("own_git")

LINES = [f"line {number}\n" for number in range(1, 21)]
PATH = "src/long.py"


@pytest.fixture
def world(tmp_path):
    return made(tmp_path / "tree")


def made(place, engine=""):
    """Return a world with a committed file of some length."""
    world = World(place, engine=engine)
    world.put(PATH, "".join(LINES))
    world.git("add", "-A")
    world.git("commit", "-q", "-m", "long")
    return world


def edited(**changes):
    """Return the text of the file with some lines replaced, by number: ``l3="text"``."""
    lines = list(LINES)
    for name, text in changes.items():
        lines[int(name[1:]) - 1] = f"{text}\n" if text else ""
    return "".join(lines)


def landed(world, path=PATH):
    """Return what the branch has of a file; empty if it has none."""
    return f"{world.git('show', f'HEAD:{path}', check=False)}\n".removeprefix("\n")


def authors(world):
    return authors_in(world.git("log", "-1", "--format=%B"))


def refused(world, agent=BOB, **options):
    """Return the refusals of a commit, which changes nothing."""
    before = world.head(), world.dirty(), world.git("diff", "--cached", "--name-only")
    answer = world.commit(agent, **options)
    assert isinstance(answer, CommitDenied), answer
    after = world.head(), world.dirty(), world.git("diff", "--cached", "--name-only")
    assert after == before, "nothing changes"
    assert answer.code == "INHERITED"
    return answer.blocked


def stops(blocked):
    return [(one.path, one.holder, one.lines) for one in blocked]


# -- lines that are in the file and in no commit


def test_a_commit_with_another_agents_lines_is_refused_and_shows_both_versions(world):
    ref = world.leave(ALICE, PATH, edited(l3="by alice", l4="by alice too"))
    world.claim(BOB, PATH)
    world.put(PATH, edited(l3="by alice", l4="by alice too", l15="by bob"))
    (stop,) = refused(world)
    assert (stop.path, stop.why, stop.holder, stop.lines) == (PATH, "inherited", "alice", 2)
    assert stop.landed == (
        "by alice", "by alice too", "(removed) line 3", "(removed) line 4",
    )  # fmt: skip
    assert stop.yours == ("by bob",)
    assert stop.hint == f"compare: git show {ref} -- :/{PATH}"
    assert [one.agent for one in world.left(PATH)] == ["alice"]


def test_a_refusal_shows_at_most_20_lines_of_each_version(world):
    more = "".join(f"alice {n}\n" for n in range(30))
    world.leave(ALICE, PATH, edited() + more)
    world.claim(BOB, PATH)
    world.put(PATH, edited() + more + "".join(f"bob {n}\n" for n in range(30)))
    (stop,) = refused(world)
    assert (stop.lines, len(stop.landed), len(stop.yours)) == (30, 20, 20)
    assert (stop.landed[0], stop.yours[0]) == ("alice 0", "bob 0")


def test_inherited_lines_are_committed_whole_with_their_author_in_a_trailer(world):
    world.leave(ALICE, PATH, edited(l3="by alice"))
    world.claim(BOB, PATH)
    both = edited(l3="by alice", l15="by bob")
    world.put(PATH, both)
    refused(world)

    answer = world.committed(BOB, inherited=True)

    assert landed(world) == both
    assert [(o.path, o.agent, o.lines) for o in answer.included] == [(PATH, "alice", 1)]
    message = world.git("log", "-1", "--format=%B")
    assert authors_in(message) == ("alice",)
    signed = read_signed(message)
    assert signed is not None
    assert signed.agent == "bob"
    (entry,) = world.ledger()
    assert entry.details["inherited"] == ["alice"]
    assert "with changes of alice" in entry.summary
    assert world.left(PATH) == [], "nothing of alice is uncommitted now"
    assert world.dirty() == set()


def test_the_author_gets_a_message_when_its_lines_are_committed(world):
    world.leave(ALICE, PATH, edited(l3="by alice"))
    world.claim(BOB, PATH)
    world.committed(BOB, inherited=True)
    mail = world.project.mail.inbox(ALICE)
    texts = [one.message.text for one in mail]
    told = f"bob committed your uncommitted changes to {PATH}"
    assert [text for text in texts if text.startswith(told)], texts


def test_a_refused_commit_without_own_changes_shows_only_the_others(world):
    world.leave(ALICE, PATH, edited(l3="by alice"))
    world.claim(BOB, "src/")
    world.put("src/one.py", "by bob\n")
    (stop,) = refused(world)
    assert (stop.path, stop.landed[0], stop.yours) == (PATH, "by alice", ())
    world.committed(BOB, paths=["src/one.py"])
    assert world.files() == {"src/one.py"}


def test_the_agent_that_wrote_the_lines_commits_them_itself(world):
    world.leave(ALICE, PATH, edited(l3="by alice"))
    world.claim(ALICE, PATH)
    answer = world.committed(ALICE)
    assert landed(world) == edited(l3="by alice")
    assert (answer.included, authors(world)) == ((), ())


def test_removed_lines_are_another_agents_too(world):
    world.leave(ALICE, PATH, edited(l3=""))
    world.claim(BOB, PATH)
    world.put(PATH, edited(l3="", l15="by bob"))
    (stop,) = refused(world)
    assert (stop.lines, stop.landed) == (1, ("(removed) line 3",))


def test_a_trial_shows_the_same_refusal_and_writes_nothing(world):
    world.leave(ALICE, PATH, edited(l3="by alice"))
    world.claim(BOB, PATH)
    world.put(PATH, edited(l3="by alice", l15="by bob"))
    before = world.git("count-objects"), world.kinds()
    assert stops(refused(world, message="", trial=True)) == [(PATH, "alice", 1)]
    answer = world.commit(BOB, "", trial=True, inherited=True)
    assert [(one.agent, one.lines) for one in answer.included] == [("alice", 1)]
    assert (world.git("count-objects"), world.kinds()) == before


def test_several_authors_have_only_their_own_lines(world):
    world.leave(ALICE, PATH, edited(l3="by alice"))
    world.leave(CAROL, PATH, edited(l3="by alice", l8="by carol", l9="more by carol"))
    world.claim(BOB, PATH)
    both = edited(l3="by alice", l8="by carol", l9="more by carol", l17="by bob")
    world.put(PATH, both)
    found = refused(world)
    assert stops(found) == [(PATH, "alice", 1), (PATH, "carol", 2)]
    assert [stop.landed[0] for stop in found] == ["by alice", "by carol"]
    assert {stop.yours for stop in found} == {("by bob",)}
    world.committed(BOB, inherited=True)
    assert authors(world) == ("alice", "carol")
    assert landed(world) == both


def test_an_author_that_comes_back_keeps_its_older_lines_apart_from_later_ones(world):
    world.leave(ALICE, PATH, edited(l3="by alice"))
    world.leave(CAROL, PATH, edited(l3="by alice", l8="by carol"))
    world.leave(ALICE, PATH, edited(l3="by alice", l8="by carol", l12="alice again"))
    assert [one.agent for one in world.left(PATH)] == ["alice", "carol", "alice"]
    world.claim(BOB, PATH)
    world.put(PATH, edited(l3="by alice", l17="by bob"))
    assert stops(refused(world)) == [(PATH, "alice", 1)]
    world.claim(CAROL, PATH)
    world.project.holdings.release(BOB, [])
    world.claim(CAROL, PATH)
    world.put(PATH, edited(l3="by alice", l8="by carol", l12="alice again"))
    assert stops(refused(world, CAROL))[-2:] == [(PATH, "alice", 1), (PATH, "alice", 1)]


def test_lines_that_had_landed_when_an_author_left_are_not_the_authors(world):
    world.leave(ALICE, PATH, edited(l3="by alice"))
    for text in (edited(l20="by a person"), edited()):
        blob = world.git("hash-object", "-w", "--stdin", given=text.encode())
        world.git("update-index", "--cacheinfo", f"100644,{blob},{PATH}")
        world.git("commit", "-q", "-m", "by a person")
        if text != edited():
            world.leave(CAROL, PATH, edited(l3="by alice", l8="by carol", l20="by a person"))
    world.claim(BOB, PATH)
    assert stops(refused(world)) == [(PATH, "alice", 1), (PATH, "carol", 1)]


# -- lines that landed, or are gone


def test_later_commits_after_a_refusal_succeed_when_the_lines_are_gone(world):
    world.leave(ALICE, PATH, edited(l3="by alice"))
    world.claim(BOB, PATH)
    world.put(PATH, edited(l15="by bob"))
    world.committed(BOB)
    assert landed(world) == edited(l15="by bob")
    assert (world.left(PATH), authors(world)) == ([], ())


def test_lines_that_only_look_like_another_agents_are_not_refused(world):
    world.leave(ALICE, PATH, edited(l3="line 4"))
    world.claim(BOB, PATH)
    world.put(PATH, edited(l15="by bob"))
    world.committed(BOB)
    assert landed(world) == edited(l15="by bob")


def test_blank_lines_are_nobodys(world):
    world.leave(ALICE, PATH, "\n\n" + edited())
    world.claim(BOB, PATH)
    world.put(PATH, "\n\n" + edited(l15="by bob"))
    world.committed(BOB)


def test_changes_of_people_are_included_and_named(world):
    person = world.project.place.repository
    from dibs.core.claims.plain_commits import pattern_of
    from dibs.services.salvage.files import keep
    from dibs.services.state.sessions import UnfinishedFile, put_left

    world.put(PATH, edited(l3="by a person", l4="by a person"))
    ref = keep(world.root, person, "human", [PATH], at=1.0, about="x")
    left = UnfinishedFile(PATH, "", 1.0, ref, world.root)
    world.project.store.apply(
        lambda rows: put_left(rows, pattern_of(PATH, fold_case=rows.fold_case), left)
    )
    world.claim(BOB, PATH)
    both = edited(l3="by a person", l4="by a person", l15="by bob")
    world.put(PATH, both)
    answer = world.committed(BOB)
    assert landed(world) == both
    assert [(o.path, o.agent, o.lines) for o in answer.included] == [(PATH, "", 2)]
    assert (authors(world), world.left(PATH)) == ((), [])


# -- files that are not compared by lines


def test_a_new_file_that_was_renamed_has_its_authors_lines(world):
    world.leave(ALICE, "src/new.py", "one by alice\ntwo by alice\n")
    world.claim(BOB, "src/")
    os.rename(os.path.join(world.root, "src/new.py"), os.path.join(world.root, "src/moved.py"))
    world.put("src/moved.py", "one by alice\ntwo by alice\nby bob\n")
    world.put("src/other.py", "one by alice\nby bob\nand\nso\non\n")
    assert stops(refused(world)) == [("src/moved.py", "alice", 2)]
    world.committed(BOB, inherited=True)
    assert (authors(world), world.left("src/new.py")) == (("alice",), [])


def binary(world):
    world.put("blob", b"\0one")
    world.git("add", "-A")
    world.git("commit", "-q", "-m", "blob")
    return "blob", b"\0alice", b"\0alice and bob"


def new(_):
    return "src/new.py", "by alice\n", "by alice\nby bob\n"


def deleted_by_its_author(_):
    return PATH, None, edited(l3="by bob")


def deleted_by_the_next(_):
    return PATH, edited(l3="by alice"), None


@pytest.mark.parametrize("case", [binary, new, deleted_by_its_author, deleted_by_the_next])
def test_other_kinds_of_changes_are_refused_until_they_are_inherited(world, case):
    path, hers, his = case(world)
    world.leave(ALICE, path, hers)
    world.claim(BOB, path)
    world.remove(path) if his is None else world.put(path, his)
    (stop,) = refused(world)
    assert (stop.path, stop.holder) == (path, "alice")
    world.committed(BOB, inherited=True)
    assert (world.dirty(), authors(world)) == (set(), ("alice",))


def test_a_link_and_a_file_without_a_copy_are_refused(world):
    os.symlink("one.py", os.path.join(world.root, "src/link"))
    world.claim(ALICE, "src/link")
    world.project.holdings.release(ALICE, [])
    world.leave(ALICE, PATH, edited(l3="by alice"))
    for ref in world.git("for-each-ref", "--format=%(refname)", "refs/salvage").split():
        if world.git("ls-tree", "--name-only", ref, PATH):
            world.git("update-ref", "-d", ref)
    world.claim(BOB, "src/")
    world.put(PATH, edited(l3="by alice", l15="by bob"))
    os.unlink(os.path.join(world.root, "src/link"))
    os.symlink("two.py", os.path.join(world.root, "src/link"))
    assert {stop.path for stop in refused(world)} <= {"src/link", PATH}


def test_binary_content_that_landed_is_nobodys(world):
    path, hers, his = binary(world)
    world.leave(ALICE, path, hers)
    world.claim(BOB, path)
    world.git("commit", "-q", "-am", "by a person")
    world.put(path, his)
    world.committed(BOB)
    assert authors(world) == ()


def test_the_mode_that_another_agent_changed_is_refused(world):
    world.claim(ALICE, PATH)
    os.chmod(os.path.join(world.root, PATH), 0o755)
    world.project.holdings.release(ALICE, [])
    world.claim(BOB, PATH)
    world.put(PATH, edited(l15="by bob"))
    assert stops(refused(world)) == [(PATH, "alice", 0)]


def test_line_endings_that_git_converts_do_not_hide_whose_lines_they_are(world):
    world.put(".gitattributes", "*.py text eol=crlf\n")
    world.git("add", "-A")
    world.git("commit", "-q", "-m", "attributes")
    world.leave(ALICE, PATH, edited(l3="by alice").replace("\n", "\r\n"))
    world.claim(BOB, PATH)
    world.put(PATH, edited(l3="by alice", l15="by bob").replace("\n", "\r\n"))
    (stop,) = refused(world)
    assert (stop.lines, stop.yours) == (1, ("by bob",))


# -- hooks


def hook(world, text):
    place = os.path.join(world.root, ".git/hooks/pre-commit")
    os.makedirs(os.path.dirname(place), exist_ok=True)
    with open(place, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\n{text}\n")
    os.chmod(place, 0o755)


def test_a_refusal_comes_before_the_users_hooks(world):
    hook(world, "touch ran")
    world.leave(ALICE, PATH, edited(l3="by alice"))
    world.claim(BOB, PATH)
    refused(world)
    assert not os.path.exists(os.path.join(world.root, "ran"))


def test_a_hook_cannot_add_another_agents_lines(world):
    hook(world, f"git add {PATH}")
    world.leave(ALICE, PATH, edited(l3="by alice"))
    world.claim(BOB, "src/")
    world.put("src/one.py", "by bob\n")
    (stop,) = refused(world, paths=["src/one.py"])
    assert (stop.path, stop.holder) == (PATH, "alice")
    assert "pre-commit hook staged it" in stop.hint
