"""The digest of briefings, their content, and the crew document's two examples."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.briefing.crews import NONCE, NOW, as_lead, asked, crew, held, waits

from dibs.core.briefing.crew import is_lead, sections
from dibs.core.briefing.layout import render
from dibs.core.briefing.page import (
    digest,
    foreign_texts,
    items,
    show,
)
from dibs.core.briefing.snapshot import CrewState, Tally
from dibs.core.claims.agents import Agent
from dibs.core.claims.ledger import Entry
from dibs.core.text.untrusted import ShownTime, UntrustedText

PLENTY = 10**7


def text_of(sight, **more):
    known = {"nonce": NONCE, "budget": PLENTY, "number": 1} | more
    return render(sections(sight), **known).text


def unfenced(text):
    return re.sub(rf'<data-{NONCE} from="[^"]*">|</data-{NONCE}>', "", text)


# -- the document's examples, with claims instead of locks

LEAD = """\
<!-- CREW_UPDATE
== PROJECT HEALTH ==
✅ 78% complete · 3 active, 2 idle, 1 done · ⚠️ 1 decision pending (3 min)
0 blocked tasks
== YOUR AGENTS ==
- abc12345 — Developer [claude-opus-4.6] — running, task: Implement login endpoint
- def67890 — Code Reviewer [gemini-3-pro-preview] — idle
== RECENT ACTIVITY ==
- [13:45:02] Developer abc12345: Claimed src/auth.ts
- [13:44:58] Architect ghi11111: Decision — use JWT for session tokens
CREW_UPDATE -->
"""
SPECIALIST = """\
<!-- CREW_UPDATE
== CURRENT CREW STATUS ==
- Agent abc12345 (Developer) — running, Task: impl-login, Claims: src/auth.ts
- Agent def67890 (Reviewer) — idle, No task
== RECENT ACTIVITY ==
- [13:44:30] QA jkl22222: Completed task write-auth-tests
CREW_UPDATE -->
"""
QUARTER_TO_TWO = 20_000 * 86_400 + 13 * 3_600 + 45 * 60.0


def without_the_legend(text):
    return re.sub(r"(?m)^briefing \d+ · text in data-.*\n", "", unfenced(text))


def test_the_leads_example_is_reproduced():
    agents = (
        Agent("lead0000", role="Project Lead"),
        Agent("abc12345", role="Developer", parent="lead0000", model="claude-opus-4.6",
              task="Implement login endpoint"),
        Agent("def67890", role="Code Reviewer", parent="lead0000", status="idle",
              model="gemini-3-pro-preview"),
        # The document counts six agents and names two; the others do not belong to this lead.
        Agent("ghi11111", role="Architect"),
        Agent("jkl22222", role="QA", status="idle"),
        Agent("mno33333", role="QA", status="completed"),
    )  # fmt: skip
    at = QUARTER_TO_TWO
    activity = (
        Entry(
            1, at - 2, "ghi11111", "Architect", "decision_made", "use JWT for session tokens", {}
        ),
        Entry(
            2, at + 2, "abc12345", "Developer", "lock_acquired", "", {"patterns": ["src/auth.ts"]}
        ),
    )
    pending = (asked("abc12345", 3, decider="human")._replace(at=at + 3 - 200),)
    tally = Tally(total=50, done=37, skipped=2)
    sight = CrewState(
        at + 3, "lead0000", False, agents, pending=pending, tally=tally, activity=activity
    )
    told = without_the_legend(text_of(sight))
    ours = "OTHER CREW|CREW REQUESTS"
    assert re.sub(rf"== ({ours}) ==\n(- .*\n)+", "", told) == LEAD


def test_the_specialists_example_is_reproduced():
    agents = (
        Agent("me", role="Developer"),
        Agent("abc12345", role="Developer", task="impl-login"),
        Agent("def67890", role="Reviewer", status="idle"),
    )
    done = Entry(
        1, QUARTER_TO_TWO - 30, "jkl22222", "QA", "task_completed", "", {"task": "write-auth-tests"}
    )
    claims = (held("abc12345", "src/auth.ts", 7),)
    sight = CrewState(QUARTER_TO_TWO, "me", False, agents, claims, activity=(done,))
    assert without_the_legend(text_of(sight)) == SPECIALIST


@pytest.mark.parametrize(
    ("tally", "idle", "active", "icon"),
    [
        (Tally(4, 4), 2, 2, "✅ 100% complete · "),
        (Tally(4, 3, 0, ("a",)), 0, 9, "🔴 75% complete · "),
        (Tally(4, 3, 0, (), ("a",)), 0, 9, "🔴 75% complete · "),
        (Tally(1_000, 999), 3, 2, "⚠️ 99% complete · "),
        (Tally(), 3, 3, "✅ "),
        (Tally(), 2, 0, "✅ "),
    ],
)
def test_the_icon_shows_the_worst_problem(tally, idle, active, icon):
    agents = [Agent(f"i{n}", status="idle") for n in range(idle)]
    agents += [Agent(f"r{n}") for n in range(active)]
    sight = CrewState(NOW, "user", True, tuple(agents), tally=tally)
    assert f"\n{icon}{active} active, {idle} idle, 0 done\n" in text_of(sight)


def test_blocked_and_failed_tasks_are_named():
    text = text_of(as_lead(crew(tally=Tally(9, 1, 0, ("a", "b", "c", "d", "e"), ("f",)))))
    assert "\n5 blocked tasks: a, b, c and 2 more · 1 failed: f\n" in text


def test_a_lead_is_a_human_a_parent_or_a_lead_by_role():
    assert not is_lead(crew())
    assert is_lead(as_lead(crew()))
    assert is_lead(crew(human=True))
    for role, leads in (("Project Lead", True), ("team-lead", True), ("Leader", False)):
        assert is_lead(CrewState(NOW, "a", False, (Agent("a", role=role),))) is leads


CONCERNED = """\
- src/auth/login.py (exclusive, token 11, expires in 9m, at 08:09:00)
- docs/guide.md (exclusive): position 1, held by other, times out in 1m30s
- peer requested src/auth/login.py, needed within 4m50s - for the tests - reply: `dibs answer m9 yes` \
(or: later --in 10m, no)
- peer is waiting for src/auth/*.py (exclusive, for 30s) - all of it
- peer holds src/auth/token.py (exclusive, expires in 9m) - refactor it
- d41 peer asked, 3m20s ago: use JWT - it is simple; 1 comment: `dibs decide show d41` - \
`dibs decide confirm d41` or `dibs decide reject d41 --reason WHY`
- d42 you asked, 3m20s ago: drop Python 3.10; waiting for a human
- m31 from peer (Tester), 20s ago: how far are you?
"""


def test_a_specialist_sees_what_concerns_it():
    told = unfenced(text_of(crew()))
    assert {*CONCERNED.splitlines()} <= {*told.splitlines()}
    assert "other holds" not in told


def test_a_queue_position_counts_the_agents_ahead_for_the_same_path():
    queue = (
        waits("peer", "docs/*.md", 18),
        waits("other", "src/x.py", 19),
        waits("me", "docs/guide.md", 20),
        waits("other", "docs/guide.md", 21),
    )
    assert "- docs/guide.md (exclusive): position 2, held by other," in text_of(crew(queue=queue))


def test_activity_is_shown_once():
    recent = tuple(
        Entry(n, NOW, "peer", "QA", "task_completed", "", {"task": f"t{n}"}) for n in range(1, 30)
    )
    own = Entry(30, NOW, "me", "QA", "task_completed", "", {"task": "mine"})
    beat = Entry(31, NOW, "peer", "QA", "lock_renewed", "", {"patterns": ["x"]})
    found = sections(crew(activity=(*recent, own, beat)), told=27)[-1]
    assert [line.key for line in found.lines] == ["event 29", "event 28"]


# -- digest


def changed(sight, kind, field, value):
    """Return the sight with one field of ``peer``'s value of this kind changed."""
    found = {
        "agents": lambda a: a.id == "peer",
        "held": lambda h: h.claim.agent == "peer",
        "queue": lambda w: w.ticket.agent == "peer",
        "pending": lambda d: d.asker == "peer",
    }[kind]

    def other(one):
        if kind in {"held", "queue"} and field not in one._fields:
            inner = "claim" if kind == "held" else "ticket"
            return one._replace(**{inner: getattr(one, inner)._replace(**{field: value})})
        return one._replace(**{field: value})

    values = [other(one) if found(one) else one for one in getattr(sight, kind)]
    return sight._replace(**{kind: tuple(values)})


CONCERNS = {
    "agents": {"name": "Nina", "role": "QA", "status": "idle", "model": "big", "task": "x", "parent": "me"},
    "held": {
        "pattern": "src/auth/x.py", "mode": "shared", "agent": "other", "reason": "new",
    },
    "queue": {
        "agent": "other", "patterns": ("src/auth/login.py",), "mode": "shared", "reason": "new",
        "number": 99,
    },
    "pending": {
        "id": "d99", "asker": "other", "title": "new", "rationale": "new", "conflict": True,
        "decider": "human", "comments": (),
    },
}  # fmt: skip
DOES_NOT = {
    "agents": {"host": "h", "pid": 7, "started": NOW, "context": 0.5, "ended": "x"},
    "held": {
        "ttl": 9.0, "since": NOW, "hard": NOW, "task": "t", "expires_at": NOW, "expires_in": 1.0,
        "id": "c99", "token": 99, "while_running": True, "tree": "x", "branch": "x",
    },
    "queue": {
        "ttl": 9.0, "since": NOW, "seen": NOW, "lasts": 9.0, "until": NOW, "standing": True, "task": "t",
        "place": 9, "gives_up_in": 3.0, "collect_by": NOW,
        "message": "m9", "blocked_by": (),
    },
    "pending": {
        "at": NOW, "role": "x", "outcome": "pending", "data": {"a": 1}, "decided_by": "x",
        "decided_at": NOW, "reason": "x",
    },
}  # fmt: skip
KEYS = {"agents": {"id"}, "held": {"claim", "asks"}, "queue": {"ticket"}, "pending": set()}


def both_digests(sight):
    return digest(sections(sight)), digest(sections(as_lead(sight)))


@pytest.mark.parametrize(
    ("kind", "field"), [(k, f) for k, fields in CONCERNS.items() for f in fields]
)
def test_every_change_that_concerns_an_agent_changes_its_digest(kind, field):
    after = changed(crew(), kind, field, CONCERNS[kind][field])
    before = both_digests(crew())
    assert any(old != new for old, new in zip(before, both_digests(after), strict=True))


@pytest.mark.parametrize(
    ("kind", "field"), [(k, f) for k, fields in DOES_NOT.items() for f in fields]
)
def test_what_a_briefing_does_not_show_does_not_change_the_digest(kind, field):
    assert both_digests(changed(crew(), kind, field, DOES_NOT[kind][field])) == both_digests(crew())


def test_every_field_is_classified_as_shown_or_not():
    for kind, keys in KEYS.items():
        one = getattr(crew(), kind)[0]
        inner = {"held": "claim", "queue": "ticket"}.get(kind)
        fields = {*one._fields, *(getattr(one, inner)._fields if inner else ())}
        assert fields == {*CONCERNS[kind], *DOES_NOT[kind]} | keys


def asks_changed(**changes):
    first = crew().held[0]
    ask = first.asks[0]._replace(**changes)
    return crew(held=(first._replace(asks=(ask,)), *crew().held[1:]))


@pytest.mark.parametrize(
    "after",
    [
        asks_changed(note="new"), asks_changed(asker="other"), asks_changed(answer="later"),
        asks_changed(pattern="src/auth/**"), crew(held=crew().held[1:]), crew(held=crew().held[:2]),
        crew(queue=crew().queue[1:]), crew(queue=crew().queue[:1]), crew(pending=()),
        crew(agents=crew().agents[:2]),
        crew(held=(crew().held[0]._replace(claim=crew().held[0].claim._replace(token=77)), *crew().held[1:])),
    ],
)  # fmt: skip
def test_arrivals_departures_and_replies_change_the_digest(after):
    assert digest(sections(after)) != digest(sections(crew()))


@pytest.mark.parametrize(
    "tally", [Tally(9, 6, 2, ("deploy",), ("build",)), Tally(9, 5, 3, ("deploy",), ("build",)),
              Tally(11, 5, 2, ("deploy",), ("build",)), Tally(9, 5, 2, ("x",), ("build",)),
              Tally(9, 5, 2, ("deploy",), ())],
)  # fmt: skip
def test_board_changes_change_a_leads_digest(tally):
    before = digest(sections(as_lead(crew())))
    assert digest(sections(as_lead(crew(tally=tally)))) != before


def later(sight, seconds):
    return sight._replace(
        now=sight.now + seconds,
        held=tuple(h._replace(expires_in=h.expires_in - seconds) for h in sight.held),
        queue=tuple(w._replace(gives_up_in=w.gives_up_in - seconds) for w in sight.queue),
    )


@settings(deadline=None)  # slow on a busy machine
@given(st.floats(0.001, 10**7))
def test_time_alone_never_changes_the_digest(seconds):
    for sight in (crew(), as_lead(crew()), crew(human=True)):
        assert digest(sections(later(sight, seconds))) == digest(sections(sight))
        shown = text_of(sight, known=items(sections(later(sight, seconds))), number=2)
        assert re.search(
            r"(?m)^== CHANGES SINCE BRIEFING 1 ==\n== (FOR YOU NOW|MESSAGES) ==$", shown
        )


def test_messages_and_activity_do_not_change_the_digest():
    assert digest(sections(crew(mail=(), activity=()))) == digest(sections(crew()))


def test_order_does_not_change_the_digest():
    turned = crew(agents=crew().agents[::-1], held=crew().held[::-1], pending=crew().pending[::-1])
    assert digest(sections(turned)) == digest(sections(crew()))


def test_every_line_of_a_briefing_has_a_unique_key():
    for sight in (crew(), as_lead(crew()), crew(human=True)):
        keys = [line.key for section in sections(sight) for line in section.lines]
        assert len(set(keys)) == len(keys)


# -- text


def test_the_first_briefing_and_one_after_compaction_are_complete():
    known = items(sections(crew()))
    assert "== CHANGES" in text_of(crew(), known=known)
    assert "== CHANGES" not in text_of(crew())


def test_the_nonce_is_checked_against_all_untrusted_text():
    assert {"refactor it", "how far are you?", "use JWT"} <= {*foreign_texts(sections(crew()))}


def test_a_line_shows_its_parts():
    parts = ("a ", UntrustedText("b\nc", "peer"), ShownTime(" d"))
    assert show(parts, "12345678") == 'a <data-12345678 from="peer">b c</data-12345678> d'
