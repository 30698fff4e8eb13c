"""The table of commands, and the function that applies it. Pure.

A command that is not in the table is assumed to write nothing.
"""

from __future__ import annotations

from dibs.core.shell import files, git, runners
from dibs.core.shell.effects import PULL_REQUEST
from dibs.core.shell.options import HERE, parse_options, rule_of
from dibs.core.shell.words import Arg
from dibs.core.toolcalls.values import How

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.core.shell.effects import ShellEffects
    from dibs.core.shell.options import CommandRule, ParsedOptions

_Rule = rule_of


def find_rule(name: str) -> CommandRule | None:
    """Return a command's rule; ``python3.12`` has that of ``python``."""
    return RULES.get(name) or RULES.get(name.rstrip("0123456789."))


def apply_rule(to: ShellEffects, rule: CommandRule, args: Sequence[Arg]) -> None:
    """Collect what a command writes."""
    given = parse_options(args, rule)
    kept = to.place
    for arg in given.of(rule.folder):
        to.go(arg)
    for arg in given.of(rule.output):
        to.touch(arg)
    for arg in given.of(rule.code):
        runners.code(to, arg.text)
    if rule.act is not None:
        rule.act(to, given)
    elif rule.subcommands:
        _subcommand(to, given)
    elif rule.wraps and given.acts:
        runners.run_operands(to, given)
    elif rule.code and not given.has(rule.code) and given.operands[:1] in ([], [Arg("-")]):
        runners.run_input(to, lambda text: runners.code(to, text))
    elif rule.how:
        _operands(to, given)
    if rule.folder:
        to.place = kept


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
        to.touch(arg, how, deep=deep)
        if how == How.READ and not deep and not given.args[0].text.endswith("wc"):
            to.show(arg)


def _subcommand(to: ShellEffects, given: ParsedOptions) -> None:
    """Apply the rule of a subcommand or a package manager."""
    if not given.operands:
        return
    tool = given.args[0].text.rpartition("/")[2]
    verb, *rest = given.operands
    texts = [arg.text for arg in rest]
    if texts == ["-h"] or texts[:1] == ["--help"]:
        return
    if tool == "git" and verb.text in _MOVES:
        to.move(verb.text, rest)
    elif f"{tool} {verb.text}" == PULL_REQUEST:
        to.move(PULL_REQUEST, rest)
    rule = RULES.get(f"{tool} {verb.text}")
    if rule is not None:
        apply_rule(to, rule, [verb._replace(text=f"{tool} {verb.text}"), *rest])
    elif tool in _PACKAGES:
        if _LOCKED.intersection(texts):
            return
        names, changes, locks = (words.split() for words in _PACKAGES[tool])
        plain = all(arg.text.startswith("-") for arg in rest)
        locked = verb.text in locks and (plain or verb.text not in changes)
        for name in names[-1:] if locked else names if verb.text in changes else ():
            to.touch(Arg(name))


def _go(to: ShellEffects, given: ParsedOptions) -> None:
    to.go((given.operands or [Arg("~", sure=False)])[0])


def _go_back(to: ShellEffects, _: ParsedOptions) -> None:
    to.go(Arg("-"))


def _print(to: ShellEffects, given: ParsedOptions) -> None:
    """Pass the arguments to the next command."""
    to.gives = [arg for arg in given.args[1:] if not arg.text.startswith("-")]


def _rules(names: str, rule: CommandRule) -> dict[str, CommandRule]:
    return dict.fromkeys(names.split(), rule)


def _output(options: str, values: str) -> CommandRule:
    """Return the rule of a command that writes only what an option names."""
    return _Rule(values, output=options, how="")


def _runs(values: str = "", skip: int = 0) -> CommandRule:
    """Return the rule of a command that runs what follows its options and ``skip`` operands."""
    return _Rule(values, skip=skip, wraps=True)


def _formats(needs: str = "", values: str = "", *, here: bool = True) -> CommandRule:
    """Return the rule of a formatter: it writes its operands and everything below them."""
    return _Rule(values, needs=needs, unless="" if needs else _CHECKS, deep=True, here=here)


#: Git commands that can move HEAD or a branch; see core/shell/git_moves.py.
_MOVES = frozenset({
    "checkout", "switch", "rebase", "pull", "bisect", "reset", "stash", "symbolic-ref", "update-ref",
    "commit", "branch", "push",
})  # fmt: skip
#: Options with which a package manager changes no file of the project.
_LOCKED = frozenset({
    "--frozen", "--locked", "--frozen-lockfile", "--immutable", "--dry-run", "--global", "-g",
})  # fmt: skip
_CHECKS = "check check-formatted diff help version list-different l dry-run"
_COPY = "tS target-directory suffix"
_RUFF = "lsefj config select ignore extend-select line-length target-version exclude output-format"
_IN_PLACE = _formats("i in-place", here=False)
_FORMATS, _NAMED_FILES, _FIXES = _formats(), _formats(here=False), _formats("write fix apply")
_SUBCOMMANDS = _Rule(subcommands=True)
_PACKAGE_RUN = _runs("p with package")
_PYTHON = _Rule("cWX", code="c", needs="m", wraps=True)
_PERL = _Rule("eE", attached="iMmIFdDC", how=How.WRITE, needs="i", program="e E", code="e E")
_NPM = "install i add uninstall remove rm update up upgrade dedupe"
#: A package manager's files, the subcommands that change all of them, and those that change the last one; a
#: subcommand in both lists changes all only with an operand.
_PACKAGES = {
    "npm": ("package.json package-lock.json", f"{_NPM} version pkg", "install i"),
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
    **git.RULES, "gh": _SUBCOMMANDS, "gh pr": _SUBCOMMANDS,
    # Files
    **_rules("tee sponge", _Rule()), **_rules("vim vi nvim", _Rule("cSu")), "ed": _Rule("p"),
    "ex": _Rule("c"), "touch": _Rule("rdt reference date"), "shred": _Rule("ns"),
    "truncate": _Rule("sr size reference"), "chmod": _Rule(skip=1, recursive=True),
    "uniq": _Rule("fsw", skip=1, recursive=True),
    **_rules("rm unlink rmdir", _Rule(how=How.DELETE, recursive=True)),
    "trash": _Rule(how=How.DELETE, deep=True), "mv": git.RULES["git mv"],
    **_rules("cp ln", _Rule(_COPY, act=files.copy, how=How.READ)),
    "install": _Rule(f"tSmog{_COPY[2:]} mode owner group", act=files.copy, how=How.READ),
    "rsync": _Rule(
        "eBTMf exclude include filter rsh files-from max-size bwlimit", act=files.rsync,
        unless="n dry-run list-only",
    ),
    "dd": _Rule(act=files.dd), "sort": _output("o output", "oktTS output"),
    "tree": _output("o", "oLPI"), **_rules("cd pushd", _Rule(act=_go)), "popd": _Rule(act=_go_back),
    **_rules("echo printf ls", _Rule(act=_print)),
    **_rules("cat head tail less more nl wc diff", _Rule("ncm", how=How.READ)),
    **_rules("grep rg", _Rule("efmABC", how=How.READ, skip=1)),
    # Editors of text
    **_rules("sed gsed", _Rule(
        "efl expression file line-length", "i", needs="i in-place",
        program="e expression f file",
    )),
    **_rules("perl ruby", _PERL),
    **_rules("awk gawk mawk", _Rule(
        "iFvf include field-separator assign file", act=files.awk, program="f file",
    )),
    "yq": _Rule("fopI from-file output-format", needs="i inplace in-place", skip=-1),
    **_rules("patch gpatch", _Rule(
        "piodDFYVBrgz strip input output directory reject-file", act=files.patch,
        folder="d directory", output="o output", unless="dry-run",
    )),
    **_rules("apply_patch applypatch", _Rule(act=files.apply_patch)),
    # Archives, downloads, compilers
    **_rules("tar gtar bsdtar", _Rule(
        "fCTXIbHg file directory exclude files-from strip-components use-compress-program",
        bundled=True, act=files.tar,
    )),
    "unzip": _Rule("dx", act=files.unzip, unless="l p t Z v"), "zip": _Rule("xi"),
    **_rules("gzip gunzip bzip2 bunzip2 xz unxz zstd", _Rule(
        "S", act=files.compress, unless="c stdout to-stdout t l",
    )),
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
    **_rules("gcc g++ cc c++ clang clang++ rustc pandoc", _output("o", "oILlDUxW output")),
    "dot": _output("o", "oTKGNE"), "pip-compile": _output("o output-file", "o output-file"),
    # Package managers
    **_rules("npm pnpm yarn cargo uv poetry pipenv bundle composer go pdm hatch rye", _SUBCOMMANDS),
    **dict.fromkeys(
        ("npm exec", "npm x", "pnpm exec", "pnpm dlx", "yarn exec", "yarn dlx", "uv run",
         "uv tool run", "poetry run", "pipenv run", "bundle exec", "pdm run", "hatch run", "rye run"),
        _PACKAGE_RUN,
    ),
    "uv tool": _SUBCOMMANDS, "go mod": _SUBCOMMANDS, "go fmt": _Rule(deep=True, here=True),
    "go build": _Rule(" o", one_dash=True, output="o", how=""),
    # Formatters
    "black": _Rule(
        "lSkIjtcv line-length target-version config exclude include", deep=True,
        unless=_CHECKS.replace(" l ", " "),
    ),
    **_rules("ruff biome terraform tofu dart mix taplo deno zig", _SUBCOMMANDS),
    "ruff format": _formats(values=_RUFF), "ruff check": _formats("fix unsafe-fixes", _RUFF),
    "isort": _Rule("l profile settings-path", unless="check c check-only diff", deep=True),
    "autopep8": _formats("i in-place", "aj max-line-length", here=False),
    **_rules("yapf autoflake docformatter clang-format", _IN_PLACE),
    **_rules("pyupgrade dos2unix unix2dos nixfmt", _NAMED_FILES),
    "prettier": _formats("write w", " config parser ignore-path plugin", here=False),
    "eslint": _formats("fix", "c config ext rule format ignore-path"),
    "stylelint": _formats("fix"), "biome format": _FIXES, "biome check": _FIXES,
    "biome lint": _FIXES, "rustfmt": _formats("", " edition config", here=False),
    **_rules("gofmt goimports gofumpt golines", _Rule(one_dash=True, needs="w", deep=True)),
    "shfmt": _formats("w", "iln", here=False), "ktlint": _formats("F format"),
    "rubocop": _formats("a A autocorrect auto-correct autocorrect-all"),
    **dict.fromkeys(("terraform fmt", "tofu fmt"), _Rule(
        one_dash=True, unless="check help write", deep=True, here=True,
    )),
    "dart format": _Rule(
        "ol output line-length", unless="o output help", deep=True, here=True
    ),
    "dart fix": _formats("apply"), "mix format": _FORMATS, "taplo fmt": _FORMATS,
    "taplo format": _FORMATS, "deno fmt": _FORMATS, "zig fmt": _FORMATS,
    "swiftformat": _Rule(unless="lint dryrun", deep=True, here=True),
    "djlint": _formats("reformat", here=False),
    # Commands that run others
    "sudo": _Rule("ugpCDhrtU user group chdir host", folder="D chdir", wraps=True),
    "doas": _runs("uC"), "nice": _runs("n adjustment"), "ionice": _runs("cnp class classdata"),
    "timeout": _runs("ks kill-after signal", 1), "gtimeout": _runs("ks", 1), "exec": _runs("a"),
    "flock": _runs("wE", 1), "stdbuf": _runs("ioe"), "npx": _runs("pc package"),
    "uvx": _runs("p from with python"), "strace": _Rule("eopu", output="o", wraps=True),
    **_rules("nohup command builtin setsid unbuffer chronic busybox bunx pnpx", _runs()),
    "env": _Rule(
        "uC unset chdir", folder="C chdir", script="S split-string", wraps=True
    ),
    "time": _Rule("fo format output", output="o output", wraps=True),
    **_rules("eval watch", _Rule("n", wraps=True, act=runners.evaluate)),
    **_rules("bash sh zsh dash ksh fish", _Rule("oO rcfile init-file", wraps=True, act=runners.shell)),
    "su": _Rule("csgG command shell", act=runners.shell),
    **_rules("pwsh powershell", _Rule(act=runners.powershell)),
    **_rules("python pypy", _PYTHON), "bun": _Rule("e", code="e", how=""),
    "node": _Rule("ep eval print", code="e eval p print", how=""),
    "php": _Rule("r", code="r", how=""), "deno eval": _Rule(act=runners.evaluate_code),
    "find": _Rule(act=runners.find),
    "xargs": _Rule("InPLdsaE", "i", wraps=True, act=runners.xargs),
}  # fmt: skip
