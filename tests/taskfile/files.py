"""New task files, for tests."""

from dibs.core.tasks.rules import Task
from dibs.taskfile.changes import changes_for


def fields_of(task):
    """Return the fields of a new file for a task; ``writing.render`` writes them."""
    bare = Task(task.id, status="", priority="")
    fields = {"id": task.id, **changes_for(bare, task)}
    dependencies = fields.pop("dependencies", None)
    if dependencies:
        fields["context"] = {"dependencies": dependencies}
    return fields
