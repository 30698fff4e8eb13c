"""What archivers, downloaders, package managers and their like write. Pure."""

from __future__ import annotations

from dibs.core.shell.commands import HERE, base, each, option, options
from dibs.core.shell.runners import prefix
from dibs.core.shell.words import Arg
from dibs.core.toolcalls.values import How

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.shell.commands import Act, CommandEffects


def awk(to: CommandEffects, args: list[Arg]) -> None:
    """Write the operands, if in place, and what the program itself prints to."""
    given = options(args, "iFvf include field-separator assign file")
    programs = [] if given.has("f", "file") else given.operands[:1]
    if any(arg.text == "inplace" for arg in given.of("i", "include")):
        for arg in given.operands[len(programs) :]:
            to.touch(arg)
    for program in programs:
        for part in program.text.split(">")[1:]:
            literal = part.lstrip("> ")
            if literal.startswith('"') and '"' in literal[1:]:
                to.touch(Arg(literal[1 : literal.index('"', 1)]))


def patch(to: CommandEffects, args: list[Arg]) -> None:
    """Write the file that is named, else what the patch names."""
    given = options(args, "piodDFYVBrgz strip input output directory reject-file")
    for folder in given.of("d", "directory"):
        to.go(folder)
    for arg in [*given.operands[:1], *given.of("o", "output")]:
        to.touch(arg)
    if given.has("dry-run") or given.operands or given.has("o", "output"):
        return
    if to.stdin is not None:
        to.patch(to.stdin)
    else:
        to.doubt(" ".join(arg.text for arg in args))


def apply_patch(to: CommandEffects, args: list[Arg]) -> None:
    """Apply a patch that is the argument, or comes by standard input."""
    text = args[1].text if len(args) > 1 else to.stdin
    if text:
        to.patch(text)


def rsync(to: CommandEffects, args: list[Arg]) -> None:
    """Write the last operand."""
    given = options(args, "eBTMf exclude include filter rsh files-from max-size bwlimit")
    if given.has("n", "dry-run", "list-only") or len(given.operands) < 2:  # noqa: PLR2004
        return
    last = given.operands[-1]
    if ":" not in last.text.split("/")[0]:
        first = given.operands[0]
        many = first.text.endswith("/") or given.has("a", "r", "recursive", "archive", "delete")
        to.touch(last, deep=many, into="" if many else base(first.text))


def tar(to: CommandEffects, args: list[Arg]) -> None:
    """Unpack into a folder, or write the archive."""
    rest = list(args)
    if len(rest) > 1 and not rest[1].text.startswith("-"):
        rest[1] = Arg(f"-{rest[1].text}", rest[1].glob, rest[1].sure)
    given = options(
        rest, "fCTXIbHg file directory exclude files-from strip-components use-compress-program"
    )
    folder = given.of("C", "directory")
    if given.has("x", "extract", "get") and not given.has("O", "to-stdout"):
        if given.operands:
            for arg in given.operands:
                text = f"{folder[0].text}/{arg.text}" if folder else arg.text
                to.touch(Arg(text, arg.glob, arg.sure), deep=True)
        elif folder and folder[0].text.rstrip("/") not in {"", "."}:
            to.touch(folder[0], deep=True)
        else:
            to.doubt(" ".join(arg.text for arg in args))
    elif given.has("c", "r", "u", "create", "append", "update"):
        for arg in given.of("f", "file"):
            to.touch(arg)


def unzip(to: CommandEffects, args: list[Arg]) -> None:
    """Unpack into a folder."""
    given = options(args, "dx")
    if given.has("l", "p", "t", "Z", "v"):
        return
    if given.of("d"):
        to.touch(given.of("d")[0], deep=True)
    else:
        to.doubt(" ".join(arg.text for arg in args))


def squeeze(*endings: str) -> Act:
    """Return an act that puts a file in the place of another with an ending more, or less."""

    def act(to: CommandEffects, args: list[Arg]) -> None:
        given = options(args, "S")
        if given.has("c", "stdout", "to-stdout", "t", "l"):
            return
        for arg in given.operands:
            to.touch(arg, How.WRITE if given.has("k", "keep") else How.DELETE)
            cut = next((arg.text.removesuffix(e) for e in endings if arg.text.endswith(e)), "")
            to.touch(Arg(cut or arg.text + endings[0], arg.glob, arg.sure))

    return act


def curl(to: CommandEffects, args: list[Arg]) -> None:
    """Write what is downloaded."""
    given = options(
        args,
        "oHdXuAebFTKmxwrECQtyYz output header data request user user-agent referer cookie form "
        "upload-file config max-time proxy write-out output-dir data-raw data-binary retry "
        "connect-timeout cacert cert key url dump-header cookie-jar",
    )
    folder = given.of("output-dir")
    names = given.of("o", "output")
    if given.has("O", "remote-name", "remote-name-all"):
        names = [*names, *(_last_of(arg) for arg in given.operands)]
    for arg in names:
        if arg.text and folder:
            to.touch(Arg(f"{folder[0].text}/{arg.text}", arg.glob, arg.sure and folder[0].sure))
        else:
            to.touch(arg)
    for arg in [*given.of("c", "cookie-jar"), *given.of("D", "dump-header")]:
        to.touch(arg)


def wget(to: CommandEffects, args: list[Arg]) -> None:
    """Write what is downloaded."""
    given = options(
        args, "OPoaiUtTQDRAlX output-document directory-prefix output-file header user-agent tries"
    )
    names = given.of("O", "output-document")
    folder = given.of("P", "directory-prefix")
    for arg in names or [_last_of(url) for url in given.operands]:
        to.touch(
            Arg(f"{folder[0].text}/{arg.text}", arg.glob, arg.sure) if folder and not names else arg
        )
    for arg in given.of("o", "output-file"):
        to.touch(arg)


def _last_of(url: Arg) -> Arg:
    path = url.text.partition("://")[2].partition("?")[0] or url.text
    return Arg(base(path) if "/" in path else "index.html", False, url.sure)


def packages(files: str, changing: str, locking: str = "", *, runs: str = "") -> Act:
    """Return an act of a package manager: some of its commands change ``files``, some only the last of them.

    Those in ``runs`` run another command.
    """
    names, changes, locks = files.split(), changing.split(), locking.split()

    def act(to: CommandEffects, args: list[Arg]) -> None:
        words = [arg for arg in args[1:] if not arg.text.startswith("-")]
        verb = words[0].text if words else ""
        plain = len(words) < 2  # noqa: PLR2004 - only the verb itself
        if verb in runs.split():
            prefix("p with package")(to, args[args.index(words[0]) :])
        elif verb in changes and not (plain and verb in locks):
            for name in names:
                to.touch(Arg(name))
        elif verb in locks or (not verb and "" in locks):
            to.touch(Arg(names[-1]))

    return act


def go(to: CommandEffects, args: list[Arg]) -> None:
    """Go's own tool: modules, formatting, and where a program is built to."""
    verb = args[1].text if len(args) > 1 else ""
    if verb in {"get", "mod", "work"} and args[2:3] != [Arg("download")]:
        to.touch(Arg("go.mod"))
        to.touch(Arg("go.sum"))
    elif verb == "fmt":
        for arg in options(args[1:]).operands or [HERE]:
            to.touch(Arg(arg.text.removesuffix("...").rstrip("/") or "."), deep=True)
    elif verb == "build":
        for arg in options(args[1:], " o", single=True).of("o"):
            to.touch(arg)


def yq(to: CommandEffects, args: list[Arg]) -> None:
    """Write the operands behind the expression, if in place."""
    given = options(args, "fopI from-file output-format")
    if given.has("i", "inplace", "in-place"):
        for arg in given.operands[-1:]:
            to.touch(arg)


_NPM = "install i add uninstall remove rm update up upgrade dedupe"
_COMPILES = option("o", valued="oILlDUxW output")

ACTS: dict[str, Act] = {
    "awk": awk, "gawk": awk, "mawk": awk, "patch": patch, "gpatch": patch, "apply_patch": apply_patch,
    "applypatch": apply_patch, "rsync": rsync, "tar": tar, "gtar": tar, "bsdtar": tar,
    "unzip": unzip, "zip": each(valued="xi"), "gzip": squeeze(".gz"), "gunzip": squeeze(".gz"),
    "bzip2": squeeze(".bz2"), "bunzip2": squeeze(".bz2"), "xz": squeeze(".xz"),
    "unxz": squeeze(".xz"), "zstd": squeeze(".zst"), "curl": curl, "wget": wget,
    "npm": packages("package.json package-lock.json", f"{_NPM} version pkg", "install i", runs="exec x"),
    "pnpm": packages("package.json pnpm-lock.yaml", _NPM, "install i", runs="exec dlx"),
    "yarn": packages("package.json yarn.lock", "add remove up upgrade", "install", runs="exec dlx"),
    "cargo": packages("Cargo.toml Cargo.lock", "add remove rm", "update generate-lockfile"),
    "uv": packages("pyproject.toml uv.lock", "add remove", "lock sync", runs="run tool"),
    "poetry": packages("pyproject.toml poetry.lock", "add remove", "lock update install", runs="run"),
    "pipenv": packages("Pipfile Pipfile.lock", "install uninstall", "lock update", runs="run"),
    "bundle": packages("Gemfile Gemfile.lock", "add remove", "install update lock", runs="exec"),
    "composer": packages("composer.json composer.lock", "require remove", "install update"),
    "pip-compile": option("o", "output-file", valued="o output-file"), "go": go, "yq": yq,
    "gcc": _COMPILES, "g++": _COMPILES, "cc": _COMPILES, "c++": _COMPILES, "clang": _COMPILES,
    "clang++": _COMPILES, "rustc": _COMPILES, "pandoc": _COMPILES, "dot": option("o", valued="oTKGNE"),
}  # fmt: skip
