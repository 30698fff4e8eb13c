"""Read any YAML that a task may be written in, and report problems with line and column.

Works on parser events, so that tags are never resolved, aliases never expanded, and limits stop the reader
where they are reached.
"""

from __future__ import annotations

from dibs.core.text.names import quote
from dibs.taskfile.document import (
    MAX_DEPTH,
    MAX_NODES,
    NULLS,
    NotYaml,
    Plain,
    Remark,
    TaskDocument,
    field_name,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from dibs.taskfile.document import Lines, Node, Path


def parse(text: str, most: int = MAX_NODES, before: int = 0) -> TaskDocument:
    """Return the tree of ``text`` with at most ``most`` values; raise ``NotYaml`` if it is not accepted.

    ``before`` is the number of lines before it in its file.
    """
    return _Reader(text, most, before).tree()


def comments(text: str) -> list[str]:
    """Return the comments of a text that ``parse`` reads, in order."""
    reader = _Reader(text, MAX_NODES, 0)
    reader.tree()
    found: list[str] = []
    start = 0
    for scalar, end in [*reader.scalars, (len(text), 0)]:
        at = text.find("#", start, scalar)
        while at >= 0:
            stop = reader.text.index("\n", at)
            found.append(text[at:stop])
            at = text.find("#", stop, scalar)
        start = max(start, end)
    return found


class _Reader:
    def __init__(self, text: str, most: int, before: int) -> None:
        self.text = text if text.endswith("\n") else f"{text}\n"
        self.most, self.before = most, before
        self.lines: Lines = {}
        self.count = 0
        #: The start and end of each scalar, as offsets in the text.
        self.scalars: list[tuple[int, int]] = []

    def tree(self) -> TaskDocument:
        """Read the one document."""
        from ruamel.yaml import YAML
        from ruamel.yaml.error import MarkedYAMLError, YAMLError

        try:
            return self._document(YAML(typ="safe", pure=True).parse(self.text))
        except MarkedYAMLError as error:
            mark: Any = error.problem_mark or error.context_mark
            said = " ".join(str(error.problem or error.context or "unreadable").split())
            message = f"not YAML: {said} (column {mark.column + 1 if mark else 0})"
            line = mark.line + 1 + self.before if mark else 0
        except (YAMLError, ValueError) as error:
            # The reader accepts an escape such as "\U00110000" as a character, and Python does not.
            message, line = f"not YAML: {quote(str(error).partition(chr(10))[0])}", 0
        raise NotYaml(Remark(code="YAML_SYNTAX", message=message, line=line))

    def _line(self, event: Any) -> int:
        return int(event.start_mark.line) + 1 + self.before

    def _refusal(
        self, message: str, event: Any, field: str = "", code: str = "YAML_SHAPE"
    ) -> NotYaml:
        return NotYaml(Remark(code=code, message=message, line=self._line(event), field=field))

    def _document(self, events: Iterator[Any]) -> TaskDocument:
        top: Node = None
        seen = 0
        for event in events:
            kind = type(event).__name__
            if kind == "DocumentStartEvent":
                seen += 1
                if event.version or event.tags:
                    raise self._refusal("directives (%) are not allowed", event)
                if seen > 1:
                    raise self._refusal("a second document; a file contains one task", event)
            elif kind not in {"StreamStartEvent", "StreamEndEvent", "DocumentEndEvent"}:
                if kind != "MappingStartEvent":
                    self._check(event, ())
                    raise self._refusal("must be a mapping of fields (write `title: …`)", event)
                top = self._node(event, events, ())
        if not isinstance(top, dict):
            message = "the file is empty; a task is a mapping of fields (write `title: …`)"
            raise NotYaml(Remark(code="YAML_SHAPE", message=message, line=1 + self.before))
        return TaskDocument(top, self.lines)

    def _check(self, event: Any, path: Path) -> None:
        """Refuse tags, anchors, and aliases, and count nodes."""
        self.count += 1
        deep = len(path) >= MAX_DEPTH and type(event).__name__ != "ScalarEvent"
        if event.anchor is not None:
            message = (
                f"anchors and aliases are not allowed ({quote(event.anchor)}); write the value out"
            )
            raise self._refusal(message, event, field_name(path), "YAML_ALIAS")
        if event.tag is not None:
            message = f"tags are not allowed ({quote(str(event.tag))}); remove it"
            raise self._refusal(message, event, field_name(path), "YAML_TAG")
        if self.count > self.most or deep:
            many = f"{MAX_DEPTH} levels" if deep else f"{self.most} values in one file"
            raise self._refusal(f"more than {many}", event, field_name(path), "LIMIT")

    def _node(self, event: Any, events: Iterator[Any], path: Path) -> Node:
        self._check(event, path)
        kind = type(event).__name__
        if kind == "ScalarEvent":
            return self._scalar(event, path)
        if kind == "MappingStartEvent":
            return self._mapping(events, path)
        items: list[Node] = []
        for inner in events:
            if type(inner).__name__ == "SequenceEndEvent":
                break
            here = (*path, len(items))
            self.lines[here] = self._line(inner)
            items.append(self._node(inner, events, here))
        return items

    def _scalar(self, event: Any, path: Path) -> str | None:
        text = str(event.value)
        self.scalars.append((event.start_mark.index, event.end_mark.index))
        if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
            message = "a surrogate escape (\\ud800 to \\udfff) is not a character"
            raise self._refusal(message, event, field_name(path), "YAML_SYNTAX")
        if event.style is not None:
            return text
        return None if text in NULLS else Plain(text)

    def _mapping(self, events: Iterator[Any], path: Path) -> dict[str, Node]:
        found: dict[str, Node] = {}
        for event in events:
            if type(event).__name__ == "MappingEndEvent":
                break
            if type(event).__name__ not in {"ScalarEvent", "AliasEvent"}:
                raise self._refusal("keys must be text", event)
            self._check(event, path)
            self._scalar(event, path)
            key, line = str(event.value), self._line(event)
            here = (*path, key)
            if not key:
                raise self._refusal("an empty key", event)
            if key == "<<":
                message = "merge keys are not allowed; repeat the fields"
                raise self._refusal(message, event, key, "YAML_ALIAS")
            if key in found:
                message = f"duplicate key {quote(key)}, in lines {self.lines[here]} and {line}"
                raise self._refusal(message, event, key, "YAML_DUPLICATE")
            self.lines[here] = line
            found[key] = self._node(next(events), events, here)
        return found
