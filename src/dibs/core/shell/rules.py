"""The table of commands, and the function that applies it. Pure.

A command that is not in the table is assumed to write nothing.
"""

from __future__ import annotations

from dibs.core.shell import files, formatters, git, git_config, outputs, runners
from dibs.core.shell.options import HERE, output, parse_options, rule_of, rules, text_of
from dibs.core.shell.words import Arg, braces
from dibs.core.toolcalls.values import How

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.core.shell.effects import ShellEffects
    from dibs.core.shell.options import CommandRule, ParsedOptions

_Rule = rule_of


def find_rule(name: str) -> CommandRule | None:
    """Return a command's rule; ``python3.12`` and ``python@3`` have that of ``python``."""
    return RULES.get(name) or RULES.get(name.partition("@")[0].rstrip("0123456789."))


def apply_rule(to: ShellEffects, rule: CommandRule, args: Sequence[Arg]) -> None:
    """Collect what a command writes."""
    given = parse_options(args, rule)
    kept = to.place
    for arg in given.of(rule.folder):
        to.go(arg)
    for arg in given.of(rule.output):
        to.touch(arg)
    for arg in given.of(rule.code):
        runners.code(to, arg.text, given)
    if rule.moves:
        to.move(given)
    _apply(to, rule, given)
    if rule.prints is not None:
        rule.prints(to, given)
    if rule.folder:
        to.place = kept


def _apply(to: ShellEffects, rule: CommandRule, given: ParsedOptions) -> None:
    if rule.act is not None:
        rule.act(to, given)
    elif rule.subcommands:
        _subcommand(to, given)
    elif rule.wraps and given.acts:
        runners.run_operands(to, given)
    elif rule.code and not given.has(rule.code) and given.operands[:1] in ([], [Arg("-")]):
        runners.run_input(to, lambda text: runners.code(to, text, given))
    elif rule.how:
        _operands(to, given)


def _operands(to: ShellEffects, given: ParsedOptions) -> None:
    """Record the operands; those of a command with a program are read if not written."""
    rule, how = given.rule, given.rule.how
    if not given.acts:
        if not rule.program:
            return
        how = How.READ
    paths = [arg for arg in given.operands if arg.text or not rule.program]
    skip = rule.skip + (bool(rule.program) and not given.has(rule.program))
    deep = rule.deep or (rule.recursive and given.has("r R recursive"))
    for arg in paths[skip:] or ([HERE] if rule.here else []):
        if rule.deep and arg.text.endswith("..."):  # Go's word for all beneath a folder
            arg = arg._replace(text=arg.text[:-3].rstrip("/") or ".")  # noqa: PLW2901
        # A formatter itself expands a pattern that is quoted.
        for text in braces(arg.text) if rule.deep else [arg.text]:
            to.touch(Arg(text, arg.glob or (rule.deep and "*" in text), arg.sure), how, deep=deep)
        if how == How.READ and not deep and not given.args[0].text.endswith("wc"):
            to.show(arg)


def _subcommand(to: ShellEffects, given: ParsedOptions) -> None:
    """Apply the rule of a subcommand or a package manager."""
    if not given.operands:
        return
    tool = given.args[0].text.rpartition("/")[2].partition("@")[0]
    verb, *rest = given.operands
    texts = [arg.text for arg in rest]
    if texts == ["-h"] or texts[:1] == ["--help"]:
        return
    if tool == "git":
        git_config.overridden(to, given, verb.text)
        _alias(to, given, verb, rest)
    rule = RULES.get(f"{tool} {verb.text}")
    if tool in _RUNNERS and (found := RULES.get(verb.text)) is not None and found.deep:
        apply_rule(to, found, [verb, *rest])
    elif rule is not None:
        apply_rule(to, rule, [verb._replace(text=f"{tool} {verb.text}"), *rest])
    elif tool in _PACKAGES and not _LOCKED.intersection(texts):
        _manage(to, tool, verb.text, rest)


def _manage(to: ShellEffects, tool: str, verb: str, rest: Sequence[Arg]) -> None:
    """Write a package manager's files."""
    names, changes, locks = (words.split() for words in _PACKAGES[tool])
    plain = all(arg.text.startswith("-") for arg in rest)
    locked = verb in locks and (plain or verb not in changes)
    for name in names[-1:] if locked else names if verb in changes else ():
        to.touch(Arg(name))


def _alias(to: ShellEffects, given: ParsedOptions, verb: Arg, rest: Sequence[Arg]) -> None:
    """Run the command that ``git -c alias.VERB=…`` defines."""
    for arg in given.of("c"):
        name, _, text = arg.text.partition("=")
        if name == f"alias.{verb.text}" and arg.sure:
            words = text[1:] if text.startswith("!") else f"git {text}"
            to.script(text_of([Arg(words), *rest]))


def _go(to: ShellEffects, given: ParsedOptions) -> None:
    to.go((given.operands or [Arg("~", sure=False)])[0])


def _go_back(to: ShellEffects, _: ParsedOptions) -> None:
    to.go(Arg("-"))


def _runs(values: str = "", skip: int = 0) -> CommandRule:
    """Return the rule of a command that runs what follows its options and ``skip`` operands."""
    return _Rule(values, skip=skip, wraps=True)


#: Options with which a package manager changes no file of the project.
_LOCKED = frozenset({
    "--frozen", "--locked", "--frozen-lockfile", "--immutable", "--dry-run", "--check", "--global", "-g",
})  # fmt: skip
#: Package managers that run a program by its bare name.
_RUNNERS = frozenset({"yarn", "pnpm", "bun"})
_COPY = "tS target-directory suffix"
_SUBCOMMANDS = _Rule(subcommands=True)
_PACKAGE_RUN = _runs("p with package")
_EXPORT = output("o output output-file", "fo format output output-file")
_PYTHON = _Rule("cWX", code="c", needs="m", wraps=True)
_PERL = _Rule("eE", attached="iMmIFdDC", how=How.WRITE, needs="i", program="e E", code="e E")
_GREP = _Rule(
    "efmABCdDgt regexp file include exclude exclude-dir max-count glob type", how=How.READ, skip=1,
    prints=outputs.search,
)  # fmt: skip
_NPM = "install i add uninstall remove rm update up upgrade dedupe"
#: A package manager's files, the subcommands that change all of them, and those that change the last one; a
#: subcommand in both lists changes all only with an operand.
_PACKAGES = {
    "npm": ("package.json package-lock.json", f"{_NPM} version", "install i"),
    "npm pkg": ("package.json", "set delete fix", ""),
    "pnpm": ("package.json pnpm-lock.yaml", _NPM, "install i"),
    "yarn": ("package.json yarn.lock", "add remove up upgrade", "install"),
    "cargo": ("Cargo.toml Cargo.lock", "add remove rm", "update generate-lockfile"),
    "uv": ("pyproject.toml uv.lock", "add remove", "lock sync"),
    "poetry": ("pyproject.toml poetry.lock", "add remove", "lock update"),
    "pipenv": ("Pipfile Pipfile.lock", "install uninstall", "lock update"),
    "bundle": ("Gemfile Gemfile.lock", "add remove", "install update lock"),
    "composer": ("composer.json composer.lock", "require remove", "update"),
    "go": ("go.mod go.sum", "get work", ""),
    "go mod": ("go.mod go.sum", "edit init tidy vendor", ""),
}

RULES: dict[str, CommandRule] = {
    **git.RULES, "gh": _SUBCOMMANDS, "gh pr": _SUBCOMMANDS, "gh pr checkout": _Rule(how="", moves=True),
    # Files
    **rules("tee sponge", _Rule()), **rules("vim vi nvim", _Rule("cSu", unless="R")), "ed": _Rule("p"),
    "ex": _Rule("c"), "touch": _Rule("rdt reference date"), "shred": _Rule("ns"),
    "truncate": _Rule("sr size reference"),
    **rules("chmod chown chgrp", _Rule(" reference from", act=git_config.change_mode)),
    "chattr": _Rule("v p", skip=-1, recursive=True), "setfacl": _Rule("mxMX", skip=-1, recursive=True),
    "uniq": _Rule("fsw", skip=1, recursive=True, prints=outputs.pass_through),
    **rules("rm unlink rmdir", _Rule(how=How.DELETE, recursive=True)),
    "trash": _Rule(how=How.DELETE, deep=True),
    "mv": _Rule(_COPY, act=files.copy, how=How.DELETE),
    **rules("cp ln", _Rule(_COPY, act=files.copy, how=How.READ)),
    "install": _Rule(f"tSmog{_COPY[2:]} mode owner group", act=files.copy, how=How.READ),
    "rsync": _Rule(
        "eBTMf exclude include filter rsh files-from max-size bwlimit", act=files.rsync,
        unless="n dry-run list-only",
    ),
    "dd": _Rule(act=files.dd), "ls": _Rule(act=outputs.list_folder),
    "sort": _Rule("oktTS output", output="o output", how="", prints=outputs.pass_through),
    "tree": output("o", "oLPI"), **rules("cd pushd", _Rule(act=_go)), "popd": _Rule(act=_go_back),
    "echo": _Rule(act=outputs.print_words), "printf": _Rule("v", act=outputs.print_words),
    **rules("cat head tail", _Rule("ncm", how=How.READ, prints=outputs.print_content)),
    **rules("less more nl wc diff", _Rule("ncm", how=How.READ)),
    "tr": _Rule(act=outputs.pass_through),
    **rules("dirname basename realpath readlink", _Rule(act=outputs.print_path_part)),
    **rules("grep egrep rg ag", _GREP), "read": _Rule("adinNptu", act=outputs.read_lines),
    **rules("mapfile readarray", _Rule("dnOsuCc", act=outputs.read_lines)),
    "set": _Rule(act=outputs.set_arguments), "trap": _Rule(act=runners.trap),
    # Editors of text
    **rules("sed gsed", _Rule(
        "efl expression file line-length", "i", needs="i in-place",
        program="e expression f file",
    )),
    **rules("perl ruby", _PERL),
    **rules("awk gawk mawk", _Rule(
        "iFvf include field-separator assign file", act=files.awk, program="f file",
    )),
    "yq": _Rule("fopI from-file output-format", needs="i inplace in-place", skip=-1),
    **rules("patch gpatch", _Rule(
        "piodDFYVBrgz strip input output directory reject-file", act=files.patch,
        folder="d directory", output="o output", unless="dry-run",
    )),
    **rules("apply_patch applypatch", _Rule(act=files.apply_patch)),
    "sqlite3": _Rule(
        " cmd separator nullvalue newline init", one_dash=True, act=files.sqlite, unless="readonly"
    ),
    # Archives, downloads, compilers
    **rules("tar gtar bsdtar", _Rule(
        "fCTXIbHg file directory exclude files-from strip-components use-compress-program",
        bundled=True, act=files.tar,
    )),
    "unzip": _Rule("dx", act=files.unzip, unless="l p t Z v"),
    **rules("zipfile tarfile", _Rule(act=files.extract)),
    "zip": _Rule("xibntsPO out", act=files.zip_files, unless="O out show-files", output="O out"),
    **rules("gzip gunzip bzip2 bunzip2 xz unxz", _Rule(
        "S", act=files.compress, unless="c stdout to-stdout t l",
    )),
    "zstd": _Rule("oDM", act=files.compress, unless="c stdout to-stdout t l", output="o"),
    **rules("dos2unix unix2dos", _Rule("c convmode", act=files.convert_lines, unless="i info")),
    "curl": _Rule(
        "oHdXuAebFTKmxwrECQtyYzcD output header data request user user-agent referer cookie form "
        "upload-file config max-time proxy write-out output-dir data-raw data-binary retry "
        "connect-timeout cacert cert key url dump-header cookie-jar",
        act=files.curl, output="c cookie-jar D dump-header",
    ),
    "wget": _Rule(
        "OPoaiUtTQDRAlX output-document directory-prefix output-file header user-agent tries",
        act=files.wget, output="o output-file",
    ),
    **rules("gcc g++ cc c++ clang clang++ rustc pandoc", output("o", "oILlDUxW output")),
    "dot": output("o", "oTKGNE"), "xmllint": output("o output", "o output"),
    **rules("iconv shuf", output("o output", "ftoin from-code to-code output input-range head-count")),
    "fallocate": _Rule("lo length offset"), "pip-compile": output("o output-file", "o output-file"),
    # Package managers
    **rules("npm pnpm yarn cargo uv poetry pipenv bundle composer go pdm hatch rye", _SUBCOMMANDS),
    **dict.fromkeys(
        ("npm exec", "npm x", "pnpm exec", "pnpm dlx", "yarn exec", "yarn dlx", "uv run",
         "uv tool run", "yarn run", "pipx run", "poetry run", "pipenv run", "bundle exec", "pdm run",
         "hatch run", "rye run"),
        _PACKAGE_RUN,
    ),
    **dict.fromkeys(("uv tool", "go mod", "npm pkg", "uv pip", "pipx"), _SUBCOMMANDS),
    "uv export": _EXPORT, "uv pip compile": _EXPORT, "poetry export": _EXPORT,
    "go fmt": _Rule(deep=True, here=True),
    "go build": _Rule(" o", one_dash=True, output="o", how=""),
    **formatters.RULES,
    # Commands that run others
    "sudo": _Rule("ugpCDhrtU user group chdir host", folder="D chdir", wraps=True),
    "doas": _runs("uC"), "nice": _runs("n adjustment"), "ionice": _runs("cnp class classdata"),
    "timeout": _runs("ks kill-after signal", 1), "gtimeout": _runs("ks", 1), "exec": _runs("a"),
    "flock": _runs("wE", 1), "chroot": _runs("", 1), "stdbuf": _runs("ioe"), "npx": _runs("pc package"),
    "uvx": _runs("p from with python"), "strace": _Rule("eopu", output="o", wraps=True),
    **rules(
        "nohup command builtin setsid unbuffer chronic busybox bunx pnpx unshare xvfb-run fakeroot", _runs()
    ),
    "env": _Rule(
        "uC unset chdir", folder="C chdir", script="S split-string", wraps=True
    ),
    "time": _Rule("fo format output", output="o output", wraps=True),
    **rules("eval watch", _Rule("n", wraps=True, act=runners.evaluate)),
    **dict.fromkeys(runners.SHELLS, _Rule("oO rcfile init-file", wraps=True, act=runners.shell)),
    "su": _Rule("csgG command shell", act=runners.shell),
    **rules("python pypy", _PYTHON), "bun": _Rule("e eval", code="e eval", how=""),
    "node": _Rule("ep eval print", code="e eval p print", how=""),
    "php": _Rule("r", code="r", how=""), "deno eval": _Rule(act=runners.evaluate_code),
    "find": _Rule(act=runners.find), "parallel": _Rule("jN", wraps=True, act=runners.parallel),
    "xargs": _Rule("InPLdsaE", "i", wraps=True, act=runners.xargs),
}  # fmt: skip
