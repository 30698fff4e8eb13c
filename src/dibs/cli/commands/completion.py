"""Print shell completion for bash, zsh, or fish.

Completes commands, options, and files. To enable it, add the line for your
shell to ~/.bashrc, to ~/.zshrc after compinit, or to ~/.config/fish/config.fish.

Examples:
  eval "$(dibs completion bash)"
  eval "$(dibs completion zsh)"
  dibs completion fish | source
"""

from __future__ import annotations

import argparse
import os

from dibs.cli.support.parsing import arg
from dibs.errors import BadUsage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterable, Iterator, Sequence

    #: A matching word, and its description.
    Offer = tuple[str, str]

#: The words after ``--`` are the command line to complete.
TAKES_COMMAND = True

#: The script for each shell. It offers what ``dibs completion --offer`` prints: a word and its description
#: per line. Words are never expanded, because a file name could contain a command substitution.
SCRIPTS = {
    "bash": r"""_dibs() {
    local cur=${COMP_WORDS[COMP_CWORD]} at line
    COMPREPLY=()
    compopt -o filenames 2>/dev/null
    for ((at = 2; at < COMP_CWORD; at++)); do
        if [[ ${COMP_WORDS[at]} == -- ]]; then
            while IFS= read -r line; do COMPREPLY+=("$line"); done \
                < <(compgen -A file -A command -- "$cur")
            return
        fi
    done
    while IFS= read -r line; do COMPREPLY+=("${line%%$'\t'*}"); done \
        < <(dibs completion --offer -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _dibs dibs""",
    "zsh": r"""#compdef dibs
_dibs() {
    local line
    local -a found shown folders lines
    for line in "${(@f)$(dibs completion --offer -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
        if [[ $line == */ ]]; then
            folders+=("$line")
        elif [[ -n $line ]]; then
            found+=("${line%%$'\t'*}") shown+=("${line/$'\t'/  -- }")
            [[ $line == *$'\t'* ]] && lines=(-l)
        fi
    done
    compadd $lines -d shown -a found
    compadd -S '' -a folders
}
compdef _dibs dibs""",
    "fish": r"""function __dibs_offer
    set -l words (commandline -opc) (commandline -ct)
    dibs completion --offer -- $words[2..] 2>/dev/null
end
complete -c dibs -f -a '(__dibs_offer)'""",
}

#: The metavars of arguments that are files, or folders.
FILES = frozenset({"PATTERN", "PATH", "FILE"})
FOLDERS = frozenset({"DIR"})

OPTIONS = (
    arg("shell", nargs="?", choices=tuple(SCRIPTS), metavar="SHELL", help="bash, zsh, or fish"),
    arg("--offer", action="store_true", help=argparse.SUPPRESS),
)


def run(args: Namespace) -> int:
    """Print the script, or the words that the script asks for."""
    if args.offer:
        for word, about in offers(args.command):
            print(f"{word}\t{about}" if about else word)
        return 0
    if args.shell is None:
        raise BadUsage("completion: missing SHELL", hint="use one of bash, zsh, fish")
    text = SCRIPTS[args.shell]
    if args.json:
        from dibs.cli.support.session import print_json

        print_json({"shell": args.shell, "script": text})
    else:
        print(text)
    return 0


def offers(words: Sequence[str]) -> Iterator[Offer]:
    """Yield completions for the last word, which may be partly typed."""
    from dibs.cli.support import COMMANDS, load
    from dibs.cli.support.parsing import build
    from dibs.cli.support.verbs import subcommands

    *before, typed = words or [""]
    if not before:
        yield from _fitting([*COMMANDS.items(), ("help", "show help")], typed)
        return
    if before == ["help"]:
        yield from _fitting(COMMANDS.items(), typed)
        return
    if before[0] not in COMMANDS:
        return
    parser: ArgumentParser = build(before[0], load(before[0]))
    found = list(subcommands(parser))
    if found:
        if len(before) == 1:
            yield from _fitting([(name, line) for name, line, _ in found], typed)
            return
        inner = next((inner for name, _, inner in found if name == before[1]), None)
        if inner is None:
            return
        parser = inner
    yield from _fitting(_behind(parser, before[-1], typed), typed)


def _behind(parser: ArgumentParser, last: str, typed: str) -> Iterable[Offer]:
    """Return what can follow ``last``: a value, an option, or an argument."""
    shown = [a for a in parser._actions if a.help != argparse.SUPPRESS]  # noqa: SLF001
    taking = next((a for a in shown if last in a.option_strings and a.nargs != 0), None)
    if taking is None and typed.startswith("-"):
        return [(name, action.help or "") for action in shown for name in action.option_strings]
    found = taking or next((a for a in shown if not a.option_strings), None)
    if found is None:
        return []
    if found.choices:
        return [(str(choice), "") for choice in found.choices]
    kind = found.metavar if isinstance(found.metavar, str) else found.dest.upper()
    files = _files(typed, folders=kind in FOLDERS) if kind in FILES | FOLDERS else []
    return [(path, "") for path in files]


def _fitting(found: Iterable[Offer], typed: str) -> Iterator[Offer]:
    return ((word, about) for word, about in found if word.startswith(typed))


def _files(typed: str, *, folders: bool) -> list[str]:
    """Return the files, or only the folders, in the folder typed so far; a folder ends in a slash."""
    place = os.path.dirname(typed)
    try:
        with os.scandir(place or ".") as entries:
            found = [(entry.name, entry.is_dir()) for entry in entries]
    except OSError:
        return []
    hidden = os.path.basename(typed).startswith(".")
    return sorted(
        os.path.join(place, name) + ("/" if is_folder else "")
        for name, is_folder in found
        if (is_folder or not folders) and (hidden or not name.startswith("."))
    )
