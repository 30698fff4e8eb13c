"""Make and change groups of agents, to be written to together.

Examples:
  dibs group new backend alice bob role:tester
  dibs say backend "the schema changed"
  dibs group add backend carol
  dibs group show backend

A member is an agent, human, or role:NAME for all that have a role.

exit status: 0 done, 6 there is no such group or agent
"""

from __future__ import annotations

from dibs.cli.support.verbs import add_verbs, perform

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

_MODULE = "group.verbs"
VERBS = {
    "new": (_MODULE, "make a group"),
    "add": (_MODULE, "add members"),
    "rm": (_MODULE, "take members out"),
    "drop": (_MODULE, "forget a group"),
    "ls": (_MODULE, "list the groups"),
    "show": (_MODULE, "show its members and its last messages"),
}


def configure(parser: ArgumentParser) -> None:
    """Add the verbs of ``dibs group``; each has the common options."""
    add_verbs(parser, VERBS)


def run(args: Namespace) -> int:
    """Run one of the verbs."""
    return perform(args)
