"""Run the board of tasks: make them, take the next one, finish it, see what waits for what.

Examples:
  dibs task new "Audit the docs" --for curator --artefact docs/ --needs ID
  dibs task take --role curator --wait 5m
  dibs task done ID --summary "12 links mended"
  dibs task ls

A task is a YAML file in work/, which you may also make, edit and move by hand; its
claim is task:ID. `dibs task add` serves the plain queue of shell agents instead.

exit status: 0 done, 3 held or nothing is free, 4 you lost it before, 6 not found or
nothing to take, 65 something is wrong with a value or a file, 77 you may not
"""

from __future__ import annotations

#: Each verb: the module that knows it, and the line that says what it does.
VERBS = {
    "new": ("task.make", "make a task"),
    "import": ("task.make", "make many tasks from one file, all or none"),
    "ls": ("task.list", "list the tasks that are not finished"),
    "show": ("task.show", "show all about one task"),
    "graph": ("task.show", "show what waits for what"),
    "take": ("task.take", "take the next task that is free"),
    "start": ("task.take", "take this very task"),
    "done": ("task.finish", "finish a task that you hold"),
    "fail": ("task.finish", "say that a task went wrong"),
    "release": ("task.finish", "give a task back"),
    "retry": ("task.finish", "let a task that failed be tried again"),
    "reopen": ("task.finish", "let a finished task be done again"),
    "cancel": ("task.finish", "take a task off the board"),
    "block": ("task.finish", "keep a task from being taken"),
    "reassign": ("task.finish", "give a task to somebody else"),
    "validate": ("task.check", "check the board, or files"),
    "fmt": ("task.check", "bring files into the one spelling"),
    "add": ("task.make", "put files into the queue of shell agents"),
}
