"""What can be asked of any directed graph: its circles, an order, its depths, its width.

Pure, and without recursion: a chain of ten thousand is as good as a bush. A graph is a mapping from each node
to those that it points at; all of these must be nodes too.
"""

from __future__ import annotations

from collections import deque
from heapq import heapify, heappop, heappush

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Edges = Mapping[str, Sequence[str]]


def components(edges: Edges) -> list[list[str]]:
    """Return the largest sets in which each node reaches each other, those pointed at first."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    placed: set[str] = set()
    found = []
    for root in edges:
        path = [] if root in number else [(root, iter(edges[root]))]
        if path:
            number[root] = low[root] = len(number)
            stack.append(root)
        while path:
            node, targets = path[-1]
            deeper = _next_unseen(node, targets, number, low, placed)
            if deeper is not None:
                number[deeper] = low[deeper] = len(number)
                stack.append(deeper)
                path.append((deeper, iter(edges[deeper])))
                continue
            path.pop()
            if path:
                above = path[-1][0]
                low[above] = min(low[above], low[node])
            if low[node] == number[node]:
                at = len(stack) - 1
                while stack[at] != node:
                    at -= 1
                found.append(stack[at:])
                placed.update(stack[at:])
                del stack[at:]
    return found


def _next_unseen(
    node: str, targets: Iterator[str], number: dict[str, int], low: dict[str, int], placed: set[str]
) -> str | None:
    for target in targets:
        if target not in number:
            return target
        if target not in placed:
            low[node] = min(low[node], number[target])
    return None


def is_circle(component: Sequence[str], edges: Edges) -> bool:
    """Tell whether a component holds a way from a node back to itself."""
    return len(component) > 1 or component[0] in edges[component[0]]


def shortest_circle(edges: Edges, start: str) -> tuple[str, ...]:
    """Return the nodes of a shortest way from ``start`` back to it, or nothing if there is none."""
    came_from: dict[str, str] = {}
    waiting = deque([start])
    while waiting:
        node = waiting.popleft()
        for target in edges[node]:
            if target == start:
                return _way_back(came_from, node, start)
            if target not in came_from:
                came_from[target] = node
                waiting.append(target)
    return ()


def _way_back(came_from: Mapping[str, str], node: str, start: str) -> tuple[str, ...]:
    way = [node]
    while way[-1] != start:
        way.append(came_from[way[-1]])
    return tuple(reversed(way))


def reversed_edges(edges: Edges) -> dict[str, list[str]]:
    """Return the same graph with each edge turned round."""
    back: dict[str, list[str]] = {node: [] for node in edges}
    for node, targets in edges.items():
        for target in dict.fromkeys(targets):
            back[target].append(node)
    return back


def in_order(edges: Edges) -> tuple[list[str], list[str]]:
    """Return the nodes so that each follows those it points at, and those for which that cannot be.

    Where several may come next, the first of the mapping does. The second list holds what is on a circle
    or points at one, directly or not.
    """
    names = list(edges)
    place = {node: at for at, node in enumerate(names)}
    missing = {node: len(set(targets)) for node, targets in edges.items()}
    back = reversed_edges(edges)
    heap = [place[node] for node, count in missing.items() if not count]
    heapify(heap)
    order = []
    while heap:
        node = names[heappop(heap)]
        order.append(node)
        for source in back[node]:
            missing[source] -= 1
            if not missing[source]:
                heappush(heap, place[source])
    return order, [node for node in names if missing[node]]


def depths(edges: Edges, order: Sequence[str]) -> dict[str, int]:
    """Return how many nodes the longest way from each node has after it; ``order`` as ``in_order`` gives."""
    deep: dict[str, int] = {}
    for node in order:
        deep[node] = max((deep[target] + 1 for target in edges[node]), default=0)
    return deep


def reached(edges: Edges, start: str) -> list[str]:
    """Return what can be reached from ``start``, the nearest first, without ``start`` itself."""
    seen = {start: None}
    waiting = deque([start])
    while waiting:
        for target in edges[waiting.popleft()]:
            if target not in seen:
                seen[target] = None
                waiting.append(target)
    return list(seen)[1:]


def largest_antichain(edges: Edges, order: Sequence[str]) -> int:
    """Return how many nodes there are at most of which none reaches another; ``order`` names all nodes.

    By Dilworth's theorem that is the number of chains that cover the graph, and so the number of nodes
    less the size of a largest matching between nodes and what they reach. Sets are the bits of a number.
    """
    place = {node: at for at, node in enumerate(order)}
    reach: list[int] = []
    for node in order:
        bits = 0
        for target in edges[node]:
            bits |= reach[place[target]] | 1 << place[target]
        reach.append(bits)
    return len(reach) - _largest_matching(reach)


def _largest_matching(reach: Sequence[int]) -> int:
    partner: dict[int, int] = {}
    alone = list(range(len(reach)))
    while True:
        # One round shares what it has seen: no node is tried twice, so a round costs what the nodes cost.
        unseen = (1 << len(reach)) - 1
        free = unseen
        for right in partner:
            free ^= 1 << right
        left_over = []
        for start in alone:
            unseen, free, found = _matched(start, reach, partner, unseen, free)
            if not found:
                left_over.append(start)
        if len(left_over) == len(alone):
            return len(partner)
        alone = left_over


def _matched(
    start: int, reach: Sequence[int], partner: dict[int, int], unseen: int, free: int
) -> tuple[int, int, bool]:
    """Give ``start`` a partner, moving others on if need be; return what is unseen and free then."""
    path: list[tuple[int, int]] = []
    left = start
    while True:
        within = reach[left] & unseen
        choice = within & free or within
        if choice:
            right = choice.bit_length() - 1
            unseen ^= 1 << right
            path.append((left, right))
            if free >> right & 1:
                partner.update((taken, giver) for giver, taken in path)
                return unseen, free ^ 1 << right, True
            left = partner[right]
        elif path:
            left = path.pop()[0]
        else:
            return unseen, free, False
