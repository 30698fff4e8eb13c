"""A small crew as two of its agents see it; a starting point for briefing tests."""

from dibs.core.briefing.snapshot import CrewState, Tally
from dibs.core.claims.agents import Agent
from dibs.core.claims.ledger import Entry
from dibs.core.claims.rules import Ask, Claim, Held, Ticket, Waiter
from dibs.core.talk.decisions import Comment, Decision
from dibs.core.talk.mail import Message

NOW = 1_800_000_000.0
NONCE = "0f1e2d3c"


def held(agent, pattern, number, *asks, mode="exclusive", **more):
    claim = Claim(f"c{number}", pattern, mode, agent, number, 600.0, NOW - 60, **more)
    return Held(claim, NOW + 540, 540.0, asks)


def waits(agent, pattern, number, **more):
    ticket = Ticket(
        number, agent, (pattern,), "exclusive", 600.0, NOW - 30, NOW - 5, 30.0, NOW + 90, **more
    )
    return Waiter(ticket, 1, 90.0)


def asked(asker, number, **more):
    known = {"title": "use JWT", "rationale": "it is simple"}
    known |= {"outcome": "pending", "decider": "role:Developer"} | more
    return Decision(f"d{number}", NOW - 200, asker, "Tester", **known)


def said(number, text, *, kind="message", sender="peer", role="Tester", **more):
    known = {"to": "me", "boxes": ("me",)} | more
    return Message(f"m{number}", NOW - 20, sender, role, kind, text, **known)


def crew(**changes):
    """Return what ``me`` sees: an agent near it, an agent waiting for it, messages, decisions."""
    request = Ask("src/auth/login.py", "me", "peer", "for the tests", NOW - 10, NOW + 290, "m9")
    sight = CrewState(
        now=NOW,
        me="me",
        human=False,
        agents=(
            Agent("me", role="Developer", task="login"),
            Agent("peer", name="Peer", role="Tester", model="small-1", task="write-tests"),
            Agent("other", name="other", role="Reviewer", status="idle"),
        ),
        held=(
            held("me", "src/auth/login.py", 11, request),
            held("peer", "src/auth/token.py", 12, reason="refactor it"),
            held("other", "docs/guide.md", 13),
        ),
        queue=(
            waits("me", "docs/guide.md", 21, reason="a new page"),
            waits("peer", "src/auth/*.py", 22, reason="all of it"),
        ),
        mail=(said(31, "how far are you?"),),
        pending=(
            asked("peer", 41, comments=(Comment(NOW, "other", "Reviewer", "fine"),)),
            asked("me", 42, decider="human", title="drop Python 3.10"),
        ),
        tally=Tally(9, 5, 2, ("deploy",), ("build",)),
        activity=(
            Entry(51, NOW - 9, "peer", "Tester", "lock_acquired", "", {"patterns": ["src/a.py"]}),
        ),
    )
    return sight._replace(**changes)


def as_lead(sight):
    """Return the same crew as its lead sees it: ``peer`` is below it, ``other`` is not."""
    agents = tuple(a._replace(parent="me") if a.id == "peer" else a for a in sight.agents)
    return sight._replace(agents=agents)
