"""Ask a human whether what ``dibs.toml`` starts by itself may run, or say how to accept it."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from dibs.local.repository import Repository


def ask_consent(args: Namespace, repository: Repository, *, asks: bool, agreed: bool) -> None:
    """Ask, if ``asks`` and something waits for a human; with ``agreed``, the answer is yes."""
    from dibs.cli.support.session import careful_caller
    from dibs.cli.support.text import printable
    from dibs.services.pipeline.consent import HINT, StartConsent

    consent = StartConsent(repository)
    waiting = consent.pending()
    if not waiting:
        return
    lines = ["dibs.toml starts this without a command of yours, and no human has accepted it here:"]
    lines += [f"  {printable(line)}" for line in waiting]
    print("\n".join(lines), file=sys.stdout if asks else sys.stderr)
    caller = careful_caller(args)
    if caller.human and (agreed or (asks and confirmed("let it run?", default=False))):
        consent.accept(caller)
    else:
        print(f"it does not run; {HINT}", file=sys.stderr)


def confirmed(question: str, *, default: bool = True) -> bool:
    """Ask a yes-or-no question on the terminal."""
    try:
        said = input(f"{question} {'[Y/n]' if default else '[y/N]'} ")
    except EOFError:
        return False
    return said.strip().lower() in ({"", "y", "yes"} if default else {"y", "yes"})
