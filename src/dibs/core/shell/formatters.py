"""Which files formatters and fixers write: those that are named, or all beneath where they stand. Pure."""

from __future__ import annotations

from dibs.core.shell.commands import HERE, options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.shell.commands import Act, CommandEffects
    from dibs.core.shell.words import Arg

_LOOKS = frozenset({"check", "diff", "help", "version", "list-different", "l", "dry-run"})


def formats(
    *needs: str, valued: str = "", unless: frozenset[str] = _LOOKS, everywhere: bool = True,
    skip: int = 0, single: bool = False,
) -> Act:  # fmt: skip
    """Return an act that writes its operands, and all beneath them, if one of ``needs`` is given.

    Without ``needs`` it always does, ``unless`` it is asked only to look. ``everywhere`` says what no operand
    means: the folder where it stands.
    """

    def act(to: CommandEffects, args: list[Arg]) -> None:
        given = options(args, valued, single=single)
        if (needs and not given.has(*needs)) or (not needs and given.has(*unless)):
            return
        operands = given.operands[skip:]
        for arg in operands or ([HERE] if everywhere else []):
            if arg.text != "-":
                to.touch(arg, deep=True)

    return act


def verbs(**acts: Act) -> Act:
    """Return an act that is chosen by the first operand: ``ruff format``."""

    def act(to: CommandEffects, args: list[Arg]) -> None:
        for place, arg in enumerate(args[1:], 1):
            if not arg.text.startswith("-"):
                chosen = acts.get(arg.text.replace("-", "_"))
                if chosen is not None:
                    chosen(to, args[place:])
                return

    return act


def evaluated(to: CommandEffects, args: list[Arg]) -> None:
    """Run a program that is an argument."""
    for arg in options(args).operands[:1]:
        to.code(arg.text)


_PYTHON = "lSkIjtcv line-length target-version config exclude include"
_RUFF = "lsefj config select ignore extend-select line-length target-version exclude output-format"
_SORTS = frozenset({"check", "c", "check-only", "diff"})
_FIXES = formats("write", "fix", "apply")
_FILES = formats("w", single=True, everywhere=False)

ACTS: dict[str, Act] = {
    "black": formats(valued=_PYTHON, unless=_LOOKS - {"l"}, everywhere=False),
    "ruff": verbs(format=formats(valued=_RUFF), check=formats("fix", "unsafe-fixes", valued=_RUFF)),
    "isort": formats(valued="l profile settings-path", unless=_SORTS, everywhere=False),
    "autopep8": formats("i", "in-place", valued="aj max-line-length", everywhere=False),
    "yapf": formats("i", "in-place", everywhere=False),
    "autoflake": formats("i", "in-place", everywhere=False), "pyupgrade": formats(everywhere=False),
    "docformatter": formats("i", "in-place", everywhere=False),
    "prettier": formats("write", "w", valued=" config parser ignore-path plugin", everywhere=False),
    "eslint": formats("fix", valued="c config ext rule format ignore-path"),
    "stylelint": formats("fix"),
    "biome": verbs(format=_FIXES, check=_FIXES, lint=_FIXES),
    "gofmt": _FILES, "goimports": _FILES, "gofumpt": _FILES, "golines": _FILES,
    "rustfmt": formats(valued=" edition config", everywhere=False),
    "shfmt": formats("w", valued="iln", everywhere=False),
    "clang-format": formats("i", everywhere=False),
    "rubocop": formats("a", "A", "autocorrect", "auto-correct", "autocorrect-all"),
    "terraform": verbs(fmt=formats()), "tofu": verbs(fmt=formats()),
    "dart": verbs(format=formats(), fix=formats("apply")), "mix": verbs(format=formats()),
    "taplo": verbs(fmt=formats(), format=formats()),
    "swiftformat": formats(unless=frozenset({"lint", "dryrun"})), "ktlint": formats("F", "format"),
    "djlint": formats("reformat", everywhere=False), "dos2unix": formats(everywhere=False),
    "unix2dos": formats(everywhere=False), "deno": verbs(fmt=formats(), eval=evaluated),
    "zig": verbs(fmt=formats()), "nixfmt": formats(everywhere=False),
}  # fmt: skip
