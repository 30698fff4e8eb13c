"""Create, take, finish, and list tasks on the board.

Examples:
  dibs task new "Audit the docs" --for curator --artefact docs/
  dibs task take --role curator --wait 5m
  dibs task done ID --summary "fixed 12 links"
  dibs task ls

Each task is a YAML file in work/ that you can also create, edit, and move by hand.
Taking a task claims task:ID.

exit status: 0 done, 3 another agent holds it or no task is available, 4 you lost the task,
6 not found or no tasks to take, 65 invalid value or file, 69 the store or the remote does not
answer, 77 not allowed, 78 the remote refuses the push
"""

from __future__ import annotations

#: The module and the summary of each verb.
VERBS = {
    "new": ("task.make", "create a task"),
    "ls": ("task.list", "list unfinished tasks"),
    "show": ("task.show", "show one task in detail"),
    "graph": ("task.show", "show which tasks depend on which"),
    "take": ("task.take", "take the next available task"),
    "start": ("task.take", "take a specific task"),
    "done": ("task.finish", "finish a task that you hold"),
    "fail": ("task.finish", "mark a task as failed"),
    "release": ("task.finish", "release a task so that another agent can take it"),
    "retry": ("task.finish", "make a failed task available again"),
    "reopen": ("task.finish", "reopen a finished or blocked task"),
    "cancel": ("task.finish", "cancel a task"),
    "block": ("task.finish", "block a task until it is reopened"),
    "reassign": ("task.finish", "assign a task to another agent or role"),
    "validate": ("task.check", "check the board or some task files"),
}
