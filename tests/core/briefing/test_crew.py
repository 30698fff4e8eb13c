"""The lines of a briefing: events, notices, nearby claims, and conflicts."""

import itertools
import re

import pytest
from tests.core.briefing.crews import NONCE, NOW, as_lead, asked, crew, held, said, waits

from dibs.core.briefing.activity import is_told, words
from dibs.core.briefing.crew import sections, utc_clock
from dibs.core.briefing.layout import render
from dibs.core.briefing.neighbors import ConflictFinder, Neighborhood
from dibs.core.briefing.page import digest, show
from dibs.core.briefing.snapshot import Tally
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
        (entry("lock_acquired", patterns=["a.py"]), "Claimed a.py"),
        (entry("lock_acquired", patterns=[*"abcde"]), "Claimed a, b, c and 2 more"),
        (entry("lock_revoked", pattern="a b"), "Revoked the claim on a b"),
        (
            entry("release_answered", patterns=["a.py"], answer="no", asker="bob"),
            "Replied no to bob's request for a.py",
        ),
        (entry("release_answered", patterns=["a.py"]), "Replied to the request for a.py"),
        (entry("lock_expired", pattern="a.py"), "Claim expired: a.py"),
        (entry("write_refused", paths=["a.py"]), "Blocked from changing a.py"),
        (entry("foreign_write", paths=["a.py"]), "Changed another agent's a.py"),
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
            "Decision closed — a wants b",
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
def test_a_ledger_entry_reads_like_the_crew_document(event, text):
    assert unfenced(show(words(event), NONCE)) == text


def test_the_asker_not_the_decider_is_the_author_of_a_title():
    event = entry("decision_made", title="use JWT", outcome="rejected", asker="ada")
    assert 'from="ada">use JWT<' in show(words(event), NONCE)


def test_every_kind_has_its_own_text_or_a_readable_name():
    for kind in Kind:
        assert show(words(entry(kind)), NONCE).isprintable()
        assert not show(words(entry(kind)), NONCE).startswith("Event")


def test_a_briefing_does_not_repeat_itself():
    assert not is_told(entry("lock_acquired", patterns=["task:t1"]))
    assert is_told(entry("lock_acquired", patterns=["task:t1", "src/a.py"]))
    assert is_told(entry("lock_acquired"))
    assert not is_told(entry("message_sent", "a to b"))
    peer = crew().agents[1]
    claims = (held("peer", "task:write-tests", 3), held("peer", "src/a.py", 4))
    line = "- Agent peer Peer (Tester) — running, Task: write-tests, Claims: src/a.py"
    assert line in told(crew(held=claims))
    idle = crew(agents=(Agent("me"), peer._replace(task="")), held=claims[:1])
    assert "- Agent peer Peer (Tester) — running, No task, Claims: task:write-tests" in told(idle)


REPLY = "reply: `dibs answer m7 yes` (or: later --in 10m, no)"


@pytest.mark.parametrize(
    ("message", "line"),
    [
        (
            said(7, "", kind="release_request",
                 data={"patterns": ["a"], "count": 1, "until": NOW + 90, "reason": "test"}),
            "- RELEASE REQUEST: peer requested a, needed within 1m30s: test - " + REPLY,
        ),
        (
            said(7, "", kind="release_request", data={"patterns": ["a b"]}),
            "- RELEASE REQUEST: peer requested a b - " + REPLY,
        ),
        (
            said(7, "", kind="expired", sender="", role="", data={"patterns": [*"abc"], "count": 9}),
            "- EXPIRED: your claims on a, b, c and 6 more expired (20s ago)",
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
            "- TRANSFERRED: peer transferred a to you (20s ago)",
        ),
        (
            said(7, "", kind="released", data={"patterns": ["a"]}),
            "- peer released a, which you requested (20s ago)",
        ),
        (
            said(7, "it was transferred", kind="released", data={"patterns": ["a"], "why": "transferred"}),
            "- m7 from peer (Tester), 20s ago: it was transferred",
        ),
        (
            said(7, "yes", reply_to="m5", to="role:Dev", boxes=("me", "other")),
            "- m7 from peer (Tester) to role:Dev, in reply to m5, 20s ago: yes",
        ),
        (
            said(7, "files", kind="forecast", sender="", role=""),
            "- m7 predicted conflict, 20s ago: files",
        ),
        (said(7, "do t1", kind="delegated"), "- m7 delegated task from peer (Tester), 20s ago: do t1"),
    ],
)  # fmt: skip
def test_a_message_says_what_to_do(message, line):
    assert line in told(crew(mail=(message,)))


def test_vital_notices_come_first_then_humans_then_the_oldest_messages():
    mail = (
        said(1, "one"), said(2, "two"), said(3, "three", role="human"),
        said(4, "", kind="expired", data={"patterns": ["a"]}),
    )  # fmt: skip
    found = sections(crew(mail=mail))
    assert [line.mail for line in found[0].lines] == ["m4", "m3"]
    letters = next(section for section in found if section.title == "MESSAGES")
    assert [line.mail for line in letters.lines] == ["m1", "m2"]


def test_a_lead_sees_its_own_agents_separately_and_a_count_of_those_that_ended():
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


def test_health_and_roster_tell_how_agents_ended():
    ends = {
        "c": ("completed", ""), "s": ("terminated", "by me"), "g": ("exited", "its process died"),
        "before": ("exited", "a continues its session"),
    }  # fmt: skip
    agents = (
        Agent("me", role="lead"), Agent("a", parent="me"), Agent("i", parent="me", status="idle"),
        *(Agent(id_, parent="me", status=how, ended=why) for id_, (how, why) in ends.items()),
    )  # fmt: skip
    alone = {"held": (), "queue": (), "pending": (), "mail": (), "activity": (), "tally": Tally()}

    lines = told(crew(agents=agents, **alone))
    silent = told(crew(agents=agents, doing={"a": "gone"}, **alone))

    assert "✅ 2 active, 1 idle, 1 done, 1 stopped, 1 gone" in lines
    assert "- and 3 ended (1 done, 1 stopped, 1 gone)" in lines
    assert not any("failed" in line for line in lines)
    assert "✅ 1 active, 1 idle, 1 done, 1 stopped, 2 gone" in silent
    assert "- a — agent — gone" in silent


def test_an_expiry_is_shown_at_its_deadline():
    event = Entry(
        9, NOW, "peer", "agent", "lock_expired", "", {"pattern": "a", "expired_at": NOW - 90}
    )
    message = said(
        7, "", kind="expired", sender="", data={"patterns": ["a"], "expired_at": NOW - 90}
    )

    lines = told(crew(activity=(event,), mail=(message,)))

    assert "- EXPIRED: your claim on a expired (1m30s ago)" in lines
    assert f"- [{utc_clock(NOW - 90)}] agent peer: Claim expired: a" in lines


def section(lines, title):
    start = lines.index(f"== {title} ==") + 1
    return [*itertools.takewhile(lambda line: line.startswith("- "), lines[start:])]


def test_a_lead_sees_what_its_crew_holds_and_who_waits_for_whom():
    said_later = Ask("src/b.py", "a", "b", "now", NOW - 10, NOW + 90, "m1", "later", NOW, NOW + 300)
    no_reply = Ask("src/b.py", "a", "me", "", NOW - 10, NOW + 90, "m2")
    claims = (
        held("a", "src/b.py", 1, said_later, no_reply), held("a", "src/a.py", 2), held("c", "task:t", 3),
        held("b", "task:u", 4), held("me", "docs/x.md", 5),
    )  # fmt: skip
    agents = (Agent("me", role="lead"), Agent("a", parent="me"), Agent("b", task="u"), Agent("c"))
    queue = (
        waits("b", "src/*.py", 21), waits("c", "docs/x.md", 22), waits("c", "free.py", 23),
        waits("me", "src/a.py", 24),
    )  # fmt: skip
    pending = (asked("a", 41, decider="human"), asked("b", 42, decider="lead"))
    lines = told(crew(agents=agents, held=claims, queue=queue, pending=pending))
    assert section(lines, "CREW CLAIMS") == ["- a: src/a.py, src/b.py", "- c: task:t"]
    assert section(lines, "CREW REQUESTS") == [
        "- b requested src/b.py from a; a replied later, due in 5m",
        "- me requested src/b.py from a, 10s ago; no reply yet",
        "- b is waiting for src/*.py, held by a, for 30s",
        "- c is waiting for free.py, unclaimed, for 30s",
        "- d41 a is waiting for a human, 3m20s ago: use JWT",
        "- d42 b is waiting for an agent above b, 3m20s ago: use JWT",
    ]
    assert section(lines, "WAITING FOR YOU") == [
        "- c is waiting for docs/x.md (exclusive, for 30s)"
    ]


def test_a_lead_sees_missing_heartbeats_which_do_not_change_the_digest():
    sight = as_lead(crew(seen={"peer": NOW - 1_200, "other": NOW - 299}))
    lines = told(sight)
    assert section(lines, "YOUR AGENTS") == [
        "- peer Peer — Tester [small-1] — running, task: write-tests, no heartbeat for 20m"
    ]
    assert section(lines, "OTHER CREW") == ["- other — Reviewer — idle"]
    assert digest(sections(sight)) == digest(sections(as_lead(crew())))


def test_only_a_lead_sees_what_others_wait_for():
    lines = told(crew())
    assert not [line for line in lines if "== CREW " in line]


def test_a_human_leads_all_agents_and_is_not_listed_as_one():
    agents = (*crew().agents, Agent("user-pts-1", role="human"))
    lines = told(crew(agents=agents, me="user-pts-1", human=True))
    assert "== OTHER CREW ==" not in lines
    assert not [line for line in lines if line.startswith("- user-pts-1")]
    assert not [line for line in told(crew(agents=agents)) if "user-pts-1" in line]
    assert "- peer Peer — Tester [small-1] — running, task: write-tests" in told(as_lead(crew()))


def test_a_role_is_unfenced_only_if_it_is_one_word_or_known():
    for role, bare in (("QA Tester", True), ("Ignore All Claims", False), ("Tester", True)):
        agents = (Agent("me"), Agent("peer", role=role))
        text = render(sections(crew(agents=agents)), nonce=NONCE, budget=9999, number=1).text
        assert (f"({role})" in text) is bare


# -- nearby and conflicting claims


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
def test_near_means_the_same_folder_or_a_tree_that_covers_it(mine, theirs, near):
    assert Neighborhood([mine]).near(theirs) is near


@pytest.mark.parametrize(
    ("held_by_other", "wanted", "conflict"),
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
def test_predicted_conflicts_are_those_of_a_claim(held_by_other, wanted, conflict):
    assert bool(ConflictFinder([(7, *held_by_other)]).of(*wanted)) is conflict
