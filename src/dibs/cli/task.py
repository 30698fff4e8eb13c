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

from dibs.cli.verbs import add_verbs, perform

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

#: Each verb: the module that knows it, and the line that says what it does.
VERBS = {
    "new": ("task_make", "make a task"),
    "import": ("task_make", "make many tasks from one file, all or none"),
    "ls": ("task_list", "list the tasks that are not finished"),
    "show": ("task_show", "show all about one task"),
    "graph": ("task_show", "show what waits for what"),
    "take": ("task_take", "take the next task that is free"),
    "start": ("task_take", "take this very task"),
    "done": ("task_finish", "finish a task that you hold"),
    "fail": ("task_finish", "say that a task went wrong"),
    "release": ("task_finish", "give a task back"),
    "retry": ("task_decide", "let a task that failed be tried again"),
    "reopen": ("task_decide", "let a finished task be done again"),
    "cancel": ("task_decide", "take a task off the board"),
    "block": ("task_decide", "keep a task from being taken"),
    "reassign": ("task_decide", "give a task to somebody else"),
    "validate": ("task_check", "check the board, or files"),
    "fmt": ("task_check", "bring files into the one spelling"),
    "add": ("task_queue", "put files into the queue of shell agents"),
}


def configure(parser: ArgumentParser) -> None:
    """Add the verbs of ``dibs task``; each has the common options."""
    add_verbs(parser, VERBS)


def run(args: Namespace) -> int:
    """Run one of the verbs."""
    return perform(args)
