"""What ``git`` writes into a working tree. Pure."""

from __future__ import annotations

from dibs.core.shell import git_config, outputs
from dibs.core.shell.effects import TreeCommand
from dibs.core.shell.files import copy, patch
from dibs.core.shell.options import HERE, rule_of
from dibs.core.shell.words import TOP, Arg
from dibs.core.toolcalls.values import How

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.core.shell.effects import ShellEffects
    from dibs.core.shell.options import CommandRule, ParsedOptions

_WILDCARDS = frozenset("*?[")


def _paths_after_dashes(given: ParsedOptions) -> list[Arg] | None:
    """Return the arguments after ``--``; None without one."""
    for place, arg in enumerate(given.args):
        if arg.text == "--":
            return list(given.args[place + 1 :])
    return None


def _write(to: ShellEffects, paths: Iterable[Arg], how: str = How.WRITE) -> None:
    given = list(paths)
    named = [found for arg in given if (found := _pathspec(arg)) is not None]
    for arg in named or ([HERE] if given else []):
        to.touch(arg, how, deep=True)


def _pathspec(arg: Arg) -> Arg | None:
    """Return the path or pattern that a pathspec names; None if it only excludes paths."""
    text, words = arg.text, [""]
    if text.startswith(":("):
        magic, _, text = text[2:].partition(")")
        words = magic.split(",")
    if "exclude" in words or text.startswith((":!", ":^")):
        return None
    text = TOP + text if "top" in words else text or "."
    if "literal" in words or _WILDCARDS.isdisjoint(text):
        return arg._replace(text=text)
    folder, slash, name = text.rpartition("/")
    # Git also matches in the folders below, unless the shell has expanded the pattern.
    if name.startswith("*") and not arg.glob and "glob" not in words:
        text = f"{folder}{slash}**/{name}"
    return Arg(text, glob=True, sure=arg.sure)


def _act_on_paths(to: ShellEffects, given: ParsedOptions) -> None:
    """Write or delete the named paths."""
    if given.acts:
        _write(to, given.operands, given.rule.how)


def _checkout(to: ShellEffects, given: ParsedOptions) -> None:
    """Write the named paths, or switch to another commit."""
    paths = _paths_after_dashes(given)
    if paths:
        _write(to, paths)
        return
    start = given.operands
    if given.has("f force") and len(start) <= 1:
        _discard(to, "force", start)
    elif given.has("b B orphan") or (start and paths is not None):
        _switch_to(to, start[:1])
    elif len(start) > 1 or any(a.text == "." or a.glob or not a.sure for a in start):
        _write(to, start)
    elif start:
        # A branch or a path: ``services/guard/shell_targets.py`` can check.
        to.tree("switch" if start[0].text == "-" else "checkout", _revision(start[0]))


def _switch(to: ShellEffects, given: ParsedOptions) -> None:
    """Switch to another commit."""
    if given.has("discard-changes f force"):
        _discard(to, "reset", given.operands[:1])
    else:
        _switch_to(to, given.operands[:1])


def _discard(to: ShellEffects, verb: str, start: list[Arg]) -> None:
    """Switch to another commit and discard uncommitted changes."""
    sure = [arg for arg in start if arg.sure]
    to.tree(verb if sure else "reset", _revision(sure[0]) if sure else "")
    to.unsure = to.unsure or sure != start


def _switch_to(to: ShellEffects, start: Iterable[Arg]) -> None:
    for arg in start:
        if arg.sure:
            to.tree("switch", _revision(arg))
        else:
            to.unsure = True


def _revision(arg: Arg) -> str:
    return "@{-1}" if arg.text == "-" else arg.text


def _commit(to: ShellEffects, given: ParsedOptions) -> None:
    """Commit what is staged, everything, or the named paths."""
    if given.acts:
        to.stage(given.operands)
        only = given.operands and not given.has("i include")
        to.tree("commit", "only" if only else "all" if given.has("a all") else "")


def _add(to: ShellEffects, given: ParsedOptions) -> None:
    """Stage files for the next commit."""
    if given.acts:
        whole = given.has("A all u update") and not given.operands
        to.stage([Arg(TOP)] if whole else given.operands)
        to.tree("add", "tracked" if given.has("u update") else "")


def _stash(to: ShellEffects, given: ParsedOptions) -> None:
    """Stash uncommitted changes, or apply them again."""
    verb, *named = [arg.text for arg in given.operands] or ["push"]
    paths = _paths_after_dashes(given) or given.operands[1:]
    if given.args[1:2] and given.args[1].text.startswith("-"):
        verb, paths = "push", _paths_after_dashes(given) or given.operands
    if verb in {"push", "save"}:
        to.stashes += 1
    if verb in {"pop", "apply"} and not named and to.stashes:  # what it just stashed
        to.stashes -= verb == "pop"
    elif verb == "push" and paths:
        _write(to, paths)
    elif verb in {"push", "save"} and not given.has("staged S"):
        every = given.has("a all")
        to.tree("stash", "ignored" if every else "all" if given.has("u include-untracked") else "")
    elif verb in {"pop", "apply", "branch"}:
        to.tree("unstash", named[-1] if named else "stash@{0}")
    elif verb in {"drop", "clear"}:
        to.tree("drop", "" if verb == "clear" else named[-1] if named else "stash@{0}")


def _branch(to: ShellEffects, given: ParsedOptions) -> None:
    """Delete branches, even those with commits that no other branch has."""
    if given.has("D") or (given.has("d delete") and given.has("f force")):
        for arg in given.operands:
            to.tree("unbranch", arg.text if arg.sure else "")


def _clean(to: ShellEffects, given: ParsedOptions) -> None:
    """Delete untracked files."""
    if given.acts:
        named = [arg for arg in given.operands if to.at(arg) is not None]
        for arg in given.operands:
            to.touch(arg, How.CLEAN if arg in named else How.DELETE, deep=True)
        if named or not given.operands:
            ignored = "only" if given.has("X") else "ignored" if given.has("x") else ""
            # ":(top)x": it may be limited to anything
            odd = any(arg.text.startswith(":") and not arg.text.startswith(TOP) for arg in named)
            to.tree("clean", ignored, (TOP,) if odd else tuple(arg.text for arg in named))


def _checkout_index(to: ShellEffects, given: ParsedOptions) -> None:
    """Write files from the index."""
    if given.has("a all"):
        to.tree("reset")
    _write(to, given.operands)


def _reset(to: ShellEffects, given: ParsedOptions) -> None:
    """Discard uncommitted changes and switch to a commit."""
    if given.acts:
        to.tree("reset", given.operands[0].text if given.operands else "")


def _join(to: ShellEffects, given: ParsedOptions) -> None:
    """Merge, rebase, or cherry-pick commits, or abort that."""
    verb = given.rule.tree
    revisions = given.of("onto") or given.operands[:10]
    for arg in given.of("x exec"):
        to.script(arg.text)
    if given.has("abort"):
        to.tree("abort")
    elif given.has("quit") or not given.acts:
        return
    elif verb == "pull":
        remote, *branches = [arg.text for arg in given.operands] or [""]
        start = "" if remote in {".", "./"} else f"{remote}/"
        for branch in branches or ["@{upstream}"]:
            to.tree("merge", f"{start}{branch}" if branches else branch)
        to.unsure = True
    elif verb == "merge" and not revisions:
        to.tree(verb, "@{upstream}")
    else:
        for arg in revisions:
            if arg.sure:
                to.tree(verb, arg.text)
            else:
                to.unsure = True


def _change_unknown(to: ShellEffects, _: ParsedOptions) -> None:
    """Change files that only git knows."""
    to.unsure = True


def _joining(tree: str, values: str, *, moves: bool = False) -> CommandRule:
    """Return the rule of a command that joins commits to a branch; all of them may sign these."""
    return rule_of(
        f"{values} strategy strategy-option", "S", act=_join, tree=tree, moves=moves,
        unless="continue skip edit-todo show-current-patch",
    )  # fmt: skip


def _am(to: ShellEffects, given: ParsedOptions) -> None:
    """Apply patches from emails, or undo that."""
    if given.has("abort skip"):
        to.tree("abort")
    elif given.acts:
        patch(to, given)


def _bundle(to: ShellEffects, given: ParsedOptions) -> None:
    for arg in given.operands[:1]:
        to.touch(arg)


def _paths_of(given: ParsedOptions) -> tuple[list[str], tuple[str, ...]]:
    """Return the revisions, and the paths after ``--``."""
    paths = _paths_after_dashes(given) or []
    count = len(given.operands) - len(paths)
    return [arg.text for arg in given.operands[:count]], tuple(arg.text for arg in paths)


def _make_patch(to: ShellEffects, given: ParsedOptions) -> None:
    """Print a patch, which the next command may apply."""
    revisions, paths = _paths_of(given)
    if not all(arg.sure for arg in given.operands) or to.place is None or given.has("name-only"):
        return
    verb = given.args[0].text
    if verb == "git diff":
        ends = revisions if len(revisions) == 2 else "".join(revisions).split("..")  # noqa: PLR2004
        if len(ends) == 2:  # noqa: PLR2004 - two commits, not the working tree
            to.made = TreeCommand("between", "..".join(ends), to.place, paths)
    else:
        revision = revisions[0] if revisions else "HEAD"
        to.made = TreeCommand("pick", revision, to.place, paths)


def _archive(to: ShellEffects, given: ParsedOptions) -> None:
    """Print the files of a commit."""
    if given.operands and given.operands[0].sure and to.place is not None:
        first, *rest = [arg.text for arg in given.operands]
        to.made = TreeCommand("reset", first, to.place, tuple(rest))


_LOG = rule_of(" output", output="output", how="")
_SHOW = _LOG._replace(prints=_make_patch)
_UNKNOWN = rule_of(act=_change_unknown)
_INDEX = rule_of(" pathspec-from-file chmod", act=_add, unless="n dry-run")
RULES: dict[str, CommandRule] = {
    "git": rule_of(
        "Cc git-dir work-tree namespace config-env", folder="C work-tree", subcommands=True
    ),
    "git checkout": rule_of("bB orphan conflict pathspec-from-file", act=_checkout, moves=True),
    "git switch": rule_of("cC create force-create orphan conflict", act=_switch, moves=True),
    "git restore": rule_of(
        "s source pathspec-from-file", act=_act_on_paths, unless="S staged", despite="W worktree"
    ),
    "git reset": rule_of(" pathspec-from-file", act=_reset, needs="hard merge keep", moves=True),
    "git read-tree": rule_of(act=_reset, needs="u"),
    "git checkout-index": rule_of(act=_checkout_index),
    "git stash": rule_of("m message", act=_stash, moves=True),
    "git branch": rule_of(
        "u set-upstream-to contains no-contains points-at format sort", act=_branch, moves=True
    ),
    "git clean": rule_of("e exclude", act=_clean, unless="n dry-run"),
    "git rm": rule_of(act=_act_on_paths, how=How.DELETE, unless="cached n dry-run"),
    "git mv": rule_of(act=copy, how=How.DELETE, unless="n dry-run"),
    "git update-index": rule_of(act=_act_on_paths, needs="skip-worktree assume-unchanged"),
    "git apply": rule_of(
        "pC directory exclude include", act=patch, how="",
        unless="check stat numstat summary cached", despite="apply",
    ),
    "git merge": _joining("merge", "msXF message file into-name"),
    "git rebase": _joining("merge", "sXxC onto exec whitespace", moves=True),
    "git pull": _joining("pull", "sXo depth upload-pack", moves=True),
    "git cherry-pick": _joining("pick", "mX mainline"),
    "git revert": _joining("pick", "mX mainline"),
    "git worktree remove": rule_of(how=How.DELETE, deep=True),
    "git add": _INDEX, "git stage": _INDEX, "git worktree": rule_of(subcommands=True),
    "git commit": rule_of(
        "mFCct message file reuse-message reedit-message template author date fixup squash trailer",
        "Su", act=_commit, unless="dry-run", moves=True,
    ),
    "git push": rule_of(
        "o push-option receive-pack exec repo", act=git_config.push, how="", moves=True
    ),
    **dict.fromkeys(("git symbolic-ref", "git update-ref"), rule_of("m", how="", moves=True)),
    "git ls-files": rule_of("xX exclude", act=outputs.list_tracked),
    "git grep": rule_of("efmABC max-depth", act=outputs.search),
    "git diff": _SHOW, "git show": _SHOW,
    **dict.fromkeys(("git log", "git shortlog", "git reflog", "git whatchanged"), _LOG),
    "git format-patch": rule_of("o output-directory", how="", prints=_make_patch),
    "git config": rule_of(
        "f file blob type default value comment", output="f file", how="", act=git_config.change
    ),
    "git init": rule_of(
        "b template separate-git-dir initial-branch object-format", act=git_config.init, how=""
    ),
    "git archive": rule_of("o output format prefix", output="o output", how="", prints=_archive),
    "git bundle": rule_of(subcommands=True), "git bundle create": rule_of(act=_bundle),
    "git am": rule_of(
        "pC directory exclude include", act=_am, unless="abort skip quit continue show-current-patch",
    ), "git bisect": _UNKNOWN._replace(moves=True), "git submodule": _UNKNOWN, "git filter-branch": _UNKNOWN,
}  # fmt: skip
