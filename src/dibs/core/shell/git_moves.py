"""How a git command moves HEAD or a branch, as far as its words show. Pure."""

from __future__ import annotations

from dibs.startup.records import Record, TextEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dibs.core.shell.options import ParsedOptions
    from dibs.core.shell.words import Arg


class MoveKind(metaclass=TextEnum):
    """What moves, and how."""

    #: HEAD leaves its branch, or follows another one.
    HEAD = "head"
    #: The same if ``revision`` is another branch and not a file.
    CHECKOUT = "checkout"
    #: A branch moves to ``revision``.
    RESET = "reset"
    #: The same with the files of the working tree.
    RESET_TREE = "reset_tree"
    #: The last commit is replaced.
    AMEND = "amend"
    #: The commits that ``revision`` does not have are replaced.
    REBASE = "rebase"
    DELETE = "delete"
    #: A branch gets another name.
    RENAME = "rename"
    #: A branch of a remote moves to ``revision``, or is deleted.
    PUSH = "push"


class BranchMove(Record):
    """One effect of a git command on HEAD or on a branch."""

    kind: str
    #: Where git runs; None if unknown.
    place: str | None
    #: The branch; empty for the one that is checked out. For a push, ``REMOTE/BRANCH``.
    ref: str = ""
    #: The target; empty if unknown or none.
    revision: str = ""


_BISECTS = frozenset(
    {"start", "bad", "new", "good", "old", "skip", "next", "reset", "replay", "run"}
)
_NO = frozenset({"false", "no", "off", "0"})


def find_moves(given: ParsedOptions, place: str | None) -> Iterator[BranchMove]:
    """Yield the moves of a git command."""
    for kind, ref, revision in _VERBS[given.args[0].text](given):
        yield BranchMove(kind, place, ref, revision)


def _text(args: Sequence[Arg], place: int = 0) -> str:
    """Return an argument's text; empty if there is none, or it is not known."""
    return args[place].text if len(args) > place and args[place].sure else ""


def _leaves(given: ParsedOptions, forcing: str) -> Iterator[tuple[str, str, str]]:
    """HEAD leaves its branch; the options ``forcing`` also reset the branch that they name."""
    yield MoveKind.HEAD, "", ""
    forced = _text(given.of(forcing))
    if forced:
        yield MoveKind.RESET, forced, _text(given.operands) or "HEAD"


def _checkout(given: ParsedOptions) -> Iterator[tuple[str, str, str]]:
    start = given.operands
    if given.has("b B orphan detach d"):
        yield from _leaves(given, "B")
    elif len(start) == 1 and start[0].sure:
        dashes = any(arg.text == "--" for arg in given.args)
        if not dashes or given.args[-1].text == "--":
            yield MoveKind.CHECKOUT, "", _previous(start[0].text)


def _switch(given: ParsedOptions) -> Iterator[tuple[str, str, str]]:
    start = given.operands
    if given.has("c C create force-create orphan detach d"):
        yield from _leaves(given, "C force-create")
    elif start and start[0].sure:
        yield MoveKind.CHECKOUT, "", _previous(start[0].text)
    elif start:
        yield MoveKind.HEAD, "", ""


def _previous(name: str) -> str:
    return "@{-1}" if name == "-" else name


def _rebase(given: ParsedOptions) -> Iterator[tuple[str, str, str]]:
    ends = "abort continue skip quit edit-todo show-current-patch"
    if not given.has(ends):
        yield MoveKind.HEAD, "", ""
        onto = _text(given.of("onto")) or _text(given.operands) or "@{upstream}"
        yield MoveKind.REBASE, _text(given.operands, 1), onto


def _pull(given: ParsedOptions) -> Iterator[tuple[str, str, str]]:
    if (
        given.has("r rebase")
        and _text(given.of("rebase")) not in _NO
        and not given.has("no-rebase")
    ):
        yield MoveKind.HEAD, "", ""
        yield MoveKind.REBASE, "", "@{upstream}"


def _bisect(given: ParsedOptions) -> Iterator[tuple[str, str, str]]:
    if _text(given.operands) in _BISECTS:
        yield MoveKind.HEAD, "", ""


def _reset(given: ParsedOptions) -> Iterator[tuple[str, str, str]]:
    dashes = any(arg.text == "--" for arg in given.args[:-1])
    if len(given.operands) == 1 and not dashes and _text(given.operands):
        with_files = given.has("hard keep merge")
        kind = MoveKind.RESET_TREE if with_files else MoveKind.RESET
        yield kind, "", _text(given.operands)


def _stash(given: ParsedOptions) -> Iterator[tuple[str, str, str]]:
    if _text(given.operands) == "branch":
        yield MoveKind.HEAD, "", ""


def _symbolic_ref(given: ParsedOptions) -> Iterator[tuple[str, str, str]]:
    if _text(given.operands) == "HEAD" and (len(given.operands) > 1 or given.has("d delete")):
        yield MoveKind.HEAD, "", ""


def _update_ref(given: ParsedOptions) -> Iterator[tuple[str, str, str]]:
    ref, new = _text(given.operands), _text(given.operands, 1)
    if ref == "HEAD":
        yield (MoveKind.HEAD if given.has("no-deref") else MoveKind.RESET), "", new
    elif ref.startswith(_HEADS):
        branch = ref.removeprefix(_HEADS)
        yield (MoveKind.DELETE if given.has("d") else MoveKind.RESET), branch, new


def _pull_request(_: ParsedOptions) -> Iterator[tuple[str, str, str]]:
    yield MoveKind.HEAD, "", ""


def _commit(given: ParsedOptions) -> Iterator[tuple[str, str, str]]:
    if given.has("amend") and not given.has("dry-run"):
        yield MoveKind.AMEND, "", ""


def _branch(given: ParsedOptions) -> Iterator[tuple[str, str, str]]:
    if given.has("r remotes"):
        return
    if given.has("D") or (given.has("d delete") and given.has("f force")):
        for arg in given.operands:
            if arg.sure:
                yield MoveKind.DELETE, arg.text, ""
    elif given.has("m M c C move copy"):
        names = [_text([arg]) for arg in given.operands]
        old, new = ("", *names)[-2:] if names else ("", "")
        if given.has("M C f force") and new:
            yield MoveKind.RESET, new, old or "HEAD"
        if given.has("m M move") and new:
            yield MoveKind.RENAME, old, ""
    elif given.has("f force") and _text(given.operands):
        yield MoveKind.RESET, _text(given.operands), _text(given.operands, 1) or "HEAD"


def _push(given: ParsedOptions) -> Iterator[tuple[str, str, str]]:
    remote, *specs = [_text([arg]) for arg in given.operands] or ["origin"]
    forced = given.has("f force force-with-lease mirror")
    if given.has("n dry-run"):
        return
    for spec in specs or ([""] if forced else []):
        new, colon, ref = spec.removeprefix("+").partition(":")
        branch = (ref if colon else new).removeprefix(_HEADS)
        if given.has("d delete"):
            yield MoveKind.PUSH, f"{remote}/{new.removeprefix(_HEADS)}", ""
        elif forced or spec.startswith("+") or (colon and not new):
            yield MoveKind.PUSH, f"{remote}/{branch}", new if spec else "HEAD"


_HEADS = "refs/heads/"
_VERBS: dict[str, Callable[[ParsedOptions], Iterator[tuple[str, str, str]]]] = {
    "git checkout": _checkout,
    "git switch": _switch,
    "git rebase": _rebase,
    "git pull": _pull,
    "git bisect": _bisect,
    "git reset": _reset,
    "git stash": _stash,
    "git symbolic-ref": _symbolic_ref,
    "git update-ref": _update_ref,
    "git commit": _commit,
    "git branch": _branch,
    "gh pr checkout": _pull_request,
    "git push": _push,
}
