"""Read a task file: bytes in, a ``Task`` and remarks out. No content makes it raise."""

from __future__ import annotations

from dibs.core.tasks.rules import Task, check_task_id
from dibs.errors import BadInput
from dibs.startup.records import Record
from dibs.taskfile import yaml_fast
from dibs.taskfile.document import MAX_NODES, NotYaml, Remark, TaskDocument, decode, error_of
from dibs.taskfile.fields import late_times, task_of

__all__ = ["ENDINGS", "Remark", "TaskFileReading", "error_of", "late_times", "read", "tree_of"]

#: Endings of task files.
ENDINGS = (".yaml", ".yml")


class TaskFileReading(Record):
    """The result of reading a file."""

    #: None if a remark is fatal.
    task: Task | None
    #: A text with the same meaning that ``writing.edit`` can change; nearly always the file's own.
    text: str
    #: The fatal ones first.
    remarks: tuple[Remark, ...]


def read(content: bytes, name: str) -> TaskFileReading:
    """Read the file called ``name``; every problem becomes a remark."""
    text = ""
    try:
        stem = _stem(name)
        text = decode(content)
        tree, plain = tree_of(text)
    except NotYaml as error:
        return TaskFileReading(None, text, (error.remark,))
    task, remarks = task_of(tree, stem)
    if not plain and task is not None:
        text, more = _in_plain_layout(text, tree)
        remarks += more
    return TaskFileReading(task, text, remarks)


def tree_of(text: str, most: int = MAX_NODES, before: int = 0) -> tuple[TaskDocument, bool]:
    """Return the tree of YAML text, and whether its layout is plain; see ``yaml_full.parse``."""
    tree = yaml_fast.parse(text, most, before)
    if tree is not None:
        return tree, True
    from dibs.taskfile import yaml_full

    return yaml_full.parse(text, most, before), False


def description_of(text: str) -> list[str]:
    """Return what a task file says about the work: its description, its specification, and its notes."""
    try:
        top = tree_of(text)[0].top
    except NotYaml:
        return []
    context = top.get("context")
    notes = context.get("notes") if isinstance(context, dict) else None
    said = [top.get("description"), top.get("specification"), top.get("notes"), notes]
    texts = [one for value in said for one in (value if isinstance(value, list) else [value])]
    return [text.strip() for text in texts if isinstance(text, str) and text.strip()]


def _stem(name: str) -> str:
    stem = name.rpartition("/")[2]
    ending = next((ending for ending in ENDINGS if stem.endswith(ending)), "")
    said = "the file name must end in .yaml"
    if ending:
        try:
            return check_task_id(stem.removesuffix(ending))
        except BadInput as error:
            said = f"{error.message}; {error.hint}"
    raise NotYaml(Remark(code="TASK_NAME", message=said, line=0))


def _in_plain_layout(text: str, tree: TaskDocument) -> tuple[str, tuple[Remark, ...]]:
    """Return an editable text: the same one if its top level is plain, else a rewritten one."""
    from dibs.taskfile.block_lines import keys_of

    lines = [(key, tree.lines[key,]) for key in tree.top]
    if keys_of(text) == lines:
        return text, ()
    from dibs.taskfile.scalars import below
    from dibs.taskfile.yaml_full import comments

    head = comments(text)
    said = "this layout cannot be edited in place; Dibs will rewrite the whole file"
    rows = below(tree.top, 0, plain=False)
    return "\n".join([*head, *rows, ""]), (Remark("YAML_SHAPE", said, 1, fatal=False),)
