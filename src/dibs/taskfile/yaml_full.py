"""Reads any YAML that a task may be written in, and says what is wrong with the rest, with line and column.

Works on the parser's events, so that a tag is seen and never followed, an alias never expanded, and a limit
stops the reading where it is reached.
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


def parse(text: str, most: int = MAX_NODES) -> TaskDocument:
    """Return what ``text`` says in at most so many values; raise ``NotYaml`` if it is not our YAML."""
    return _Reader(text, most).tree()


def comments(text: str) -> list[str]:
    """Return the comments of a text that ``parse`` reads, in their order."""
    reader = _Reader(text)
    reader.tree()
    found: list[str] = []
    for start, end in _gaps(reader.scalars, len(text)):
        at = text.find("#", start, end)
        while at >= 0:
            stop = text.find("\n", at)
            stop = len(text) if stop < 0 else stop
            found.append(text[at:stop])
            at = text.find("#", stop, end)
    return found


def _gaps(spans: list[tuple[int, int]], length: int) -> Iterator[tuple[int, int]]:
    at = 0
    for start, end in spans:
        yield at, start
        at = max(at, end)
    yield at, length


class _Reader:
    def __init__(self, text: str, most: int = MAX_NODES) -> None:
        self.most = most
        self.text = text if text.endswith("\n") else f"{text}\n"
        self.lines: Lines = {}
        self.count = 0
        #: Where scalars stand: start and end as characters of the text.
        self.scalars: list[tuple[int, int]] = []

    def tree(self) -> TaskDocument:
        """Read the one document."""
        from ruamel.yaml import YAML
        from ruamel.yaml.error import MarkedYAMLError, YAMLError

        try:
            return self._document(YAML(typ="safe", pure=True).parse(self.text))
        except MarkedYAMLError as error:
            raise self._syntax(error) from None
        except (YAMLError, ValueError) as error:
            # The reader takes an escape such as "\U00110000" for a character, and Python does not.
            said = f"not YAML: {quote(str(error).partition(chr(10))[0])}"
            raise NotYaml(Remark(code="YAML_SYNTAX", message=said, line=0)) from None

    def _syntax(self, error: Any) -> NotYaml:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        said = " ".join(str(error.problem or error.context or "it cannot be read").split())
        message = f"not YAML: {said} (column {column})"
        return NotYaml(Remark(code="YAML_SYNTAX", message=message, line=line))

    def _document(self, events: Iterator[Any]) -> TaskDocument:
        top: Node = None
        seen = 0
        for event in events:
            kind = type(event).__name__
            if kind == "DocumentStartEvent":
                seen += 1
                if event.version or event.tags:
                    raise _shape("a directive (%) is not used here", event)
                if seen > 1:
                    raise _shape("a second document; one file holds one task", event)
            elif kind not in {"StreamStartEvent", "StreamEndEvent", "DocumentEndEvent"}:
                if kind != "MappingStartEvent":
                    self._check(event, ())
                    raise _shape("not a mapping of fields (write `title: …`)", event)
                top = self._node(event, events, ())
        if not isinstance(top, dict):
            message = "the file is empty; a task is a mapping of fields (write `title: …`)"
            raise NotYaml(Remark(code="YAML_SHAPE", message=message, line=1))
        return TaskDocument(top, self.lines)

    def _check(self, event: Any, path: Path) -> None:
        """Refuse tags, anchors and aliases, and count."""
        line, field = event.start_mark.line + 1, field_name(path)
        if event.anchor is not None:
            message = f"anchors and aliases are not allowed ({quote(event.anchor)}); write it out"
            raise NotYaml(Remark(code="YAML_ALIAS", message=message, line=line, field=field))
        if event.tag is not None:
            message = f"tags are not allowed ({quote(str(event.tag))}); leave it out"
            raise NotYaml(Remark(code="YAML_TAG", message=message, line=line, field=field))
        self.count += 1
        if self.count > self.most:
            message = f"more than {self.most} values in one file"
            raise NotYaml(Remark(code="LIMIT", message=message, line=line, field=field))
        if len(path) >= MAX_DEPTH and type(event).__name__ != "ScalarEvent":
            message = f"more than {MAX_DEPTH} levels"
            raise NotYaml(Remark(code="LIMIT", message=message, line=line, field=field))

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
            self.lines[here] = inner.start_mark.line + 1
            items.append(self._node(inner, events, here))
        return items

    def _scalar(self, event: Any, path: Path) -> str | None:
        text = str(event.value)
        self.scalars.append((event.start_mark.index, event.end_mark.index))
        if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
            message = "a surrogate escape (\\ud800 to \\udfff) is no character"
            line = event.start_mark.line + 1
            raise NotYaml(
                Remark(code="YAML_SYNTAX", message=message, line=line, field=field_name(path))
            )
        if event.style is not None:
            return text
        return None if text in NULLS else Plain(text)

    def _mapping(self, events: Iterator[Any], path: Path) -> dict[str, Node]:
        found: dict[str, Node] = {}
        for event in events:
            if type(event).__name__ == "MappingEndEvent":
                break
            line = event.start_mark.line + 1
            if type(event).__name__ not in {"ScalarEvent", "AliasEvent"}:
                raise _shape("a key that is no text", event)
            self._check(event, path)
            self._scalar(event, path)
            key = str(event.value)
            here = (*path, key)
            if not key:
                raise _shape("an empty key", event)
            if key == "<<":
                message = "merge keys are not allowed; write the fields out"
                raise NotYaml(Remark(code="YAML_ALIAS", message=message, line=line, field=key))
            if key in found:
                message = f"{quote(key)} stands twice, in lines {self.lines[here]} and {line}"
                raise NotYaml(Remark(code="YAML_DUPLICATE", message=message, line=line, field=key))
            self.lines[here] = line
            found[key] = self._node(next(events), events, here)
        return found


def _shape(message: str, event: Any) -> NotYaml:
    return NotYaml(Remark(code="YAML_SHAPE", message=message, line=event.start_mark.line + 1))
