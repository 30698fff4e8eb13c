"""What ``git`` writes into a working tree. Pure."""

from __future__ import annotations

from dibs.core.shell.commands import ParsedOptions, copy, option, options
from dibs.core.shell.words import TOP, Arg
from dibs.core.toolcalls.values import How

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.core.shell.commands import Act, CommandEffects

    Sub = Callable[[CommandEffects, list[Arg]], None]

_STOPS = frozenset({"abort", "quit", "continue", "skip", "edit-todo", "show-current-patch"})


def git(to: CommandEffects, args: list[Arg]) -> None:
    """Find git's own command behind the options that stand before it."""
    place, kept = 1, to.place
    while place < len(args) and args[place].text.startswith("-"):
        text = args[place].text
        if text == "-C" and place + 1 < len(args):
            to.go(args[place + 1])
        elif text.startswith("--work-tree="):
            to.go(args[place]._replace(text=text.removeprefix("--work-tree=")))
        place += 2 if text in {"-C", "-c", "--git-dir", "--work-tree", "--namespace"} else 1
    act = _SUBS.get(args[place].text) if place < len(args) else None
    if act is not None:
        act(to, args[place:])
    to.place = kept


def _split(args: list[Arg]) -> tuple[list[Arg], list[Arg] | None]:
    """Return what stands before ``--`` and what behind it, None where there is none."""
    for place, arg in enumerate(args):
        if arg.text == "--":
            return args[:place], args[place + 1 :]
    return args, None


def _paths(to: CommandEffects, paths: list[Arg], how: str = How.WRITE) -> None:
    for arg in paths:
        to.touch(arg, how, deep=True)


def checkout(to: CommandEffects, args: list[Arg]) -> None:
    """Write the paths that are named, or go to another commit."""
    before, paths = _split(args)
    given = options(before, "bB orphan conflict pathspec-from-file")
    if paths is not None and paths:
        _paths(to, paths)
        return
    start = given.operands
    if given.has("b", "B", "orphan"):
        if start:
            _switch(to, start[0])
    elif len(start) == 1 and paths is None:
        # A branch or a path: what it is, is known where the repository is.
        if start[0].text == "." or start[0].glob or not start[0].sure:
            to.touch(start[0], deep=True)
        else:
            to.tree("switch" if start[0].text == "-" else "checkout", _revision(start[0]))
    elif start:
        _paths(to, start) if paths is None else _switch(to, start[0])
    elif given.has("f", "force"):
        to.tree("reset")


def switch(to: CommandEffects, args: list[Arg]) -> None:
    """Go to another commit."""
    given = options(args, "cC create force-create orphan conflict")
    if given.operands:
        _switch(to, given.operands[0])
    elif given.has("discard-changes", "f", "force"):
        to.tree("reset")


def _revision(arg: Arg) -> str:
    return "@{-1}" if arg.text == "-" else arg.text


def _switch(to: CommandEffects, arg: Arg) -> None:
    if arg.sure:
        to.tree("switch", _revision(arg))
    else:
        to.doubt(f"git switch {arg.text}")


def commit(to: CommandEffects, args: list[Arg]) -> None:
    """Commit what is staged, or all, or the paths that are named."""
    given = options(
        args, "mFCctS message file reuse-message reedit-message template author date fixup squash"
    )
    if given.has("dry-run"):
        return
    to.stage(given.operands)
    only = bool(given.operands) and not given.has("i", "include")
    to.tree("commit", "only" if only else "all" if given.has("a", "all") else "")


def add(to: CommandEffects, args: list[Arg]) -> None:
    """Put files into the index, for the next commit."""
    given = options(args, " pathspec-from-file chmod")
    if given.has("n", "dry-run"):
        return
    whole = given.has("A", "all", "u", "update") and not given.operands
    to.stage([Arg(TOP)] if whole else given.operands)


def restore(to: CommandEffects, args: list[Arg]) -> None:
    """Write the paths, unless only the index is meant."""
    given = options(args, "s source pathspec-from-file")
    if given.has("S", "staged") and not given.has("W", "worktree"):
        return
    _paths(to, given.operands)


def reset(to: CommandEffects, args: list[Arg]) -> None:
    """Throw away what is not committed, and go to a commit."""
    given = options(args)
    if given.has("hard", "merge", "keep"):
        to.tree("reset", given.operands[0].text if given.operands else "")


def stash(to: CommandEffects, args: list[Arg]) -> None:
    """Take away what is not committed, or bring it back."""
    before, paths = _split(args[1:])
    verb = before[0].text if before and not before[0].text.startswith("-") else "push"
    if verb in {"push", "save"}:
        given = options(
            before if before and before[0].text == verb else args[:1] + before, "m message"
        )
        if verb == "push" and (paths or given.operands):
            _paths(to, paths or given.operands)
        elif not given.has("staged", "S"):
            to.tree("stash", "all" if given.has("u", "a", "include-untracked", "all") else "")
    elif verb in {"pop", "apply", "branch"}:
        named = [arg.text for arg in before[1:] if not arg.text.startswith("-")]
        to.tree("unstash", named[-1] if named else "stash@{0}")


def clean(to: CommandEffects, args: list[Arg]) -> None:
    """Delete what git does not know."""
    given = options(args, "e exclude")
    if given.has("n", "dry-run"):
        return
    if given.operands:
        _paths(to, given.operands, How.DELETE)
    else:
        to.tree("clean", "ignored" if given.has("x", "X") else "")


def remove(to: CommandEffects, args: list[Arg]) -> None:
    """Delete paths."""
    given = options(args)
    if not given.has("cached", "n", "dry-run"):
        _paths(to, given.operands, How.DELETE)


def apply(to: CommandEffects, args: list[Arg]) -> None:
    """Apply a patch; one in a file is not read."""
    given = options(args, "pC directory exclude include")
    if given.has("check", "stat", "numstat", "summary", "cached") and not given.has("apply"):
        return
    if to.stdin is not None:
        to.patch(to.stdin)
    else:
        to.doubt(" ".join(["git", *(arg.text for arg in args)]))


def joining(verb: str) -> Sub:
    """Return an act that brings commits in, or stops doing so."""

    def act(to: CommandEffects, args: list[Arg]) -> None:
        given = options(args, "msXSi strategy strategy-option onto message mainline")
        if given.has("abort", "quit"):
            to.tree("reset")
        elif given.has(*_STOPS) or (
            verb == "pick" and given.has("no-commit", "n") and not given.operands
        ):
            return
        elif verb == "pull":
            to.tree("merge", "@{upstream}")
            to.doubt(" ".join(["git", *(arg.text for arg in args)]))
        else:
            _joined(to, verb, given, args)

    return act


def _joined(to: CommandEffects, verb: str, given: ParsedOptions, args: list[Arg]) -> None:
    onto = given.of("onto")
    for arg in onto or given.operands[:10]:
        if arg.sure:
            to.tree(verb, arg.text)
        else:
            to.doubt(" ".join(a.text for a in args))
    if not onto and not given.operands and verb == "merge":
        to.tree(verb, "@{upstream}")


def worktree(to: CommandEffects, args: list[Arg]) -> None:
    """Take a working tree away."""
    if args[1:] and args[1].text == "remove":
        _paths(to, options(args[1:]).operands, How.DELETE)


def raw(to: CommandEffects, args: list[Arg]) -> None:
    """Write files from the index or a tree."""
    given = options(args)
    if args[0].text == "checkout-index":
        if given.has("a", "all"):
            to.tree("reset")
        _paths(to, given.operands)
    elif given.has("u"):
        to.tree("reset", given.operands[0].text if given.operands else "")


def shown(to: CommandEffects, args: list[Arg]) -> None:
    """Show something, on the screen or in a file."""
    for arg in options(args, " output").of("output"):
        to.touch(arg)


def configure(to: CommandEffects, args: list[Arg]) -> None:
    """Read or write settings, of git or in a file that is named."""
    for arg in options(args, "f file").of("f", "file"):
        to.touch(arg)


def unknown(to: CommandEffects, args: list[Arg]) -> None:
    """Do what cannot be told beforehand."""
    to.doubt(" ".join(["git", *(arg.text for arg in args)]))


def listed(to: CommandEffects, args: list[Arg]) -> None:
    """Name files to the next command."""
    named = [arg for arg in options(args).operands if arg.glob or "." in arg.text]
    to.gives = named or None


_SUBS: dict[str, Sub] = {
    "checkout": checkout, "switch": switch, "restore": restore, "reset": reset, "stash": stash,
    "clean": clean, "rm": remove, "mv": copy(moves=True), "apply": apply, "am": unknown,
    "merge": joining("merge"), "rebase": joining("merge"), "pull": joining("pull"),
    "cherry-pick": joining("pick"), "revert": joining("pick"), "worktree": worktree,
    "checkout-index": raw, "read-tree": raw, "bisect": unknown, "submodule": unknown,
    "add": add, "stage": add, "commit": commit, "ls-files": listed, "filter-branch": unknown,
    "diff": shown, "log": shown, "show": shown, "config": configure,
    "archive": option("o", "output", valued="o output format prefix"),
}  # fmt: skip
ACTS: dict[str, Act] = {"git": git}
