"""Task graphs by brute force: slow, and simple enough to trust."""

from __future__ import annotations

from itertools import combinations, pairwise, permutations

from hypothesis import strategies as st

from dibs.core.tasks.rules import Status, Task

IDS = "abcdefg"
STATUSES = [status for status in Status if status != Status.ARCHIVE]


@st.composite
def boards(draw, *, statuses=tuple(STATUSES), strangers=("x",), cycles=True):
    """Draw up to seven tasks that depend on each other, on unknown ids, and on themselves."""
    ids = draw(st.permutations(IDS[: draw(st.integers(0, len(IDS)))]))
    tasks = []
    for at, task_id in enumerate(ids):
        choices = [*(ids if cycles else ids[:at]), *strangers]
        needed = draw(st.lists(st.sampled_from(choices), max_size=3)) if choices else []
        tasks.append(Task(task_id, draw(st.sampled_from(statuses)), dependencies=tuple(needed)))
    return draw(st.permutations(tasks))


def open_edges(tasks):
    unfinished = {t.id for t in tasks if t.status not in {Status.DONE, Status.CANCELLED}}
    return {t.id: unfinished.intersection(t.dependencies) for t in tasks if t.id in unfinished}


def reaches(edges):
    """Return all pairs of which the first waits for the second, directly or not."""
    pairs = {(one, other) for one in edges for other in edges[one]}
    while True:
        further = {(a, d) for a, b in pairs for c, d in pairs if b == c} - pairs
        if not further:
            return pairs
        pairs |= further


def cycles(edges):
    """Return every path from a node back to itself without repeats, beginning with its smallest node."""
    return {
        way
        for count in range(1, len(edges) + 1)
        for way in permutations(edges, count)
        if way[0] == min(way)
        and all(after in edges[node] for node, after in zip(way, way[1:] + way[:1], strict=True))
    }


def longest_chain(edges):
    return max(
        (
            count
            for count in range(len(edges) + 1)
            for way in permutations(edges, count)
            if all(before in edges[node] for before, node in pairwise(way))
        ),
        default=0,
    )


def widest(edges):
    pairs = reaches(edges)
    return max(
        count
        for count in range(len(edges) + 1)
        for some in combinations(edges, count)
        if not any((a, b) in pairs for a in some for b in some)
    )
