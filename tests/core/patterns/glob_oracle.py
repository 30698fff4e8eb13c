"""An independent implementation of globs: automata built from a pattern's text, sharing no code with Dibs.

A path is read as its segments, each with a "/" behind it. A pattern becomes an automaton over a few
characters that represent all others: those that ``random_pattern`` writes, and OTHER.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

MOST_STATES = 150
OTHER = "z"
WRITTEN = "abcABC.*,-{}]"
ALPHABET = WRITTEN + OTHER
#: How a name can go on: nothing yet, one dot, two dots, something that is a name; and no name at all yet.
FRESH, DOT, DOTS, NAMED, START = range(5)


def alternatives(text: str) -> list[str]:
    """Expand the braces, the first group first."""
    at, depth, start, commas = 0, 0, 0, []
    while at < len(text):
        character = text[at]
        if character == "\\":
            at += 1
        elif character == "[":
            at = _after_class(text, at) - 1
        elif character == "{":
            if not depth:
                start, commas = at, []
            depth += 1
        elif character == "," and depth == 1:
            commas.append(at)
        elif character == "}":
            depth -= 1
            if not depth:
                edges = [start, *commas, at]
                middles = [text[a + 1 : b] for a, b in pairwise(edges)]
                return [
                    whole
                    for middle in middles
                    for whole in alternatives(text[:start] + middle + text[at + 1 :])
                ]
        at += 1
    return [text]


def _after_class(text: str, at: int) -> int:
    at += 1
    if text[at] in "!^":
        at += 1
    first = at
    while text[at] != "]" or at == first:
        at += 2 if text[at] == "\\" else 1
    return at + 1


def _class(body: str, *, folded: bool) -> frozenset[str]:
    negated = body[0] in "!^"
    if negated:
        body = body[1:]
    members: set[str] = set()
    at = 0
    while at < len(body):
        if body[at] == "\\":
            at += 1
        if body[at + 1 : at + 2] == "-" and at + 2 < len(body):
            members.update(c for c in ALPHABET if body[at] <= c <= body[at + 2])
            at += 3
        else:
            members.add(body[at])
            at += 1
    if negated and folded:
        cases = {c.lower() for c in members}
        return frozenset(c for c in ALPHABET if c.lower() not in cases)
    return frozenset(ALPHABET) - members if negated else frozenset(members)


def _segments(text: str, *, folded: bool) -> list[list]:
    """Read one alternative: segments of (characters, starred) steps, or the text "**"."""
    segments: list[list] = [[]]
    at = 0
    while at < len(text):
        character = text[at]
        if character == "/":
            segments.append([])
        elif character == "\\":
            at += 1
            segments[-1].append((frozenset(text[at]), False))
        elif character == "*":
            segments[-1].append((frozenset(ALPHABET), True))
        elif character == "?":
            segments[-1].append((frozenset(ALPHABET), False))
        elif character == "[":
            end = _after_class(text, at)
            segments[-1].append((_class(text[at + 1 : end - 1], folded=folded), False))
            at = end - 1
        else:
            segments[-1].append((frozenset(character), False))
        at += 1
    subtree = text.endswith("/")
    star = (frozenset(ALPHABET), True)
    kept: list = []
    for segment in segments:
        if segment in ([], [(frozenset("."), False)]):
            continue
        if segment == [(frozenset("."), False)] * 2:
            kept.pop()
        else:
            kept.append("**" if segment == [star, star] else segment)
    return [*kept, "**"] if subtree else kept


class TooBig(Exception):
    """The automaton would have too many states to be fast."""


class Automaton:
    """A deterministic automaton without dead ends: for each state its steps, and whether it accepts."""

    def __init__(self, text: str, *, folded: bool) -> None:
        self.folded = folded
        edges: list[list[tuple[frozenset[str], int]]] = [[]]
        free: list[set[int]] = [set()]
        starts, ends = set(), set()
        for alternative in alternatives(text):
            edges.append([])
            free.append(set())
            starts.add(len(edges) - 1)
            for segment in _segments(alternative, folded=folded):
                self._append(segment, edges, free)
            ends.add(len(edges) - 1)
        self._determinise(edges, free, starts, ends)

    def _append(self, segment, edges, free) -> None:
        """Add states for one segment and the "/" after it, after the last state."""

        def new() -> int:
            edges.append([])
            free.append(set())
            return len(edges) - 1

        here = len(edges) - 1
        if segment == "**":
            inside = new()
            out = new()
            edges[here].append((self._fold(frozenset(ALPHABET)), inside))
            edges[inside].append((self._fold(frozenset(ALPHABET)), inside))
            edges[inside].append((frozenset("/"), here))
            free[here].add(out)
            return
        for characters, starred in segment:
            state = new()
            if starred:
                free[here].add(state)
                edges[state].append((self._fold(characters), state))
            else:
                edges[here].append((self._fold(characters), state))
            here = state
        edges[here].append((frozenset("/"), new()))

    def _fold(self, characters: frozenset[str]) -> frozenset[str]:
        return frozenset(c.lower() for c in characters) if self.folded else characters

    def _determinise(self, edges, free, starts, ends) -> None:
        def closed(states):
            todo, seen = list(states), set(states)
            while todo:
                for state in free[todo.pop()] - seen:
                    seen.add(state)
                    todo.append(state)
            return frozenset(seen)

        names = [*sorted(self._fold(frozenset(ALPHABET))), "/"]
        first = (closed(starts), START)
        numbers, todo = {first: 0}, [first]
        table: list[dict[str, int]] = [{}]
        while todo:
            states, progress = todo.pop()
            for character in names:
                after = _progress(progress, character)
                reached = {t for s in states for chars, t in edges[s] if character in chars}
                if after is None or not reached:
                    continue
                state = (closed(reached), after)
                if state not in numbers:
                    numbers[state] = len(table)
                    if len(table) > MOST_STATES:
                        raise TooBig
                    table.append({})
                    todo.append(state)
                table[numbers[states, progress]][character] = numbers[state]
        accepting = {n for (s, p), n in numbers.items() if p == FRESH and s & ends}
        self.table, self.accepting = _alive(table, accepting), accepting

    def accepts(self, path: str) -> bool:
        state = 0
        for character in path + "/":
            known = character.lower() if self.folded else character
            known = known if known in ALPHABET + "/" else OTHER
            if known not in self.table[state]:
                return False
            state = self.table[state][known]
        return state in self.accepting


def _progress(progress: int, character: str) -> int | None:
    if character == "/":
        return FRESH if progress == NAMED else None
    if character == ".":
        return {FRESH: DOT, START: DOT, DOT: DOTS}.get(progress, NAMED)
    return NAMED


def _alive(table, accepting):
    alive = set(accepting)
    grown = True
    while grown:
        more = {n for n, row in enumerate(table) if n not in alive and alive & set(row.values())}
        alive |= more
        grown = bool(more)
    return [{c: t for c, t in row.items() if t in alive} for row in table]


@cache
def automaton(text: str, folded: bool) -> Automaton:
    return Automaton(text, folded=folded)


def share_a_path(a: Automaton, b: Automaton) -> bool:
    """Return whether some path is accepted by both: a walk through the product."""
    todo, seen = [(0, 0)], {(0, 0)}
    while todo:
        here, there = todo.pop()
        if here in a.accepting and there in b.accepting:
            return True
        row, other = a.table[here], b.table[there]
        for character, target in row.items():
            if character in other and (target, other[character]) not in seen:
                pair = (target, other[character])
                seen.add(pair)
                todo.append(pair)
    return False


CLASSES = (
    "[ab]",
    "[!a]",
    "[^b]",
    "[a-c]",
    "[A-B]",
    "[!A-C]",
    "[].a]",
    "[!.]",
    "[a\\-b]",
    "[b-]",
    "[!aA]",
)
ESCAPES = ("\\*", "\\a", "\\{", "\\}", "\\,", "\\B")


def random_pattern(random: Random, depth: int = 0) -> str:
    """Return a random pattern, occasionally an invalid one."""
    count = random.choice((1, 1, 2, 2, 3)) if depth else random.choice((1, 2, 2, 3, 3, 4))
    segments = [_random_segment(random, depth) for _ in range(count)]
    text = (
        random.choice(("/", "/", "/", "//", "/./")).join(segments)
        if depth == 0
        else "/".join(segments)
    )
    return text + "/" * (random.random() < 0.08)


def _random_segment(random: Random, depth: int) -> str:
    if random.random() < 0.22:
        return "**"
    return "".join(_random_piece(random, depth) for _ in range(random.choice((1, 1, 2, 2, 3))))


def _random_piece(random: Random, depth: int) -> str:
    draw = random.random()
    if draw < 0.46:
        return random.choice("aabbcABC.-,") if depth == 0 else random.choice("aabbcABC.-")
    if draw < 0.64:
        return random.choice(("*", "*", "*", "**"))
    if draw < 0.74:
        return "?"
    if draw < 0.84:
        return random.choice(CLASSES)
    if draw < 0.90 or depth > 1:
        return random.choice(ESCAPES)
    options = [
        random.choice(("", random_pattern(random, depth + 1), _random_segment(random, depth + 1)))
        for _ in range(random.choice((1, 2, 2, 3)))
    ]
    return "{" + ",".join(options) + "}"
