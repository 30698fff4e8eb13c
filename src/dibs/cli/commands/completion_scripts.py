"""Completion scripts for shells, written from the grammar of the command line."""

from __future__ import annotations

from dibs.cli.commands.completion import FILES, FOLDERS, LOOKED_UP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dibs.cli.commands.completion import Completions, Option


def script(shell: str, grammar: Sequence[Completions]) -> str:
    """Return the script for ``shell``."""
    writers: dict[str, Callable[[Sequence[Completions]], str]] = {
        "bash": _bash,
        "zsh": _zsh,
        "fish": _fish,
    }
    return writers[shell](grammar)


def _commands(grammar: Sequence[Completions]) -> list[Completions]:
    return [words for words in grammar if len(words.names) == 1]


def _verbs(grammar: Sequence[Completions], command: str) -> list[Completions]:
    return [words for words in grammar if len(words.names) > 1 and words.names[0] == command]


# -- bash

# Candidates are compared, never expanded: a claimed pattern may hold what a shell would run.
_BASH = """\
_dibs_offer() {{
    local word
    while IFS= read -r word; do
        [[ -n $word && $word == "$1"* ]] && COMPREPLY+=("$word")
    done
}}
_dibs() {{
    local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} at
    local words= values= files=
    COMPREPLY=()
    for ((at = 2; at < COMP_CWORD; at++)); do
        if [[ ${{COMP_WORDS[at]}} == -- ]]; then
            _dibs_offer "$cur" < <(compgen -A file -A command -- "$cur")
            return
        fi
    done
    if ((COMP_CWORD == 1)); then
        words=$'{commands}'
    else
        case ${{COMP_WORDS[1]}} in
{cases}
        esac
    fi
    _dibs_offer "$cur" <<< "$words"
    [[ -n $values || -n $files ]] && compopt -o filenames 2>/dev/null
    [[ -n $values ]] && _dibs_offer "$cur" < <(dibs completion --values "$values" 2>/dev/null)
    [[ $files == any ]] && _dibs_offer "$cur" < <(compgen -A file -- "$cur")
    [[ $files == folders ]] && _dibs_offer "$cur" < <(compgen -A directory -- "$cur")
    return 0
}}
complete -F _dibs dibs"""


def _bash(grammar: Sequence[Completions]) -> str:
    names = "\\n".join([*(words.names[0] for words in _commands(grammar)), "help"])
    cases = []
    for words in _commands(grammar):
        verbs = _verbs(grammar, words.names[0])
        cases.append(f"    {words.names[0]})")
        if verbs:
            listed = "\\n".join(verb.names[1] for verb in verbs)
            cases.append(f"        if ((COMP_CWORD == 2)); then words=$'{listed}'; else")
            cases.append("        case ${COMP_WORDS[2]} in")
            for verb in verbs:
                cases.append(f"        {verb.names[1]})")
                cases += _bash_words(verb, "            ")
                cases.append("            ;;")
            cases.append("        esac; fi")
        else:
            cases += _bash_words(words, "        ")
        cases.append("        ;;")
    return _BASH.format(commands=names, cases="\n".join(cases))


def _bash_words(words: Completions, indent: str) -> list[str]:
    """Return the lines that set what can follow, by the word before the cursor."""
    lines = [f"{indent}case $prev in"]
    for option in words.options:
        if option.value:
            known = _bash_value(option.value, option.choices)
            lines.append(f"{indent}{'|'.join(option.spellings)}) {known} ;;")
    names = "\\n".join(spelling for option in words.options for spelling in option.spellings)
    known = _bash_value(words.value, words.choices)
    lines.append(f"{indent}*) if [[ $cur == -* ]]; then words=$'{names}'; else {known}; fi ;;")
    lines.append(f"{indent}esac")
    return lines


def _bash_value(value: str, choices: Sequence[str]) -> str:
    if choices:
        return "words=$'" + "\\n".join(choices) + "'"
    parts = [f"values={LOOKED_UP[value]}"] if value in LOOKED_UP else []
    if value in FILES:
        parts.append("files=any")
    elif value in FOLDERS:
        parts.append("files=folders")
    return "; ".join(parts) or ":"


# -- zsh

_ZSH = """\
#compdef dibs
_dibs_values() {{
    local -a found
    found=("${{(@f)$(dibs completion --values $1 2>/dev/null)}}")
    compadd -a found
}}
_dibs_paths() {{ _dibs_values claims; _files }}
_dibs() {{
    local curcontext=$curcontext state line
    local -a commands verbs
    commands=(
{commands}
    )
    if ((CURRENT == 2)); then
        _describe command commands
        return
    fi
    case $words[2] in
{cases}
    esac
}}
compdef _dibs dibs"""


def _zsh(grammar: Sequence[Completions]) -> str:
    listed = [f"        {_quoted(f'{w.names[0]}:{w.help}')}" for w in _commands(grammar)]
    cases = []
    for words in _commands(grammar):
        verbs = _verbs(grammar, words.names[0])
        cases.append(f"    {words.names[0]})")
        if verbs:
            pairs = " ".join(_quoted(f"{verb.names[1]}:{verb.help}") for verb in verbs)
            cases.append(f"        verbs=({pairs})")
            cases.append("        if ((CURRENT == 3)); then _describe verb verbs; return; fi")
            cases.append("        shift words; ((CURRENT--))")
            cases.append("        case $words[2] in")
            cases += [f"        {verb.names[1]}) {_zsh_arguments(verb)} ;;" for verb in verbs]
            cases.append("        esac ;;")
        else:
            cases.append(f"        {_zsh_arguments(words)} ;;")
    return _ZSH.format(commands="\n".join(listed), cases="\n".join(cases))


def _zsh_arguments(words: Completions) -> str:
    specs = [spec for option in words.options for spec in _zsh_option(option)]
    tail = _quoted(f"*:{words.value.lower() or 'word'}:{_zsh_value(words.value, words.choices)}")
    return f"shift words; ((CURRENT--)); _arguments -s {' '.join([*specs, tail])}"


def _zsh_option(option: Option) -> list[str]:
    said = option.help.translate(str.maketrans("[]:", "() "))
    behind = f":{option.value.lower()}:{_zsh_value(option.value, option.choices)}"
    return [_quoted(f"{s}[{said}]{behind if option.value else ''}") for s in option.spellings]


def _zsh_value(value: str, choices: Sequence[str]) -> str:
    if choices:
        return f"({' '.join(choices)})"
    if value in FILES:
        return " _dibs_paths" if value in LOOKED_UP else "_files"
    if value in FOLDERS:
        return "_files -/"
    return f" _dibs_values {LOOKED_UP[value]}" if value in LOOKED_UP else " "


# -- fish


def _fish(grammar: Sequence[Completions]) -> str:
    lines = ["complete -c dibs -f"]
    for words in grammar:
        command, *verb = words.names
        if verb:
            seen = f"__fish_seen_subcommand_from {command}"
            lines.append(_fish_line(seen, f"-a {verb[0]}", words.help))
            condition = f"{seen}; and __fish_seen_subcommand_from {verb[0]}"
        else:
            lines.append(_fish_line("__fish_use_subcommand", f"-a {command}", words.help))
            condition = f"__fish_seen_subcommand_from {command}"
        known = _fish_value(words.value, words.choices)
        if known:
            lines.append(_fish_line(condition, known, ""))
        lines += [_fish_option(condition, option) for option in words.options]
    return "\n".join(lines)


def _fish_option(condition: str, option: Option) -> str:
    parts = [f"-l {s[2:]}" if s.startswith("--") else f"-s {s[1:]}" for s in option.spellings]
    if option.value:
        parts += ["-x" if option.value not in FILES | FOLDERS else "-r"]
        parts += [_fish_value(option.value, option.choices)]
    return _fish_line(condition, " ".join(filter(None, parts)), option.help)


def _fish_value(value: str, choices: Sequence[str]) -> str:
    if choices:
        return f"-a {_quoted(' '.join(choices))}"
    parts = [f"-a '(dibs completion --values {LOOKED_UP[value]})'"] if value in LOOKED_UP else []
    if value in FILES:
        parts.insert(0, "-F")
    elif value in FOLDERS:
        parts.append("-a '(__fish_complete_directories)'")
    return " ".join(parts)


def _fish_line(condition: str, what: str, said: str) -> str:
    description = f" -d {_quoted(said)}" if said else ""
    return f"complete -c dibs -n {_quoted(condition)} {what}{description}"


def _quoted(text: str) -> str:
    """Return ``text`` in single quotes, written so that all three shells read it alike."""
    return "'" + text.replace("'", "'\\''") + "'"
