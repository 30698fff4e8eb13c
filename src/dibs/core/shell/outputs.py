"""The output of commands from which others take file names: ``grep -l``, ``ls``, ``cat`` of a list.

Pure: the given ``FileSource`` knows the files. An output is None if unknown.
"""

from __future__ import annotations

from dibs.core.shell.effects import MOST, FileSearch
from dibs.core.shell.options import HERE, base
from dibs.core.shell.words import Arg

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.core.shell.effects import ShellEffects
    from dibs.core.shell.options import ParsedOptions

#: A pattern with more than this many repetitions, or with a repeated group, may take too long to search for.
_MOST_REPEATS = 4
_SLOW = (")*", ")+", "){", ")?", *(f"\\{number}" for number in range(1, 10)))
_CLASSES = {"[:space:]": r"\s", "[:alpha:]": "A-Za-z", "[:digit:]": "0-9", "[:alnum:]": "A-Za-z0-9"}
#: Commands whose patterns are extended regular expressions.
_EXTENDED = frozenset({"rg", "egrep", "ag"})
#: What ``rg -t`` searches.
_TYPES = {
    "py": "*.py",
    "js": "*.js",
    "ts": "*.ts",
    "go": "*.go",
    "rust": "*.rs",
    "md": "*.md",
    "json": "*.json",
}


class _OneLine(list[Arg]):
    """An output that is the words of one line; other outputs are lines."""


def lines(text: str | None) -> list[Arg] | None:
    """Return the lines of a text as arguments."""
    if text is None:
        return None
    found = [Arg(line) for line in text.splitlines() if line.strip()]
    return found if len(found) <= MOST else None


def standard_input(to: ShellEffects) -> list[Arg] | None:
    """Return the lines that a command reads from standard input."""
    piped = to.stdin is None and to.source is None
    return to.fed if piped else lines(input_text(to))


def input_text(to: ShellEffects) -> str | None:
    """Return the text that a command reads from standard input; None if it is unknown."""
    if to.stdin is not None:
        return to.stdin
    if to.source is not None:
        return to.disk.text(to.source)
    glue = " " if isinstance(to.fed, _OneLine) else "\n"
    return None if to.fed is None else glue.join(arg.text for arg in to.fed)


def print_content(to: ShellEffects, given: ParsedOptions) -> None:
    """Print files or standard input, or a part of them."""
    files = [arg for arg in given.operands if arg.text != "-"]
    if not to.feeds:
        return
    if not files:
        to.gives, to.made = standard_input(to), to.fed_made
        return
    to.shows = files[0]
    found: list[Arg] = []
    for arg in files:
        more = lines(to.text_at(arg))
        if more is None:
            return
        found += more
    to.gives = found


def pass_through(to: ShellEffects, given: ParsedOptions) -> None:
    """Print standard input, in another order or without a part of it."""
    if not given.operands or given.args[0].text == "tr":
        to.gives = standard_input(to)


def list_folder(to: ShellEffects, given: ParsedOptions) -> None:
    """Print the names in folders, and the names of files."""
    if given.has("l R recursive") or not to.feeds:
        return
    found: list[Arg] = []
    for arg in given.operands or [HERE]:
        path = to.at(arg)
        names = None if path is None else to.disk.names(path)
        if names is None and not given.operands:
            return
        found += [arg] if names is None else [Arg(name) for name in names]
    to.gives = found


def list_tracked(to: ShellEffects, given: ParsedOptions) -> None:
    """Print the files of the index at these paths."""
    if given.has("o others i ignored d deleted m modified s stage u unmerged"):
        return
    found = []
    for arg in given.operands or [HERE]:
        text = arg.text.rstrip("/")
        if arg.glob or "*" in text:
            text = text if "/" in text else f"**/{text}"
        elif text == ".":
            text = "**"
        elif "." not in text.rpartition("/")[2]:
            text = f"{text}/**"
        found.append(Arg(text, "*" in text or arg.glob, arg.sure))
    to.gives = found


def search(to: ShellEffects, given: ParsedOptions) -> None:
    """Print the names of files that match, or the matching lines of standard input."""
    if not to.feeds or given.has("f file"):
        return
    if given.has("files"):  # rg --files
        list_tracked(to, given)
        return
    patterns, paths = given.of("e regexp"), list(given.operands)
    if not patterns:
        patterns, paths = paths[:1], paths[1:]
    tool = given.args[0].text.rpartition("/")[2]
    deep = tool in {"rg", "ag", "git grep"} or given.has("r R recursive dereference-recursive")
    fed = None if paths or deep else standard_input(to)
    if given.has("l files-with-matches L files-without-match name-only"):
        pattern = _expression(patterns, given, extended=tool in _EXTENDED)
        if pattern is not None and (paths or deep):
            _by_name(to, given, paths, FileSearch(pattern, deep=deep))
    elif fed is not None:
        pattern = _expression(patterns, given, extended=tool in _EXTENDED)
        to.gives = None if pattern is None else _matching(fed, pattern, given)


def _by_name(
    to: ShellEffects, given: ParsedOptions, paths: Sequence[Arg], wanted: FileSearch
) -> None:
    """Print the names of files that match."""
    names = [arg.text for arg in given.of("include g glob")]
    names += [_TYPES.get(arg.text, "") for arg in given.of("t type")]
    if "" in names or any(name.startswith("!") for name in names) or to.place is None:
        return
    wanted = wanted._replace(
        fold_case=given.has("i ignore-case y"),
        without=given.has("L files-without-match"),
        names=tuple(names),
    )
    found = to.disk.holding(to.place, paths or [HERE], wanted)
    to.gives = None if found is None else [Arg(name) for name in found]


def _matching(fed: Sequence[Arg], pattern: str, given: ParsedOptions) -> list[Arg]:
    """Return the lines that match; a pattern of files may."""
    import re

    expression = re.compile(pattern, re.IGNORECASE if given.has("i ignore-case y") else 0)
    wrong = given.has("v invert-match")
    return [arg for arg in fed if arg.glob or bool(expression.search(arg.text)) != wrong]


def _expression(patterns: Sequence[Arg], given: ParsedOptions, *, extended: bool) -> str | None:
    """Return a search pattern as a regular expression of Python; None if that is not safe or possible."""
    if not patterns or not all(arg.sure for arg in patterns):
        return None
    import re

    extended = extended or given.has("E extended-regexp P perl-regexp")
    fixed = given.has("F fixed-strings")
    found = [re.escape(arg.text) if fixed else _python(arg, extended=extended) for arg in patterns]
    pattern = "|".join(found)
    if given.has("w word-regexp"):
        pattern = rf"\b(?:{pattern})\b"
    if given.has("x line-regexp"):
        pattern = f"^(?:{pattern})$"
    repeats = sum(pattern.count(sign) for sign in "*+{")
    if repeats > _MOST_REPEATS or any(sign in pattern for sign in _SLOW):
        return None
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return None
    return pattern


def _python(arg: Arg, *, extended: bool) -> str:
    """Return a basic or extended regular expression in the syntax of Python."""
    import re

    text = arg.text
    if arg.glob:  # an unquoted pattern, which the shell leaves as it is
        text = re.sub(r"\[([*?[])\]", r"\1", text)
    if not extended:
        text = re.sub(r"(\\?)([+?|(){}])", lambda m: m[2] if m[1] else f"\\{m[2]}", text)
    for name, instead in _CLASSES.items():
        text = text.replace(name, instead)
    return text.replace(r"\<", r"\b").replace(r"\>", r"\b")


def print_words(to: ShellEffects, given: ParsedOptions) -> None:
    """Print the arguments, each in the format of ``printf``."""
    if given.args[0].text.endswith("echo"):
        to.gives = _OneLine(arg for arg in given.args[1:] if not arg.text.startswith("-"))
        return
    name = given.of("v")
    form, *rest = given.operands or [Arg("")]
    text = form.text.replace("\\n", "").replace("\\0", "").replace("%q", "%s")
    if text.count("%") != 1 or "%s" not in text:
        found = [form, *rest] if "%" not in text else rest
    else:
        found = [Arg(text.replace("%s", arg.text), arg.glob, arg.sure) for arg in rest]
    if name:
        to.variables[name[0].text] = tuple(arg.text for arg in found)
    else:
        to.gives = found


def print_path_part(to: ShellEffects, given: ParsedOptions) -> None:
    """Print a path, its folder, or its last name."""
    command = base(given.args[0].text)
    for arg in given.operands[:1]:
        folder, slash, name = arg.text.rstrip("/").rpartition("/")
        if command in {"realpath", "readlink"}:
            to.gives = [arg]
        elif command == "dirname":
            to.gives = [arg._replace(text=folder if slash else ".")]
        else:
            ending = "".join(other.text for other in given.operands[1:2])
            to.gives = [arg._replace(text=name.removesuffix(ending))]


def read_lines(to: ShellEffects, given: ParsedOptions) -> None:
    """Set variables from standard input: each line is a possible value."""
    names = [arg.text for arg in given.operands]
    found = standard_input(to)
    if found is None or not names or not all(arg.sure for arg in found):
        return
    if len(names) == 1 or given.args[0].text != "read":
        to.variables[names[-1]] = tuple(arg.text for arg in found)
        return
    for place, name in enumerate(names):
        columns = [arg.text.split() for arg in found]
        to.variables[name] = tuple(words[place] for words in columns if len(words) > place)


def set_arguments(to: ShellEffects, given: ParsedOptions) -> None:
    """Set the positional parameters."""
    texts = [arg.text for arg in given.args[1:]]
    if "--" in texts:
        arguments(to, given.args[texts.index("--") + 2 :])


def arguments(to: ShellEffects, args: Sequence[Arg]) -> None:
    """Give a script these arguments, as far as they are known."""
    for number in range(1, 10):
        to.variables.pop(str(number), None)
    to.variables.pop("@", None)
    if all(arg.sure for arg in args) and args:
        texts = tuple(arg.text for arg in args)
        to.variables["@"] = texts
        for number, text in enumerate(texts[:9], 1):
            to.variables[str(number)] = (text,)
