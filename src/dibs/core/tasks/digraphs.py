"""Algorithms on directed graphs: cycles, topological order, depths, and width.

Pure and without recursion, so chains may be of any length. A graph maps each node to the nodes that it points
to, which must be nodes too.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from heapq import heappop, heappush

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Edges = Mapping[str, Sequence[str]]


def cyclic_components(edges: Edges) -> list[list[str]]:
    """Return the strongly connected components that contain a cycle."""
    inner = edges
    for _ in range(2):  # drop what leads to no cycle, then what follows from none
        rest = dict.fromkeys(in_order(inner)[1])
        inner = reversed_edges({n: [t for t in inner[n] if t in rest] for n in rest})
    back = reversed_edges(inner)
    left, found = dict.fromkeys(inner), []
    while left:
        node = next(iter(left))
        below = set(reached(inner, node))
        component = [node, *(above for above in reached(back, node) if above in below)]
        if len(component) > 1 or node in inner[node]:
            found.append(component)
        for one in component:
            del left[one]
    return found


def components(edges: Edges) -> list[list[str]]:
    """Return the cyclic components, and every other node by itself; targets come first."""
    members = {component[0]: component for component in cyclic_components(edges)}
    first = {node: name for name, component in members.items() for node in component}
    merged: dict[str, list[str]] = {first.get(node, node): [] for node in edges}
    for node, targets in edges.items():
        name = first.get(node, node)
        merged[name] += [n for target in targets if (n := first.get(target, target)) != name]
    return [members.get(name, [name]) for name in in_order(merged)[0]]


def shortest_cycle(edges: Edges, start: str) -> tuple[str, ...]:
    """Return the nodes of a shortest path from ``start`` back to itself, empty if there is none."""
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
    """Return the graph with every edge reversed."""
    back: dict[str, list[str]] = {node: [] for node in edges}
    for node, targets in edges.items():
        for target in dict.fromkeys(targets):
            back[target].append(node)
    return back


def in_order(edges: Edges) -> tuple[list[str], list[str]]:
    """Return the nodes in topological order, targets first, and the nodes that have no such order.

    Ties keep the order of the mapping. The second list contains the nodes that are on a cycle or lead to one.
    """
    from graphlib import CycleError, TopologicalSorter

    names = list(edges)
    place = {node: at for at, node in enumerate(names)}
    sorter = TopologicalSorter(edges)
    with suppress(CycleError):  # the nodes before any cycle are still sorted
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
    """Return the number of nodes after each node on its longest path; ``order`` is from ``in_order``."""
    deep: dict[str, int] = {}
    for node in order:
        deep[node] = max((deep[target] + 1 for target in edges[node]), default=0)
    return deep


def reached(edges: Edges, start: str) -> list[str]:
    """Return the nodes reachable from ``start``, nearest first, without ``start`` itself."""
    seen = {start: None}
    waiting = deque([start])
    while waiting:
        for target in edges[waiting.popleft()]:
            if target not in seen:
                seen[target] = None
                waiting.append(target)
    return list(seen)[1:]


def largest_antichain(edges: Edges, order: Sequence[str]) -> int:
    """Return the size of the largest set of nodes in which none reaches another.

    By Dilworth's theorem this is the smallest number of chains that cover the graph: the number of nodes
    minus the size of a maximum matching between nodes and what they reach. Sets are bits of an integer.
    ``order`` contains all nodes.
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
        # Find an augmenting path from ``start``. A node that was visited without success stays useless until
        # the matching changes.
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
