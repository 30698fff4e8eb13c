"""Guess the command a user meant, first by meaning and then by spelling.

Loaded only after a word turned out not to be a command.
"""

from __future__ import annotations

from dibs.cli.support import COMMANDS
from dibs.core.text.names import closest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

#: Words that other tools use, by the Dibs command line that does the same.
_SYNONYMS = {
    "claim": "acquire add checkout dibs edit get grab hold lease lock own reserve take",
    "claim --wait 5m": "await block sleep wait",
    "release": "clear drop free giveback return unhold unlease unlock unclaim",
    "release --all": "finish done",
    "renew": "extend heartbeat keepalive ping refresh touch",
    "open": "browser dashboard gui ui web",
    "status": "info list locks ls overview ps show stat",
    "status --watch": "view watch",
    "top": "htop monitor tui",
    "report": "charts export gantt statistics stats timeline",
    "who": "annotate blame holder owner owners whohas",
    "whoami": "id identity me session user",
    "check": "available can dryrun test try",
    "log": "audit events history journal ledger reflog",
    "log --follow": "follow stream tail",
    "init": "bootstrap create enable install new onboard setup start",
    "init --uninstall": "deinit delete disable purge remove rm teardown uninstall",
    "doctor": "diagnose health verify",
    "doctor --fix": "fix repair",
    "doctor --prove": "prove selftest",
    "say": "broadcast chat dm email mail message msg notify post reply send tell",
    "inbox": "mailbox messages read unread",
    "brief": "brief-me context digest news summary sync",
    "agent ls": "agents sessions team who-is-here workers",
    "agent join": "join login register",
    "agent leave": "exit leave logout quit unregister",
    "agent stop": "kill stop terminate",
    "ask": "beg nudge request",
    "answer": "accept respond",
    "escalate": "appeal dispute",
    "revoke": "break evict force steal takeover",
    "transfer": "give handoff handover move pass",
    "task ls": "board issues tasks tickets todo todos",
    "task new": "todo-add",
    "task take": "next pick",
    "delegate": "assign dispatch",
    "orchestrate": "supervise",
    "work": "drain loop worker",
    "decide ls": "decisions",
    "decide confirm": "approve",
    "decide reject": "deny reject",
    "commit": "ci save",
    "merge": "integrate land rebase",
    "changes": "dirty modified uncommitted",
    "salvage ls": "backup backups recover restore undo",
    "forecast": "conflict conflicts predict",
    "worktree ls": "trees worktrees wt",
    "git install": "hooks",
    "config": "conf env options preferences prefs set settings",
    "engine check": "backend db server store",
    "explain": "match overlap overlaps pattern",
    "run": "exec with",
    "help": "commands docs h man usage",
}
#: Each such word and the command line it means.
MEANINGS = {word: line for line, words in _SYNONYMS.items() for word in words.split()}


def suggest(word: str) -> str:
    """Return the command line that ``word`` probably means, such as ``dibs claim``, or an empty text."""
    known = word.lower()
    meant = MEANINGS.get(known) or closest(known, (*COMMANDS, "help"))
    if not meant:
        meant = MEANINGS.get(closest(known, MEANINGS, 0.8), "")
    return f"dibs {meant}" if meant else ""


#: Options that other tools have, and what Dibs calls them.
_OPTIONS = {"delete": "uninstall", "remove": "uninstall", "rm": "uninstall"}


def suggest_option(word: str, known: Iterable[str]) -> str:
    """Return which of the ``known`` options ``word`` probably means, or an empty text."""
    names = {option.lstrip("-"): option for option in known if option.startswith("--")}
    typed = word.partition("=")[0].lstrip("-").lower()
    meant = _OPTIONS.get(typed, "")
    return names.get(meant) or names.get(closest(typed, names, 0.7), "")


#: Words for subcommands, by the subcommand that does the same in one command or another.
_SUBCOMMANDS = {
    "ls": "all list",
    "new": "add create init make open",
    "gc": "clean cleanup prune",
    "rm": "delete prune remove",
    "drop": "delete remove rm",
    "show": "cat get info view",
    "done": "close complete finish resolve",
    "take": "claim get grab next pick",
    "start": "begin up",
    "stop": "down end kill",
    "join": "login register",
    "leave": "exit logout quit",
    "beat": "heartbeat ping renew",
    "report": "status update",
    "confirm": "accept approve yes",
    "reject": "decline deny no",
    "check": "status test verify",
    "repair": "fix",
    "migrate": "move",
    "uninstall": "disable remove rm",
    "install": "enable init setup",
    "fmt": "format",
    "restore": "recover undo",
}


def suggest_subcommand(word: str, known: list[str]) -> str:
    """Return which of the ``known`` subcommands ``word`` probably means, or an empty text."""
    typed = word.lower()
    meant = (verb for verb, words in _SUBCOMMANDS.items() if typed in words.split())
    return next((verb for verb in meant if verb in known), "") or closest(typed, known)
