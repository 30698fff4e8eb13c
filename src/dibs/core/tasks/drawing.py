"""A graph of tasks as text, Mermaid, and JSON data.

Pure. Ids, titles, and reasons come from agents and files, so each syntax escapes them.
"""

from __future__ import annotations

from dibs.core.tasks.graph import UNKNOWN, cycle_text, note_of
from dibs.core.tasks.rules import FINISHED, OPEN, Status
from dibs.core.text.names import cut, printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dibs.core.tasks.graph import Graph
    from dibs.core.tasks.rules import Task

#: How many characters of a title a drawing shows.
_TITLE = 60
#: The maximum width of the id and state columns in the text.
_IDS, _STATES = 40, 20
#: How many tasks of the longest chain the text names.
_CHAIN = 8
#: Statuses that need attention.
_TROUBLE = frozenset({UNKNOWN, Status.ERROR, Status.BLOCKED})
#: Characters besides letters and digits that need no escape in a Mermaid label.
_PLAIN_IN_MERMAID = frozenset(" .,:/+=-_'()!?@")


def state_of(graph: Graph, node: Task) -> str:
    """Return the state of a task in words: its status, or whether its dependencies let it start."""
    if node.status in OPEN:
        return "blocked" if graph.unmet(node.id) else "ready"
    return node.status.replace("_", " ")


def as_text(graph: Graph, width: int = 80) -> str:
    """Return the open tasks in waves, with the reasons why they wait; ids are never cut."""
    levels, never = graph.levels(), graph.never()
    lines = list(_summary(graph, levels, never, width))
    shown = [i for level in levels for i in level] + never
    ids = min(max(map(len, shown), default=0), _IDS)
    states = {i: _state_and_agent(graph, graph.nodes[i]) for i in shown}
    column = min(max(map(len, states.values()), default=0), _STATES)
    for name, wave in _waves(levels, never):
        lines += ["", name]
        for task_id in wave:
            title = printable(graph.nodes[task_id].title)
            line = f"  {printable(task_id):{ids}}  {states[task_id]:{column}}"
            if len(line) > width:
                lines += [f"  {printable(task_id)}", *_wrapped(states[task_id], width)]
                lines += _wrapped(title, width)
            else:
                lines.append(cut(f"{line}  {title}", width).rstrip())
            for why in _reasons(graph, graph.nodes[task_id]):
                lines += _wrapped(why, width)
    return "\n".join(lines)


def _reasons(graph: Graph, node: Task) -> list[str]:
    own = [graph.words(node.id)] if node.status in _TROUBLE and note_of(node) else []
    return [*own, *(obstacle.why for obstacle in graph.obstacles(node.id))]


def _summary(
    graph: Graph, levels: Sequence[Sequence[str]], never: Sequence[str], width: int
) -> Iterator[str]:
    count = len(never) + sum(map(len, levels))
    wide = graph.width()
    count_text = f"{len(graph.nodes)} task{'' if len(graph.nodes) == 1 else 's'}"
    yield f"{count_text}, {count} open, {len(graph.ready())} ready"
    if levels:
        yield f"in parallel: {'' if wide.exact else 'at least '}{wide.tasks}"
        chain = graph.critical_path()
        names = [*map(printable, chain[:_CHAIN]), *(["…"] if len(chain) > _CHAIN else [])]
        yield from _wrapped(f"longest chain ({len(chain)}): {' -> '.join(names)}", width, indent="")
    for cycle in graph.cycles():
        yield from _wrapped(printable(f"cycle: {cycle_text(cycle)}"), width, indent="")


def _waves(
    levels: Sequence[Sequence[str]], never: Sequence[str]
) -> Iterator[tuple[str, Sequence[str]]]:
    for at, level in enumerate(levels):
        yield (f"wave {at + 1}", level)
    if never:
        yield "never (dependency cycle)", never


def _state_and_agent(graph: Graph, node: Task) -> str:
    state = state_of(graph, node)
    return f"{state} ({printable(node.agent)})" if node.agent else state


def _wrapped(text: str, width: int, indent: str = "      ") -> list[str]:
    from textwrap import wrap

    room = max(width, 2 * len(indent) + 20)
    return wrap(
        text,
        room,
        initial_indent=indent,
        subsequent_indent=indent + "  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def as_mermaid(graph: Graph) -> str:
    """Return a Mermaid flowchart, from dependencies to dependents."""
    names, edges = _numbered(graph)
    lines = ["flowchart LR"]
    for task_id, name in names.items():
        label = "<br/>".join(_in_mermaid(line) for line in _label(graph, task_id))
        lines.append(f'    {name}["{label}"]:::{_class_of(graph, task_id)}')
    lines += [f"    {needed} --> {name}" for needed, name in edges]
    styles = {
        "ready": "stroke-width:3px",
        "done": "stroke-dasharray:2",
        "trouble": "stroke:#c00,stroke-width:3px",
        "other": "stroke-width:1px",
    }
    return "\n".join([*lines, *(f"    classDef {name} {style}" for name, style in styles.items())])


def _in_mermaid(text: str) -> str:
    """Escape for Mermaid: a character's number between "#" and ";"."""
    return "".join(c if c.isalnum() or c in _PLAIN_IN_MERMAID else f"#{ord(c)};" for c in text)


def as_json(graph: Graph) -> dict[str, object]:
    """Return the graph as plain data: the tasks in order, and what was computed from them."""
    width = graph.width()
    return {
        "tasks": [_task_data(graph, graph.nodes[task_id]) for task_id in graph.order()],
        "ready": graph.ready(),
        "waves": [list(level) for level in graph.levels()],
        "never": graph.never(),
        "cycles": [list(cycle) for cycle in graph.cycles()],
        "critical_path": graph.critical_path(),
        "width": width.tasks,
        "width_exact": width.exact,
    }


def _task_data(graph: Graph, node: Task) -> dict[str, object]:
    return {
        "id": node.id,
        "status": node.status,
        "state": state_of(graph, node),
        "title": node.title,
        "agent": node.agent,
        "priority": node.priority,
        "dependencies": list(node.dependencies),
        "obstacles": [obstacle._asdict() for obstacle in graph.obstacles(node.id)],
    }


def _numbered(graph: Graph) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Return a safe name for each task and unknown dependency, and the edges between them."""
    order = graph.order()
    needed = {i: dict.fromkeys(graph.nodes[i].dependencies) for i in order}
    ids = dict.fromkeys([*order, *(i for task_id in order for i in needed[task_id])])
    names = {task_id: f"t{number}" for number, task_id in enumerate(ids)}
    return names, [(names[i], names[task_id]) for task_id in order for i in needed[task_id]]


def _label(graph: Graph, task_id: str) -> list[str]:
    node = graph.nodes.get(task_id)
    if node is None:
        status = graph.status_of(task_id)
        return [
            printable(task_id),
            "does not exist" if status == UNKNOWN else f"archived, {status}",
        ]
    title = printable(node.title)
    lines = [printable(task_id), cut(title, _TITLE), _state_and_agent(graph, node)]
    return [line for line in lines if line]


def _class_of(graph: Graph, task_id: str) -> str:
    node = graph.nodes.get(task_id)
    status = graph.status_of(task_id)
    if status in _TROUBLE or graph.cycle_of(task_id):
        return "trouble"
    if status in FINISHED:
        return "done"
    return "ready" if node and state_of(graph, node) == "ready" else "other"
