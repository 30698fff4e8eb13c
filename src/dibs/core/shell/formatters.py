"""The table of formatters, converters, and other tools that rewrite files. Pure."""

from __future__ import annotations

from dibs.core.shell import files
from dibs.core.shell.options import output, rule_of, rules
from dibs.core.shell.words import Arg
from dibs.core.toolcalls.values import How

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.shell.effects import ShellEffects
    from dibs.core.shell.options import CommandRule, ParsedOptions

_Rule = rule_of


def _formats(needs: str = "", values: str = "", *, here: bool = True) -> CommandRule:
    """Return the rule of a formatter: it writes its operands and everything below them."""
    return _Rule(values, needs=needs, unless="" if needs else _CHECKS, deep=True, here=here)


def _format_crate(to: ShellEffects, given: ParsedOptions) -> None:
    """Write the sources of a crate, unless an option says to check them; rustfmt's options follow ``--``."""
    if given.acts and Arg("--check") not in given.operands:
        to.touch(Arg("**/*.rs", glob=True))


_CHECKS = "check check-formatted diff help version list-different l dry-run"
_RUFF = "lsefj config select ignore extend-select line-length target-version exclude output-format"
_IN_PLACE = _formats("i in-place", here=False)
_FORMATS, _NAMED_FILES, _FIXES = _formats(), _formats(here=False), _formats("write fix apply")
_SUBCOMMANDS = _Rule(subcommands=True)

RULES: dict[str, CommandRule] = {
    "black": _Rule(
        "lSkIjtcv line-length target-version config exclude include", deep=True,
        unless=_CHECKS.replace(" l ", " "),
    ),
    **rules("ruff biome terraform tofu dart mix taplo deno zig", _SUBCOMMANDS),
    "ruff format": _formats(values=_RUFF), "ruff check": _formats("fix fix-only unsafe-fixes", _RUFF),
    "isort": _Rule("l profile settings-path", unless="check c check-only diff", deep=True),
    "autopep8": _formats("i in-place", "aj max-line-length", here=False),
    **rules("yapf autoflake docformatter clang-format cmake-format swift-format pg_format", _IN_PLACE),
    **rules(
        "pyupgrade nixfmt add-trailing-comma reorder-python-imports yamlfmt yamlfix "
        "mdformat stylua csharpier sqlfmt alejandra elm-format scalafmt pint", _NAMED_FILES,
    ),
    "prettier": _formats("write w", " config parser ignore-path plugin", here=False),
    "eslint": _formats("fix", "c config ext rule format ignore-path"),
    **rules("stylelint oxlint swiftlint standard standardrb xo ts-standard", _formats("fix")),
    "biome format": _FIXES, "biome check": _FIXES,
    "biome lint": _FIXES, "cargo fmt": _Rule("p package manifest-path", act=_format_crate, unless=_CHECKS),
    "rustfmt": _formats("", " edition config", here=False),
    **rules("gofmt goimports gofumpt golines", _Rule(one_dash=True, needs="w", deep=True)),
    "shfmt": _formats("w", "iln", here=False), **rules("typos hclfmt", _formats("w write-changes")),
    "ktlint": _formats("F format"),
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
    "php-cs-fixer": _SUBCOMMANDS, "php-cs-fixer fix": _FORMATS, "phpcbf": _NAMED_FILES,
    "sqlfluff": _SUBCOMMANDS, "sqlfluff fix": _FORMATS, "sqlfluff format": _FORMATS,
    **rules("markdownlint markdownlint-cli2", _formats("f fix", here=False)),
    "codespell": _formats("w write-changes", "LSx"), "2to3": _formats("w write", "fx"),
    "jscodeshift": _Rule("t transform parser extensions", unless="d dry", deep=True),
    **rules("ast-grep sg", _SUBCOMMANDS), "unifdef": _Rule("DUB", needs="m B"),
    **dict.fromkeys(("ast-grep run", "sg run"), _formats("U update-all", "prl pattern rewrite lang")),
    "sd": _Rule("fn", unless="p preview s", skip=2), "comby": _Rule("fd", needs="i in-place", skip=2),
    "fastmod": _Rule("edg extensions dir glob", skip=2, deep=True, here=True),
    "rename": _Rule("e", unless="n nono", skip=1, how=How.DELETE),
    # Programs with one output
    "openssl": _Rule(" out", one_dash=True, output="out", how=""), "xxd": _Rule("clgso", skip=1),
    "ffmpeg": _Rule(" i f vf af ss t to r s b:v c:v c:a", one_dash=True, skip=-1),
    "convert": _Rule(" resize quality", one_dash=True, skip=-1),
    "script": _Rule("cEOIBTo command", act=files.script),
    "tsc": output("outFile", " outFile outDir project p"), "esbuild": output("outfile", " outfile"),
    **rules("scp", _Rule("cFiJloPSX", act=files.rsync)), "aws": _SUBCOMMANDS, "aws s3": _SUBCOMMANDS,
    **dict.fromkeys(("aws s3 cp", "aws s3 sync"), _Rule(act=files.rsync, unless="dryrun")),
    "djlint": _formats("reformat", here=False),
}  # fmt: skip
