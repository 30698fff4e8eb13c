"""Commands that need more than a table entry: copies, archives, downloads, patches. Pure."""

from __future__ import annotations

from dibs.core.shell.options import base, within
from dibs.core.shell.outputs import input_text
from dibs.core.shell.words import Arg
from dibs.core.toolcalls import patches
from dibs.core.toolcalls.values import How

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.core.shell.effects import ShellEffects
    from dibs.core.shell.options import ParsedOptions


def copy(to: ShellEffects, given: ParsedOptions) -> None:
    """Write the last operand, or into the folder that an option names; the rule says what sources become."""
    if not given.acts:
        return
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
        whole = sources[0].glob or given.has("T no-target-directory")
        to.touch(last, deep=deep, into="" if whole else base(sources[0].text))
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
        gone = any(name.startswith("del") for name in given.flags)
        many = gone or first.text.endswith("/") or given.has("a r recursive archive")
        how = How.DELETE if gone else How.WRITE
        to.touch(last, how, deep=many, into="" if many else base(first.text))


def dd(to: ShellEffects, given: ParsedOptions) -> None:
    """Write what ``of=`` names."""
    for arg in given.operands:
        if arg.text.startswith("of="):
            to.touch(arg._replace(text=arg.text[3:]))


def script(to: ShellEffects, given: ParsedOptions) -> None:
    """Run the text after ``-c``, and write its output to the operand."""
    for arg in given.of("c command"):
        to.script(arg.text if arg.sure else "")
    for arg in given.operands:
        to.touch(arg)


def awk(to: ShellEffects, given: ParsedOptions) -> None:
    """Write the operands, if in place, and what the program itself prints to or runs."""
    programs = [] if given.has(given.rule.program) else given.operands[:1]
    if any(arg.text == "inplace" for arg in given.of("i include")):
        for arg in given.operands[len(programs) :]:
            to.touch(arg)
    known = dict(arg.text.split("=", 1) for arg in given.of("v assign") if "=" in arg.text)
    for program in programs:
        for part in program.text.split(">")[1:]:
            literal = part.lstrip("> ")
            word = literal.partition("}")[0].partition(";")[0].strip()
            if literal.startswith('"') and '"' in literal[1:]:
                to.touch(Arg(literal[1 : literal.index('"', 1)]))
            elif word in known:
                to.touch(Arg(known[word]))
        for part in program.text.replace("system(", "|").split("|")[1:]:
            literal = part.lstrip()
            if literal.startswith('"') and '"' in literal[1:]:
                to.script(literal[1 : literal.index('"', 1)])


def sqlite(to: ShellEffects, given: ParsedOptions) -> None:
    """Write the database, if a statement changes it."""
    from dibs.core.toolcalls.verbs import changes_database

    database, *texts = given.operands or [Arg("")]
    texts += given.of("cmd")
    statements = [*(arg.text for arg in texts), input_text(to) or ""]
    if given.acts and any(map(changes_database, statements)):
        to.touch(database)


def tar(to: ShellEffects, given: ParsedOptions) -> None:
    """Unpack into a folder, or write the archive."""
    if given.has("x extract get"):
        if not given.has("O to-stdout"):
            archive = next(iter(given.of("f file")), Arg("-"))
            _unpack(to, given, "C directory", given.operands, archive)
    elif given.has("c r u create append update"):
        for arg in given.of("f file"):
            to.touch(arg)
        for arg in given.operands if given.has("remove-files") else ():
            to.touch(arg, How.DELETE, deep=True)


def unzip(to: ShellEffects, given: ParsedOptions) -> None:
    """Unpack into a folder."""
    if given.acts and given.operands:
        archive, *members = given.operands
        _unpack(to, given, "d", members, archive)


def extract(to: ShellEffects, given: ParsedOptions) -> None:
    """Unpack as ``python -m zipfile -e ARCHIVE FOLDER`` does."""
    if given.has("e extract") and given.operands:
        archive, *folder = given.operands
        given = given._replace(flags={**given.flags, "d": folder})
        _unpack(to, given, "d", [], archive)


def _unpack(
    to: ShellEffects, given: ParsedOptions, options: str, members: list[Arg], archive: Arg
) -> None:
    """Write members of an archive, or everything below the folder that an option names."""
    folder = given.of(options)[:1]
    for arg in members:
        to.touch(within(folder[0], arg, whole=True) if folder else arg, deep=True)
    if members:
        return
    if archive.text == "-":
        here = not folder or folder[0].text in {"", ".", "./"}
        if to.fed_made is not None and here and to.place == to.fed_made.place:
            to.whole[to.fed_made] = None
            return
        archive = to.fed_file or archive
        path = to.source or to.at(archive)
    else:
        path = to.at(archive)
    names = None if path is None else to.disk.members(path)
    skip = next((int(a.text) for a in given.of("strip-components") if a.text.isdecimal()), 0)
    if names is not None:
        for name in names:
            inner = Arg("/".join(name.split("/")[skip:]))
            if inner.text:
                to.touch(within(folder[0], inner, whole=True) if folder else inner)
    elif folder and folder[0].text.rstrip("/") not in {"", "."}:
        to.touch(folder[0], deep=True)
    else:
        to.unsure = True


_ENDINGS = {"gzip": ".gz", "gunzip": ".gz", "bzip2": ".bz2", "bunzip2": ".bz2", "zstd": ".zst"}


def compress(to: ShellEffects, given: ParsedOptions) -> None:
    """Replace a file with one whose name gains or loses a suffix."""
    tool = base(given.args[0].text)
    ending = _ENDINGS.get(tool, ".xz")
    kept = not given.has("rm") if tool == "zstd" else given.has("k keep")
    for arg in given.operands if given.acts else ():
        to.touch(arg, How.READ if kept else How.DELETE)
        cut = arg.text.removesuffix(ending)
        if not given.has(given.rule.output):
            to.touch(arg._replace(text=cut if cut != arg.text else arg.text + ending))


def zip_files(to: ShellEffects, given: ParsedOptions) -> None:
    """Write the archive, and delete what moves into it."""
    archive, *files = given.operands or [Arg("-")]
    if given.acts and Arg("f") not in given.of("s"):  # -sf only lists
        named = "." in base(archive.text) or archive.text == "-"
        to.touch(archive if named else archive._replace(text=f"{archive.text}.zip"))
        for arg in files if given.has("m move") else ():
            to.touch(arg, How.DELETE, deep=True)


def convert_lines(to: ShellEffects, given: ParsedOptions) -> None:
    """Convert files in place, or each first file of a pair to the second one."""
    written = given.operands[1::2] if given.has("n newfile") else given.operands
    for arg in written if given.acts else ():
        to.touch(arg)


def curl(to: ShellEffects, given: ParsedOptions) -> None:
    """Write downloads: to names in options, or to the last names of the URLs."""
    remote = given.operands if given.has("O remote-name remote-name-all") else []
    names = [*given.of("o output"), *map(_last_of, remote)]
    _download(to, names, given.of("output-dir"))


def wget(to: ShellEffects, given: ParsedOptions) -> None:
    """Write downloads: to a name in an option, else to the last names of the URLs."""
    named = given.of("O output-document")
    if given.has("spider"):
        return
    folder = [] if named else given.of("P directory-prefix")
    _download(to, named or map(_last_of, given.operands), folder)


def _download(to: ShellEffects, names: Iterable[Arg], folder: list[Arg]) -> None:
    for arg in names:
        to.touch(within(folder[0], arg, whole=True) if folder and arg.text else arg)


def _last_of(url: Arg) -> Arg:
    path = url.text.partition("://")[2].partition("?")[0] or url.text
    return Arg(base(path) if "/" in path else "index.html", False, url.sure)


def patch(to: ShellEffects, given: ParsedOptions) -> None:
    """Write the named file, or those that the patch names."""
    by_git = given.args[0].text.startswith("git")
    files = [] if by_git else given.operands[:1]
    for arg in files if given.acts and not given.has(given.rule.output) else ():
        to.touch(arg)
    if files or given.has(given.rule.output) or not given.acts:
        return
    if to.fed_made is not None and to.place == to.fed_made.place:
        to.whole[to.fed_made] = None
        return
    named = [arg for arg in given.operands if arg.text != "-"] if by_git else given.of("i input")
    texts = [to.text_at(arg) for arg in named] if named else [input_text(to)]
    if None in texts:
        to.unsure = True
    strip = next((int(arg.text) for arg in given.of("p strip") if arg.text.isdecimal()), -1)
    folder = "".join(arg.text for arg in given.of("directory")[:1]) if by_git else ""
    for text in texts:
        patched(to, text or "", 1 if by_git and strip < 0 else strip, folder)


def apply_patch(to: ShellEffects, given: ParsedOptions) -> None:
    """Apply a patch that is the argument, or is read from standard input."""
    text = given.args[1].text if len(given.args) > 1 else input_text(to)
    if text:
        patched(to, text)


def patched(to: ShellEffects, text: str, strip: int = -1, folder: str = "") -> None:
    """Record the files that a patch names, in the format of git, diff, or apply_patch.

    The first ``strip`` folders of a name do not count; if negative, those of git do not.
    """
    found = patches.touched(text) if patches.is_patch(text) else patches.diffed(text, strip)
    for touch in found:
        to.touch(Arg(f"{folder.rstrip('/')}/{touch.path}" if folder else touch.path), touch.how)
