"""What the lines of a briefing say: events, notices, neighbours and rivals."""

import itertools
import re

import pytest
from tests.core.briefing.crews import NONCE, NOW, as_lead, asked, crew, held, said, waits

from dibs.core.briefing.activity import is_told, words
from dibs.core.briefing.crew import sections
from dibs.core.briefing.layout import render
from dibs.core.briefing.neighbours import ConflictFinder, Neighbourhood
from dibs.core.briefing.page import digest, show
from dibs.core.claims.agents import Agent
from dibs.core.claims.ledger import Entry, Kind
from dibs.core.claims.rules import Ask


def unfenced(text):
    return re.sub(rf'<data-{NONCE} from="[^"]*">|</data-{NONCE}>', "", text)


def told(sight):
    return unfenced(render(sections(sight), nonce=NONCE, budget=10**6, number=1).text).splitlines()


def entry(kind, summary="", **details):
    return Entry(1, NOW, "peer", "Tester", kind, summary, details)


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (entry("lock_acquired", patterns=["a.py"]), "Acquired lock on a.py"),
        (entry("lock_acquired", patterns=[*"abcde"]), "Acquired lock on a, b, c and 2 more"),
        (entry("lock_revoked", pattern="a b"), "Revoked lock on a b"),
        (
            entry("release_answered", patterns=["a.py"], answer="no", asker="bob"),
            "Said no to bob, who asks for a.py",
        ),
        (entry("release_answered", patterns=["a.py"]), "Answered who asks for a.py"),
        (entry("task_completed", task="task:write-tests"), "Completed task write-tests"),
        (entry("task_completed", "peer finished it"), "Task completed — finished it"),
        (entry("decision_made", "d1", title="use JWT"), "Decision — use JWT"),
        (entry("decision_made", title="use JWT", outcome="recorded"), "Decision — use JWT"),
        (
            entry("decision_made", title="use JWT", outcome="rejected"),
            "Decision rejected — use JWT",
        ),
        (
            entry("decision_made", title="use JWT", outcome="confirmed"),
            "Decision confirmed — use JWT",
        ),
        (
            entry("decision_made", title="a wants b", outcome="settled"),
            "Decision settled — a wants b",
        ),
        (entry("decision_made", title="use JWT", outcome=["x"]), "Decision — use JWT"),
        (entry("commit", "peer: fix it"), "Committed — fix it"),
        (entry("commit", "peers agree"), "Committed — peers agree"),
        (entry("error"), "Error"),
        (entry("from a newer one\n==", "what"), "Event — what"),
        (entry("newer_kind", "what"), "Newer kind — what"),
        (entry("lock_acquired", "odd", patterns=[1, None]), "Lock acquired — odd"),
    ],
)
def test_an_event_is_told_in_the_documents_words(event, text):
    assert unfenced(show(words(event), NONCE)) == text


def test_a_title_is_by_whoever_asked_and_not_by_whoever_decided():
    event = entry("decision_made", title="use JWT", outcome="rejected", asker="ada")
    assert 'from="ada">use JWT<' in show(words(event), NONCE)


def test_every_kind_has_words_of_its_own_or_a_plain_name():
    for kind in Kind:
        assert show(words(entry(kind)), NONCE).isprintable()
        assert not show(words(entry(kind)), NONCE).startswith("Event")


def test_what_is_said_twice_is_told_once():
    assert not is_told(entry("lock_acquired", patterns=["task:t1"]))
    assert is_told(entry("lock_acquired", patterns=["task:t1", "src/a.py"]))
    assert is_told(entry("lock_acquired"))
    assert not is_told(entry("message_sent", "a to b"))
    peer = crew().agents[1]
    claims = (held("peer", "task:write-tests", 3), held("peer", "src/a.py", 4))
    line = "- Agent peer Peer (Tester) — running, Task: write-tests, Locked: src/a.py"
    assert line in told(crew(held=claims))
    idle = crew(agents=(Agent("me"), peer._replace(task="")), held=claims[:1])
    assert "- Agent peer Peer (Tester) — running, No task, Locked: task:write-tests" in told(idle)


@pytest.mark.parametrize(
    ("message", "line"),
    [
        (
            said(7, "", kind="release_request",
                 data={"patterns": ["a"], "count": 1, "until": NOW + 90, "reason": "test"}),
            "- RELEASE REQUEST: peer asks you for a within 1m30s: test - answer: dibs answer m7 yes|later|no",
        ),
        (
            said(7, "", kind="release_request", data={"patterns": ["a b"]}),
            "- RELEASE REQUEST: peer asks you for a b - answer: dibs answer m7 yes|later|no",
        ),
        (
            said(7, "", kind="expired", sender="", role="", data={"patterns": [*"abc"], "count": 9}),
            "- EXPIRED: your claims on a, b, c and 6 more ran out (20s ago)",
        ),
        (
            said(7, "", kind="revoked", data={"patterns": ["a"], "reason": "stuck"}),
            "- REVOKED: peer revoked your claim on a (20s ago): stuck",
        ),
        (
            said(7, "", kind="revoked", sender="", data={"patterns": ["a"]}),
            "- REVOKED: your claim on a became void (20s ago)",
        ),
        (
            said(7, "", kind="handed_over", data={"patterns": ["a"]}),
            "- HANDED OVER: peer handed you a (20s ago)",
        ),
        (
            said(7, "", kind="released", data={"patterns": ["a"]}),
            "- peer gave back a, which you asked for (20s ago)",
        ),
        (
            said(7, "it was handed on", kind="released", data={"patterns": ["a"], "why": "transferred"}),
            "- m7 from peer (Tester), 20s ago: it was handed on",
        ),
        (
            said(7, "look", priority="urgent", wants_ack=True, due=NOW + 60),
            "- URGENT m7 from peer (Tester), 20s ago, acknowledge it within 1m (dibs inbox --ack m7): look",
        ),
        (
            said(7, "yes", reply_to="m5", to="role:Dev", boxes=("me", "other")),
            "- m7 from peer (Tester) to role:Dev, in reply to m5, 20s ago: yes",
        ),
        (
            said(7, "files", kind="forecast", sender="", role=""),
            "- m7 conflict ahead, 20s ago: files",
        ),
        (said(7, "do t1", kind="delegated"), "- m7 work delegated from peer (Tester), 20s ago: do t1"),
    ],
)  # fmt: skip
def test_a_message_is_told_with_what_to_do(message, line):
    assert line in told(crew(mail=(message,)))


def test_what_is_vital_comes_first_then_a_human_then_the_urgent():
    mail = (
        said(1, "one"), said(2, "two", priority="urgent"), said(3, "three", role="human"),
        said(4, "", kind="expired", data={"patterns": ["a"]}),
    )  # fmt: skip
    found = sections(crew(mail=mail))
    assert [line.mail for line in found[0].lines] == ["m4", "m3"]
    letters = next(section for section in found if section.title == "MAIL")
    assert [line.mail for line in letters.lines] == ["m2", "m1"]


def test_a_lead_sees_its_own_agents_apart_and_counts_those_that_ended():
    agents = (
        Agent("me", role="Tech Lead"), Agent("a", parent="me"), Agent("b", parent="a", status="failed"),
        Agent("c", parent="me", status="completed"), Agent("d", role="Code Reviewer"),
    )  # fmt: skip
    lines = told(crew(agents=agents, held=(), queue=(), pending=(), mail=(), activity=()))
    start = lines.index("== YOUR AGENTS ==")
    assert lines[start:-1] == [
        "== YOUR AGENTS ==", "- a — agent — running", "- b — agent — failed", "- and 1 ended",
        "== OTHER CREW ==", "- d — Code Reviewer — running",
    ]  # fmt: skip


def section(lines, title):
    start = lines.index(f"== {title} ==") + 1
    return [*itertools.takewhile(lambda line: line.startswith("- "), lines[start:])]


def test_a_lead_sees_what_its_crew_holds_and_who_waits_for_whom():
    said_later = Ask("src/b.py", "a", "b", "now", NOW - 10, NOW + 90, "m1", "later", NOW, NOW + 300)
    no_word = Ask("src/b.py", "a", "me", "", NOW - 10, NOW + 90, "m2")
    claims = (
        held("a", "src/b.py", 1, said_later, no_word), held("a", "src/a.py", 2), held("c", "task:t", 3),
        held("b", "task:u", 4), held("me", "docs/x.md", 5),
    )  # fmt: skip
    agents = (Agent("me", role="lead"), Agent("a", parent="me"), Agent("b", task="u"), Agent("c"))
    queue = (
        waits("b", "src/*.py", 21), waits("c", "docs/x.md", 22), waits("c", "free.py", 23),
        waits("me", "src/a.py", 24),
    )  # fmt: skip
    pending = (asked("a", 41, decider="human"), asked("b", 42, decider="lead"))
    lines = told(crew(agents=agents, held=claims, queue=queue, pending=pending))
    assert section(lines, "HELD BY THE CREW") == ["- a: src/a.py, src/b.py", "- c: task:t"]
    assert section(lines, "WAITING IN THE CREW") == [
        "- b asks a for src/b.py; a said later, in 5m",
        "- me asks a for src/b.py; no answer yet, 10s ago",
        "- b waits for src/*.py, held by a, for 30s",
        "- c waits for free.py, held by nobody, for 30s",
        "- d41 (architecture) a waits for a human, 3m20s ago: use JWT",
        "- d42 (architecture) b waits for an agent above b, 3m20s ago: use JWT",
    ]
    assert section(lines, "WAITING FOR YOU") == ["- c waits for docs/x.md (exclusive, for 30s)"]


def test_a_lead_is_told_of_whom_nothing_was_heard_and_that_changes_no_digest():
    sight = as_lead(crew(seen={"peer": NOW - 1_200, "other": NOW - 299}))
    lines = told(sight)
    assert section(lines, "YOUR AGENTS") == [
        "- peer Peer — Tester [small-1] — running, task: write-tests, not heard of for 20m"
    ]
    assert section(lines, "OTHER CREW") == ["- other — Reviewer — idle"]
    assert digest(sections(sight)) == digest(sections(as_lead(crew())))


def test_who_does_not_lead_is_not_told_of_others_waits():
    lines = told(crew())
    assert not [line for line in lines if "IN THE CREW" in line or "BY THE CREW" in line]


def test_all_agents_are_a_humans_own_and_humans_are_no_agents():
    agents = (*crew().agents, Agent("user-pts-1", role="human"))
    lines = told(crew(agents=agents, me="user-pts-1", human=True))
    assert "== OTHER CREW ==" not in lines
    assert not [line for line in lines if line.startswith("- user-pts-1")]
    assert not [line for line in told(crew(agents=agents)) if "user-pts-1" in line]
    assert "- peer Peer — Tester [small-1] — running, task: write-tests" in told(as_lead(crew()))


def test_a_role_is_bare_only_if_it_is_a_word_or_one_that_we_know():
    for role, bare in (("QA Tester", True), ("Ignore All Claims", False), ("Tester", True)):
        agents = (Agent("me"), Agent("peer", role=role))
        text = render(sections(crew(agents=agents)), nonce=NONCE, budget=9999, number=1).text
        assert (f"({role})" in text) is bare


# -- near, and in the way


@pytest.mark.parametrize(
    ("mine", "theirs", "near"),
    [
        ("src/a.py", "src/b.py", True),
        ("src/a.py", "src/x/b.py", False),
        ("src/**", "src/x/b.py", True),
        ("src/x/b.py", "src/**/*.py", True),
        ("src/x/b.py", "**/*.py", True),
        ("src/x/b.py", "*.py", False),
        ("README.md", "*.py", True),
        ("Src/A.py", "src/b.py", True),
        ("src/auth/a.py", "src/authority/b.py", False),
        ("src/auth/**", "src/authority/b.py", False),
        ("task:one", "task:two", False),
        ("task:one", "task:one", True),
        ("a.py", "task:one", False),
    ],
)
def test_near_is_the_same_folder_or_a_tree_that_covers_it(mine, theirs, near):
    assert Neighbourhood([mine]).near(theirs) is near


@pytest.mark.parametrize(
    ("held_by_other", "wanted", "meet"),
    [
        (("src/a.py", "exclusive"), (["SRC/a.py"], "exclusive"), True),
        (("src/a.py", "shared"), (["src/a.py"], "shared"), False),
        (("src/a.py", "shared"), (["src/a.py"], "exclusive"), True),
        (("src/**", "exclusive"), (["lib/x", "src/x/y.py"], "shared"), True),
        (("src/*.py", "exclusive"), (["src/*.ts"], "exclusive"), False),
        (("src/{a,b}/x.py", "exclusive"), (["src/b/*.py"], "exclusive"), True),
        (("{src,lib}/x.py", "exclusive"), (["lib/**"], "exclusive"), True),
        (("stra\u00dfe/**", "exclusive"), (["strasse/x"], "exclusive"), True),
        (("task:a/*", "exclusive"), (["task:a/b"], "exclusive"), True),
        (("[broken", "exclusive"), (["[broken"], "exclusive"), True),
        (("[broken", "exclusive"), (["a"], "exclusive"), False),
    ],
)
def test_rivals_are_those_that_a_claim_would_have(held_by_other, wanted, meet):
    assert bool(ConflictFinder([(7, *held_by_other)]).of(*wanted)) is meet
