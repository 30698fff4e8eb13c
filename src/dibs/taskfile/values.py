"""Read single values out of a tree: strings, lists, times, paths, ids; problems become remarks."""

from __future__ import annotations

from datetime import datetime

from dibs.core.patterns.pattern import parse as parse_pattern
from dibs.core.tasks.rules import check_task_id
from dibs.core.text.names import check_agent_id, quote
from dibs.errors import BadInput
from dibs.taskfile.document import Remark, field_name
from dibs.taskfile.spellings import NOBODY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.taskfile.document import Lines, Node, Path

#: Keys that hold the text when a list has a mapping instead of a string.
_INNER = ("id", "task_id", "task", "path", "file", "name")


class Values:
    """The values of one file. A method that finds a problem records it and returns a harmless value."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self.remarks: list[Remark] = []

    def wrong(self, path: Path, message: str, *, code: str = "TASK_FIELD") -> None:
        """Record a problem that makes the file invalid."""
        self.remarks.append(Remark(code, message, self.line(path), field_name(path)))

    def note(self, path: Path, message: str, *, code: str = "TASK_FIELD") -> None:
        """Record a note about a value that is not as we write it."""
        self.remarks.append(Remark(code, message, self.line(path), field_name(path), fatal=False))

    def line(self, path: Path) -> int:
        """Return the line of a node, or of its parent."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 0)

    def text(self, node: Node, path: Path) -> str:
        """Read a string; an empty value is an empty string."""
        if isinstance(node, str):
            return node
        if node is not None:
            self.wrong(path, f"must be text, not {_kind(node)}; put it in quotes")
        return ""

    def texts(self, node: Node, path: Path) -> list[tuple[Path, str]]:
        """Read a list of strings, each with its path; one string counts as a list of one."""
        if node is None or node == "":
            return []
        if isinstance(node, str):
            self.note(path, "single value read as a list")
            return [(path, node)]
        if isinstance(node, dict):
            self.wrong(path, "must be a list, not a mapping (write `- …` lines)")
            return []
        return [
            (here, text)
            for at, item in enumerate(node)
            if (here := (*path, at)) and (text := self._item(item, here))
        ]

    def _item(self, item: Node, path: Path) -> str:
        if isinstance(item, dict):
            inner = next((item[key] for key in _INNER if isinstance(item.get(key), str)), None)
            if isinstance(inner, str):
                self.note(path, f"mapping read as {quote(inner)}")
                return inner
        return self.text(item, path)

    def moment(self, node: Node, path: Path) -> float:
        """Read a time: ISO 8601 with date, time, and zone."""
        if node is None:
            return 0.0
        text = self.text(node, path)
        if not text:
            return 0.0
        try:
            moment = datetime.fromisoformat(text.strip())
        except ValueError:
            moment = None
        if moment is None:
            said = "is not a time; write it as 2025-11-23T14:30:00Z"
        elif len(text.strip()) <= len("2025-11-23"):
            said = f"has no time of day; write {moment:%Y-%m-%d}T00:00:00Z"
        elif moment.tzinfo is None:
            said = f"has no time zone; write {moment:%Y-%m-%dT%H:%M:%S}Z if it is UTC"
        else:
            seconds = moment.timestamp()
            if seconds > 0:
                return seconds
            said = "is before 1970"
        self.wrong(path, f"{quote(text)} {said}", code="TASK_TIME")
        return 0.0

    def number(self, node: Node, path: Path) -> int:
        """Read a non-negative integer."""
        text = self.text(node, path).strip()
        if not text:
            return 0
        if len(text) <= 9 and text.isascii() and text.isdigit():  # noqa: PLR2004 - fits any store
            return int(text)
        self.wrong(path, f"{quote(text)} is not a non-negative integer")
        return 0

    def agent(self, node: Node, path: Path) -> str:
        """Read an agent or role; empty if anyone may do it."""
        text = self.text(node, path).strip()
        if not text or text.lower() in NOBODY:
            if text:
                self.note(path, f"{quote(text)} read as no agent")
            return ""
        try:
            return check_agent_id(text)
        except BadInput as error:
            self.wrong(path, f"{error.message}; {error.hint}", code="AGENT_ID")
            return ""

    def artefacts(self, node: Node, path: Path, *, claimed: bool = True) -> tuple[str, ...]:
        """Read paths and globs inside the repository; those to be ``claimed`` must be patterns."""
        found = []
        for here, text in self.texts(node, path):
            problem = _problem(text, claimed=claimed)
            if problem is None:
                found.append(text)
            else:
                self.wrong(here, problem[1], code=problem[0])
        return tuple(found)

    def ids(self, nodes: Sequence[tuple[Path, Node]]) -> tuple[str, ...]:
        """Read ids of tasks from several places, each id once."""
        found: dict[str, None] = {}
        for path, node in nodes:
            for here, text in self.texts(node, path):
                name = text.strip()
                if name.lower() in NOBODY:
                    self.note(here, f"{quote(text)} read as nothing")
                    continue
                for ending in (".yaml", ".yml"):
                    if name.endswith(ending):
                        name = name.removesuffix(ending)
                        self.note(here, f"{quote(text)} read as task {quote(name)}")
                try:
                    found[check_task_id(name)] = None
                except BadInput as error:
                    self.wrong(here, f"{error.message}; {error.hint}")
        return tuple(found)


def _problem(text: str, *, claimed: bool) -> tuple[str, str] | None:
    """Return the code and message of a problem with an artefact, None if it is fine."""
    if (
        "\\" in text
        or text.startswith(("/", "~"))
        or ".." in text.split("/")
        or (text[1:2] == ":" and text[:1].isalpha() and text[2:3] == "/")
    ):
        said = f"{quote(text)} is not a path inside the repository (use / between names)"
        return "PATH_ESCAPE", said
    try:
        pattern = parse_pattern(text) if claimed else None
    except BadInput as error:
        return "PATH_ESCAPE" if error.code == "PATH_ABSOLUTE" else error.code, error.message
    # Ports and other tasks are not held by the claims on a task's files.
    is_resource = pattern is not None and pattern.scheme
    return ("PATH_ESCAPE", f"{quote(text)} is a resource, not a path") if is_resource else None


def _kind(node: Node) -> str:
    return "a mapping" if isinstance(node, dict) else "a list"
