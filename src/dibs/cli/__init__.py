"""The command line: load the named command, run it, and turn errors into exit statuses.

Importing this module loads neither a parser nor an engine.
"""

from __future__ import annotations

import sys

from dibs.cli.support import COMMANDS, INTERRUPTED, OK, load, quieten
from dibs.errors import BadUsage, DibsError, NotAllowed, Unavailable, system_error

#: Commands that also renew the agent's lock files, if they are due, and verbs that only read.
RENEWING = frozenset({"brief", "commit", "inbox", "renew", "say", "task"})
READING = frozenset({"graph", "ls", "show", "validate"})
#: Commands that are never sent to the server that ``DIBS_SERVER`` names: they make sense only where they are
#: typed.
LOCAL = frozenset({"completion", "hook", "init", "mcp", "open", "report", "serve", "top", "work"})

TYPE_CHECKING = False  # importing typing would double the time of `dibs help`
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Sequence
    from typing import NoReturn

    Check = Callable[[Namespace], None]


def program() -> NoReturn:
    """Run the command of this process, and exit without cleanup.

    Collecting garbage during imports and tearing down the interpreter would cost as much as starting it.
    """
    import gc
    import os

    gc.set_threshold(100_000)
    status = main()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            status = status or Unavailable.exit_status
    os._exit(status)


def main(argv: Sequence[str] | None = None, check: Check | None = None) -> int:
    """Run one command and return its exit status; ``check`` sees its arguments first."""
    words = list(sys.argv[1:] if argv is None else argv)
    _ready_streams()
    status = OK
    try:
        status = _answer(words, check)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        quieten()
    except OSError as error:  # for example, the disk is full
        quieten()
        if not status:
            print(f"dibs: cannot write the output: {error.strerror}", file=sys.stderr)
        return status or Unavailable.exit_status
    return status


def _answer(words: list[str], check: Check | None) -> int:
    """Run the command; turn an exception into a message and an exit status."""
    as_json = "--json" in (words[: words.index("--")] if "--" in words else words)
    try:
        return _dispatch(words, check)
    except DibsError as error:
        return _report(error, as_json=as_json)
    except SystemExit as done:  # from argparse after --help, or from a signal handler
        return done.code if isinstance(done.code, int) else OK
    except BrokenPipeError:
        raise
    except OSError as error:
        return _report(system_error(error), as_json=as_json)
    except Exception as error:  # noqa: BLE001 - the top of a surface
        return _report_bug(error, as_json=as_json)


def _dispatch(words: list[str], check: Check | None) -> int:
    import os

    name = words[0] if words else "help"
    if name in {"-h", "--help", "help"}:
        from dibs.cli.support.help import show

        return show(words[1:])
    if name in {"-V", "--version", "version"}:
        from dibs import __version__

        print(f"dibs {__version__}")
        return OK
    if name not in COMMANDS:
        raise _unknown_command(name)
    if check is not None and name in LOCAL:
        raise NotAllowed(f"dibs {name} runs only on the machine where it is typed")
    from dibs.cli.support.parsing import parse

    module = load(name)
    args = parse(name, module, words[1:])
    args.called = f"{name} {getattr(args, 'verb', None) or ''}".rstrip()
    if check is not None:
        check(args)
    elif os.environ.get("DIBS_SERVER") and name not in LOCAL:
        from dibs.cli.remote.command import send

        return send(words, args)
    if hasattr(module, "run"):
        return int(module.run(args))
    from dibs.cli.support.session import Session

    with Session(args) as session:
        status = (args.act if hasattr(args, "act") else module.act)(session, args) or OK
        if name in RENEWING and getattr(args, "verb", "") not in READING:
            session.project.renew_locks(session.caller.id)
        return int(status)


def _unknown_command(name: str) -> BadUsage:
    from dibs.core.text.names import quote

    if name.startswith("-"):
        return BadUsage(f"unknown option {quote(name)}", hint="options go after the command")
    from dibs.cli.support.suggestions import suggest

    meant = suggest(name)
    hint = f"did you mean '{meant}'?" if meant else "`dibs help` lists the commands"
    return BadUsage(f"unknown command {quote(name)}", hint=hint)


def _report(error: DibsError, *, as_json: bool) -> int:
    if error.exit_status == Unavailable.exit_status:
        error.hint = _sandbox_hint(error) or error.hint
    if as_json:
        from dibs.cli.support.session import print_json
        from dibs.shapes.claims import error as shape

        print_json(shape(error))
    else:
        from dibs.core.text.names import printable

        message, hint = _clause(error.message), _clause(error.hint)
        if hint:
            message += f"; {hint}" if message.endswith(")") else f" ({hint})"
        print(f"dibs: {printable(message)}", file=sys.stderr)
    return error.exit_status


def _sandbox_hint(error: DibsError) -> str:
    """Return what to use instead of a command that cannot write in Codex's sandbox."""
    import os

    refused = error.code == "STORAGE_READONLY" or "Read-only file system" in error.message
    if not refused or not any(name.startswith("CODEX_SANDBOX") for name in os.environ):
        return ""
    return (
        "commands cannot write in Codex's sandbox; use the MCP tools of the `dibs` server instead"
        " (claim, wait, ask, release, commit, say, task)"
    )


def _clause(sentence: str) -> str:
    """Return a sentence without its capital letter and period."""
    plain_word = sentence[:1].isupper() and not sentence[1:2].isupper()
    start = sentence[:1].lower() if plain_word else sentence[:1]
    return (start + sentence[1:]).removesuffix(".")


def _report_bug(error: Exception, *, as_json: bool) -> int:
    import os

    if os.environ.get("DIBS_TRACEBACK"):
        raise error
    broken = DibsError(
        f"internal error: {type(error).__name__}: {error}",
        code="INTERNAL",
        hint="please report it; DIBS_TRACEBACK=1 prints the traceback",
    )
    return _report(broken, as_json=as_json)


def _ready_streams() -> None:
    """Let the standard streams accept any text; replace a closed one with /dev/null."""
    if sys.stdin is None or sys.stdout is None or sys.stderr is None:
        _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if stream.errors != "backslashreplace" and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _open_closed_streams() -> None:
    import os

    names = ("stdin", "stdout", "stderr")
    closed = [number for number, name in enumerate(names) if getattr(sys, name) is None]
    for number in closed:
        # A command prints nothing, but a hook, which writes to the descriptor, must see that it cannot.
        handle = os.open(os.devnull, os.O_RDONLY)
        if handle != number:
            os.dup2(handle, number)
            os.close(handle)
    for number in closed:
        stream = open(os.devnull, "w" if number else "r", encoding="utf-8")  # noqa: SIM115
        setattr(sys, names[number], stream)
