"""What can be asked of any directed graph: its circles, an order, its depths, its width.

Pure, and without recursion: a chain of ten thousand is as good as a bush. A graph is a mapping from each node
to those that it points at; all of these must be nodes too.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from heapq import heappop, heappush

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Edges = Mapping[str, Sequence[str]]


def knots(edges: Edges) -> list[list[str]]:
    """Return the largest sets of nodes that are on circles and reach each other."""
    inner = edges
    for _ in range(2):  # leave out what waits for no circle, then what no circle waits for
        rest = dict.fromkeys(in_order(inner)[1])
        inner = reversed_edges({n: [t for t in inner[n] if t in rest] for n in rest})
    back = reversed_edges(inner)
    left, found = dict.fromkeys(inner), []
    while left:
        node = next(iter(left))
        below = set(reached(inner, node))
        knot = [node, *(above for above in reached(back, node) if above in below)]
        if len(knot) > 1 or node in inner[node]:
            found.append(knot)
        for one in knot:
            del left[one]
    return found


def components(edges: Edges) -> list[list[str]]:
    """Return the knots, and each other node by itself, those pointed at first."""
    members = {knot[0]: knot for knot in knots(edges)}
    first = {node: name for name, knot in members.items() for node in knot}
    merged: dict[str, list[str]] = {first.get(node, node): [] for node in edges}
    for node, targets in edges.items():
        name = first.get(node, node)
        merged[name] += [n for target in targets if (n := first.get(target, target)) != name]
    return [members.get(name, [name]) for name in in_order(merged)[0]]


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
    from graphlib import CycleError, TopologicalSorter

    names = list(edges)
    place = {node: at for at, node in enumerate(names)}
    sorter = TopologicalSorter(edges)
    with suppress(CycleError):  # what no circle is before can still be sorted
        sorter.prepare()
    heap = sorted(map(place.__getitem__, sorter.get_ready()))
    order = []
    while heap:
        order.append(names[heappop(heap)])
        sorter.done(order[-1])
        for node in sorter.get_ready():
            heappush(heap, place[node])
    sorted_ = set(order)
    return order, [node for node in names if node not in sorted_]


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
    unseen = free = everything = (1 << len(reach)) - 1
    for start in range(len(reach)):
        # Find a partner for ``start``, moving others on if need be. What was seen in vain stays useless
        # until somebody moves.
        path: list[tuple[int, int]] = []
        left = start
        while True:
            within = reach[left] & unseen
            if not within and not path:
                break
            if not within:
                left = path.pop()[0]
                continue
            right = (within & free or within).bit_length() - 1
            unseen ^= 1 << right
            path.append((left, right))
            if free >> right & 1:
                partner.update((taken, giver) for giver, taken in path)
                free, unseen = free ^ 1 << right, everything
                break
            left = partner[right]
    return len(partner)
