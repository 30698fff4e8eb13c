"""The cost of a briefing, what fits its budget, and how changes are shown."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.core.briefing.crews import NONCE, NOW, crew, said
from tests.core.briefing.test_page import PLENTY, text_of, unfenced

from dibs.core.briefing.crew import sections
from dibs.core.briefing.layout import render
from dibs.core.briefing.page import MIN_BUDGET, Line, Section, items, tokens
from dibs.core.claims.agents import Agent
from dibs.core.talk.mail import VITAL
from dibs.core.text.untrusted import ShownTime, UntrustedText

# -- budget

words = st.text(alphabet="abcXYZ 019-/é—日", min_size=0, max_size=80)
parts = st.lists(
    words
    | st.builds(UntrustedText, words, st.just("peer"), st.integers(1, 60))
    | st.builds(ShownTime, words),
    min_size=1,
    max_size=4,
).map(tuple)


#: Drawing and rendering whole pages is slow on a busy machine.
patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def pages(draw):
    """Draw sections as a real page has them: vital lines, state, and messages."""
    must = [
        Line(f"m{n}", draw(parts), True, f"m{n}", f"- vital: `dibs inbox m{n}`")
        for n in range(draw(st.integers(0, 12)))
    ]
    state = [Line(f"s{n}", draw(parts)) for n in range(draw(st.integers(0, 12)))]
    mail = [
        Line(f"m{n}", draw(parts), False, f"m{n}", f"- a message: `dibs inbox m{n}`")
        for n in range(100, 100 + draw(st.integers(0, 12)))
    ]
    found = [
        Section("FOR YOU NOW", tuple(must), volatile=True),
        Section("STATE", tuple(state[:6])),
        Section("MORE", tuple(state[6:]), rank=1),
        Section("MESSAGES", tuple(mail), volatile=True),
    ]
    return [section for section in found if section.lines]


@patient
@given(pages(), st.integers(0, 1_500), st.integers(0, 10**6))
def test_a_budget_is_never_exceeded_and_omitted_lines_are_counted(page, budget, number):
    told = render(page, nonce=NONCE, budget=budget, number=number)
    assert tokens(told.text) <= max(budget, MIN_BUDGET)
    lines = [line for section in page for line in section.lines]
    shown = {line.key for line in lines if line.mail in told.mail and line.mail} | {*told.told}
    assert told.left == len(lines) - len(shown)
    assert (f"\nand {told.left} more: " in told.text) is (told.left > 0)
    assert told.told.items() <= items(page).items()


@patient
@given(pages(), st.integers(200, 1_500))
def test_nothing_replaces_a_vital_line(page, budget):
    told = render(page, nonce=NONCE, budget=budget, number=1)
    vital = [line.mail for section in page for line in section.lines if line.must]
    if not {*vital} <= {*told.mail}:
        assert {*told.mail} < {*vital}
        assert not told.told
        assert told.mail == tuple(vital[: len(told.mail)])
    if vital:
        assert vital[0] in told.mail


@patient
@given(st.integers(1, 40), st.text(max_size=300))
def test_a_vital_notice_is_shown_however_long_it_is(count, text):
    long = "p" * 64
    mail = tuple(
        said(10**15 + n, text, kind=kind, sender=long, role=text,
             data={"patterns": [text or "x"] * 9, "reason": text, "until": NOW})
        for n in range(count)
        for kind in sorted(VITAL)
    )  # fmt: skip
    told = render(sections(crew(mail=mail)), nonce="ffffffff", budget=MIN_BUDGET, number=10**6)
    assert tokens(told.text) <= MIN_BUDGET
    assert told.mail
    assert not told.told or len(told.mail) == len(mail)


def test_a_large_crew_does_not_starve_messages():
    agents = tuple(Agent(f"a{n}", role="Tester", task="something to do") for n in range(300))
    waiting = [said(n, "x" * 5_000) for n in range(1, 20)]
    for _ in range(40):
        told = render(
            sections(crew(agents=agents, mail=tuple(waiting))), nonce=NONCE, budget=300, number=1
        )
        assert told.mail
        waiting = [message for message in waiting if message.id not in told.mail]
        if not waiting:
            break
    assert not waiting


def test_each_section_gets_some_lines_before_one_gets_all():
    agents = tuple(Agent(f"a{n}", role="Tester") for n in range(300))
    text = text_of(crew(agents=(*crew().agents, *agents)), budget=1_500)
    for title in (
        "CURRENT CREW STATUS",
        "YOUR CLAIMS",
        "YOUR QUEUE",
        "WAITING FOR YOU",
        "DECISIONS",
    ):
        assert f"\n== {title} ==\n" in text


@pytest.mark.parametrize("budget", [MIN_BUDGET, 260, 400])
def test_a_line_too_long_for_any_page_is_named_and_hides_nothing(budget):
    long = tuple(UntrustedText("ö" * 200, "peer") for _ in range(9))
    page = [Section("STATE", (Line("agent peer", long), Line("agent other", ("- other",))))]

    told = render(page, nonce=NONCE, budget=budget, number=10**6)

    assert tokens(told.text) <= budget
    assert "\n- agent peer: too long, `dibs brief --peek`\n- other\n" in told.text
    assert told.told == items(page)
    whole = render(page, nonce=NONCE, budget=PLENTY, number=1)
    assert "too long" not in whole.text


# -- tokens


@patient
@given(st.lists(st.text(alphabet="ab cDE1-é", max_size=30) | st.just(" the agent"), max_size=8))
def test_the_cost_of_a_text_is_that_of_its_lines(lines):
    assert tokens("".join(f"{line}\n" for line in lines)) == sum(tokens(s) + 1 for s in lines)


@patient
@given(st.text(max_size=200) | st.text(alphabet="ab cDE 12\n-", max_size=200))
def test_no_text_has_more_tokens_than_bytes(text):
    assert tokens(text) <= len(text.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize(
    ("text", "counted"),
    [("the", 2), (" the", 1), (" them", 2), ("/the", 3), ("qxzjvkw", 7), ("tests/a_1.py", 9), ("Ünd é", 6),
     (" — ", 5), (" agent-7 waits", 6)],
)  # fmt: skip
def test_only_pairs_that_every_tokenizer_merges_count_once(text, counted):
    assert tokens(text) == counted


#: The most tokens that any of seven tokenizers (32,000 to 200,000 words) made of these texts, as measured.
MEASURED = {
    "== CHANGES SINCE BRIEFING 11 ==": 15,
    "✅ 78% complete · 3 active, 2 idle, 1 done · ⚠️ 1 decision pending (3 min)": 35,
    "- RELEASE REQUEST: bob asks you for src/auth/ within 5m - answer: dibs answer m8 yes|later|no": 34,
    '<data-2ae09e40 from="bob">the hotfix needs it</data-2ae09e40>': 31,
    "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08": 60,
    "qxzjv kwqzx jvkqw zxqjk vwkzq xjqvz kqxwj": 33,
    "gtrfw plmok njiuh bvcfx zsawq": 16,
    "QzXkVjWqBtGhYnMjUiKl": 19,
    "Der Prüfstand läuft, bitte die Schlüssel nicht überschreiben": 21,
    "テストを書き直しました。ありがとう": 18,
    "for (int i = 0; i < n; ++i) { sum += a[i] * b[i]; }": 28,
    "🔴🔴✅⚠️ … — ·": 20,
}


@pytest.mark.parametrize("text", MEASURED)
def test_no_measured_tokenizer_exceeds_the_estimate(text):
    assert tokens(text) >= MEASURED[text]


# -- changes

states = st.dictionaries(
    st.sampled_from([f"thing {n}" for n in range(12)]),
    st.text(alphabet="abcd ", min_size=1, max_size=40).map(lambda text: f"v{text}v"),
)


def page_of(state):
    lines = tuple(
        Line(key, (f"- {key}: ", UntrustedText(state[key], "x"))) for key in sorted(state)
    )
    return [Section("STATE", lines)] if lines else []


def applied(before, text):
    """Return what a reader who knew ``before`` knows after reading ``text``."""
    after = dict(before) if "== CHANGES SINCE" in text else {}
    for line in unfenced(text).splitlines():
        if line.startswith("no longer: "):
            del after[line.removeprefix("no longer: ")]
        elif line.startswith("- thing"):
            key, _, value = line.removeprefix("- ").partition(": ")
            after[key] = value
    return after


def squeezed(state):
    return {key: " ".join(value.split()) for key, value in state.items()}


@patient
@given(states, states)
def test_known_state_plus_changes_gives_the_current_state(old, new):
    first = render(page_of(old), nonce=NONCE, budget=PLENTY, number=1)
    told = render(page_of(new), nonce=NONCE, budget=PLENTY, number=2, known=first.told)
    assert applied(squeezed(old), told.text) == squeezed(new)
    assert told.told == items(page_of(new))
    whole = render(page_of(new), nonce=NONCE, budget=PLENTY, number=2)
    assert tokens(told.text) <= tokens(whole.text)
    assert (told.mode == "delta") is (tokens(told.text) < tokens(whole.text))


@patient
@given(st.lists(states, min_size=2, max_size=5), st.integers(260, 400))
def test_a_line_that_did_not_fit_is_shown_later(history, budget):
    known, reader = None, {}
    for number, state in enumerate(history, 1):
        told = render(page_of(state), nonce=NONCE, budget=budget, number=number, known=known)
        reader, known = applied(reader, told.text), told.told
        assert known.keys() == reader.keys()
    for number in range(len(history), len(history) + 40):
        told = render(page_of(history[-1]), nonce=NONCE, budget=budget, number=number, known=known)
        if told.mode == "full" and told.left:
            return  # the whole is shorter than the changes and still does not fit
        reader, known = applied(reader, told.text), told.told
    assert reader == squeezed(history[-1])
