"""Turn a tree into a ``Task``: every documented field, in every spelling that people use.

Other spellings are accepted with a note; values that make no sense are refused with their line.
"""

from __future__ import annotations

from dibs.core.tasks.rules import Handoff, Status, Task
from dibs.core.text.names import closest, quote
from dibs.taskfile.document import Remark
from dibs.taskfile.spellings import (
    ALIASES,
    DEPENDENCIES,
    KNOWN,
    PRIORITY_WORDS,
    RESULT_ALIASES,
    STATUSES,
)
from dibs.taskfile.values import Values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from dibs.taskfile.document import Node, Path, TaskDocument

#: Keys whose two spellings must not contradict each other.
_ONE_MEANING = frozenset({"id", "artefacts"})
#: How far in the future a time may be.
AHEAD = 86_400.0


def task_of(tree: TaskDocument, stem: str) -> tuple[Task | None, tuple[Remark, ...]]:
    """Return the task that a tree describes, None if it is invalid, and all remarks."""
    reader = _Fields(tree)
    task = reader.task(stem)
    remarks = sorted(reader.remarks, key=lambda remark: (not remark.fatal, remark.line))
    return (None if remarks and remarks[0].fatal else task), tuple(remarks)


def late_times(task: Task, now: float, old: Task | None = None) -> list[Remark]:
    """Return a remark for each time of a task that is more than a day after ``now``, and not in ``old``."""
    message = "is more than a day in the future"
    return [
        Remark(code="TASK_TIME", message=message, line=0, field=f"{field}_at")
        for field in ("created", "assigned", "started", "completed")
        if (time := getattr(task, field)) > now + AHEAD
        and (old is None or time != getattr(old, field))
    ]


class _Fields(Values):
    def __init__(self, tree: TaskDocument) -> None:
        super().__init__(tree.lines)
        self.top = tree.top

    def task(self, stem: str) -> Task:
        top = self.top
        get = top.get
        if not KNOWN.issuperset(top):
            self._unknown()
        self._id(stem)
        status = self._word("status", STATUSES, Status.NEW)
        result = self._block("result", "summary")
        error = self._block("error", "message")
        task = Task(
            stem,
            status,
            self.agent(*self._named("agent")),
            self.text(get("title"), ("title",)),
            self._word("priority", PRIORITY_WORDS, "normal"),
            self.text(get("mode"), ("mode",)),
            self.artefacts(*self._named("artefacts")),
            self._dependencies(),
            self.moment(*self._named("created_at")),
            self.moment(get("assigned_at"), ("assigned_at",)),
            self.moment(get("started_at"), ("started_at",)),
            self._completed(result),
            self.text(get("created_by"), ("created_by",)),
            "",
            (),
            None,
            "",
            self._retries(error),
            self.text(*self._named("reason")),
        )
        if result is not None:
            task = self._with_result(task, result)
        if status == Status.ERROR and error:
            task = task._replace(error=self.text(error.get("message"), ("error", "message")))
        self._check(task, result, error)
        return task

    def _unknown(self) -> None:
        for key in self.top:
            if key not in KNOWN:
                meant = closest(key, KNOWN)
                more = f"; did you mean {quote(meant)}?" if meant else ""
                self.note((key,), f"unknown field, kept as it is{more}")

    def _named(self, key: str) -> tuple[Node, Path]:
        """Return the value of a key, or of the first other spelling in the file."""
        top = self.top
        if not top.keys().isdisjoint(ALIASES[key]):
            return self._other_spelling(key)
        return top.get(key), (key,)

    def _other_spelling(self, key: str) -> tuple[Node, Path]:
        """Return the value of a key that has another spelling, or several."""
        first, *others = [name for name in (key, *ALIASES[key]) if name in self.top]
        for other in others:
            if self.top[other] == self.top[first]:
                continue
            if key in _ONE_MEANING:
                lines = f"lines {self.line((first,))} and {self.line((other,))}"
                message = f"{quote(first)} and {quote(other)} contradict each other, in {lines}"
                self.wrong((other,), message, code="YAML_DUPLICATE")
            else:
                self.note((other,), f"ignored in favor of {quote(first)}")
        if first != key:
            self.note((first,), f"read as {quote(key)}")
        return self.top[first], (first,)

    def _id(self, stem: str) -> None:
        node, path = self._named("id")
        text = self.text(node, path)
        if text and text != stem:
            said = f"{quote(text)} differs from the file name {quote(stem)}"
            message = f"{said}; rename the file, or change the id"
            self.wrong(path, message, code="TASK_MISMATCH")

    def _word(self, key: str, words: Mapping[str, str], usual: str) -> str:
        """Return the status or priority that a word means."""
        text = self.text(self.top.get(key), (key,))
        if not text or words.get(text) == text:
            return text or usual
        found = words.get("_".join(text.lower().replace("-", " ").replace("_", " ").split()))
        if found is None:
            choices = ", ".join(dict.fromkeys(words.values()))
            code = "TASK_TRANSITION" if key == "status" else "TASK_FIELD"
            self.wrong(
                (key,), f"{quote(text)} is not a valid {key}; use one of {choices}", code=code
            )
            return usual
        self.note((key,), f"{quote(text)} read as {found}")
        return found

    def _dependencies(self) -> tuple[str, ...]:
        top = self.top
        places: list[tuple[Path, Node]] = []
        if "dependencies" in top:
            places.append((("dependencies",), top["dependencies"]))
        context = top.get("context")
        if isinstance(context, dict):
            if "dependencies" in context:
                places.append((("context", "dependencies"), context["dependencies"]))
        elif context:
            self.note(("context",), "not a mapping; kept but ignored")
        for key in DEPENDENCIES[1:]:
            if key in top:
                self.note((key,), "read as dependencies")
                places.append(((key,), top[key]))
        return self.ids(places) if places else ()

    def _completed(self, result: Mapping[str, Node] | None) -> float:
        if result and result.get("completed_at"):
            return self.moment(result["completed_at"], ("result", "completed_at"))
        return self.moment(self.top.get("completed_at"), ("completed_at",))

    def _retries(self, error: Mapping[str, Node] | None) -> int:
        top = self.top
        counted = self.number(top["retry_count"], ("retry_count",)) if "retry_count" in top else 0
        if error is None:
            return counted
        return max(counted, self.number(error.get("retry_count"), ("error", "retry_count")))

    def _block(self, key: str, main: str) -> Mapping[str, Node] | None:
        """Return a nested block; a plain string is its main field."""
        node = self.top.get(key)
        if node is None or isinstance(node, dict):
            return node
        if isinstance(node, str):
            self.note((key,), f"read as {key}.{main}")
            return {main: node}
        self.wrong((key,), f"must be a mapping (write `{main}: …` below it)")
        return {}

    def _with_result(self, task: Task, result: Mapping[str, Node]) -> Task:
        return task._replace(
            summary=self.text(result.get("summary"), ("result", "summary")),
            made=self.artefacts(*self._inner(result, "artefacts"), claimed=False),
            handoff=self._handoff(result),
        )

    def _inner(self, result: Mapping[str, Node], key: str) -> tuple[Node, Path]:
        for name in (key, *RESULT_ALIASES.get(key, ())):
            if name in result:
                return result[name], ("result", name)
        return None, ("result", key)

    def _handoff(self, result: Mapping[str, Node]) -> Handoff | None:
        agent = self.agent(result.get("next_agent"), ("result", "next_agent"))
        if not agent:
            return None
        notes = self.texts(*self._inner(result, "next_task_notes"))
        return Handoff(
            agent,
            self.text(result.get("next_task_title"), ("result", "next_task_title")),
            self.artefacts(*self._inner(result, "next_artefacts")),
            tuple([text for _, text in notes]),
        )

    def _check(
        self, task: Task, result: Mapping[str, Node] | None, error: Mapping[str, Node] | None
    ) -> None:
        """Check fields against each other."""
        lacks = ""
        if task.status == Status.DONE and result is None:
            lacks = "a done task needs a result block (`result:`, `summary: …`)"
        elif task.status == Status.ERROR and not error:
            lacks = "a task in error needs an error block (`error:`, `message: …`)"
        if lacks:
            self.wrong(("status",), lacks, code="TASK_FIELD")
        if 0 < task.completed < task.started:
            path = ("completed_at",) if "completed_at" in self.top else ("result", "completed_at")
            self.wrong(path, "completed_at is before started_at", code="TASK_TIME")
