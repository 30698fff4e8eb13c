"""Commands that need more than a table entry: copies, archives, downloads, patches. Pure."""

from __future__ import annotations

from dibs.core.shell.options import base, within
from dibs.core.shell.words import Arg
from dibs.core.toolcalls.values import How

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.core.shell.effects import ShellEffects
    from dibs.core.shell.options import ParsedOptions


def copy(to: ShellEffects, given: ParsedOptions) -> None:
    """Write the last operand, or into the folder that an option names; the rule says what sources become."""
    folder = given.of("t target-directory")
    sources = given.operands if folder else given.operands[:-1]
    deep = given.rule.how == How.DELETE or given.has("r R a recursive archive")
    for source in sources:
        to.touch(source, given.rule.how, deep=deep)
        if folder:
            to.touch(within(folder[0], source), deep=deep)
    if folder or not given.operands:
        return
    last = given.operands[-1]
    if not sources:  # ln with one operand makes a link of its name here
        to.touch(last._replace(text=base(last.text)))
    elif len(sources) == 1 and not last.text.endswith("/"):
        to.touch(last, deep=deep, into="" if sources[0].glob else base(sources[0].text))
        if sources[0].glob:
            to.touch(within(last, sources[0]), deep=deep)
    else:
        for source in sources:
            to.touch(within(last, source), deep=deep)


def rsync(to: ShellEffects, given: ParsedOptions) -> None:
    """Write the last operand, unless it is on another machine."""
    if not given.acts or len(given.operands) < 2:  # noqa: PLR2004 - it only lists
        return
    first, last = given.operands[0], given.operands[-1]
    if ":" not in last.text.split("/")[0]:
        many = first.text.endswith("/") or given.has("a r recursive archive delete")
        to.touch(last, deep=many, into="" if many else base(first.text))


def dd(to: ShellEffects, given: ParsedOptions) -> None:
    """Write what ``of=`` names."""
    for arg in given.operands:
        if arg.text.startswith("of="):
            to.touch(arg._replace(text=arg.text[3:]))


def awk(to: ShellEffects, given: ParsedOptions) -> None:
    """Write the operands, if in place, and what the program itself prints to."""
    programs = [] if given.has(given.rule.program) else given.operands[:1]
    if any(arg.text == "inplace" for arg in given.of("i include")):
        for arg in given.operands[len(programs) :]:
            to.touch(arg)
    for program in programs:
        for part in program.text.split(">")[1:]:
            literal = part.lstrip("> ")
            if literal.startswith('"') and '"' in literal[1:]:
                to.touch(Arg(literal[1 : literal.index('"', 1)]))


def tar(to: ShellEffects, given: ParsedOptions) -> None:
    """Unpack into a folder, or write the archive."""
    if given.has("x extract get"):
        if not given.has("O to-stdout"):
            _unpack(to, given, "C directory", given.operands)
    elif given.has("c r u create append update"):
        for arg in given.of("f file"):
            to.touch(arg)


def unzip(to: ShellEffects, given: ParsedOptions) -> None:
    """Unpack into a folder."""
    if given.acts:
        _unpack(to, given, "d", [])


def _unpack(to: ShellEffects, given: ParsedOptions, options: str, members: list[Arg]) -> None:
    """Write members of an archive, or everything below the folder that an option names."""
    folder = given.of(options)[:1]
    for arg in members:
        to.touch(within(folder[0], arg, whole=True) if folder else arg, deep=True)
    if members:
        return
    if folder and folder[0].text.rstrip("/") not in {"", "."}:
        to.touch(folder[0], deep=True)
    else:
        to.unsure = True


_ENDINGS = {"gzip": ".gz", "gunzip": ".gz", "bzip2": ".bz2", "bunzip2": ".bz2", "zstd": ".zst"}


def compress(to: ShellEffects, given: ParsedOptions) -> None:
    """Replace a file with one whose name gains or loses a suffix."""
    ending = _ENDINGS.get(base(given.args[0].text), ".xz")
    for arg in given.operands if given.acts else ():
        to.touch(arg, How.WRITE if given.has("k keep") else How.DELETE)
        cut = arg.text.removesuffix(ending)
        to.touch(arg._replace(text=cut if cut != arg.text else arg.text + ending))


def curl(to: ShellEffects, given: ParsedOptions) -> None:
    """Write downloads: to names in options, or to the last names of the URLs."""
    remote = given.operands if given.has("O remote-name remote-name-all") else []
    names = [*given.of("o output"), *map(_last_of, remote)]
    _download(to, names, given.of("output-dir"))


def wget(to: ShellEffects, given: ParsedOptions) -> None:
    """Write downloads: to a name in an option, else to the last names of the URLs."""
    named = given.of("O output-document")
    folder = [] if named else given.of("P directory-prefix")
    _download(to, named or map(_last_of, given.operands), folder)


def _download(to: ShellEffects, names: Iterable[Arg], folder: list[Arg]) -> None:
    for arg in names:
        to.touch(within(folder[0], arg, whole=True) if folder and arg.text else arg)


def _last_of(url: Arg) -> Arg:
    path = url.text.partition("://")[2].partition("?")[0] or url.text
    return Arg(base(path) if "/" in path else "index.html", False, url.sure)


def patch(to: ShellEffects, given: ParsedOptions) -> None:
    """Write the named file, or those that the patch names; a patch in a file is not read."""
    files = given.operands[:1] if given.rule.how else []
    for arg in files:
        to.touch(arg)
    if files or given.has(given.rule.output) or not given.acts:
        return
    if to.stdin is None:
        to.unsure = True
    else:
        _patched(to, to.stdin)


def apply_patch(to: ShellEffects, given: ParsedOptions) -> None:
    """Apply a patch that is the argument, or is read from standard input."""
    text = given.args[1].text if len(given.args) > 1 else to.stdin
    if text:
        _patched(to, text)


def _patched(to: ShellEffects, text: str) -> None:
    from dibs.core.shell.inline_code import patched

    patched(to, text)
