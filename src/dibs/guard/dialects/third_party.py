"""What a call of an unknown tool touches: one of another MCP server, or newer than this version."""

from __future__ import annotations

import os

from dibs.core.toolcalls.arguments import collect
from dibs.core.toolcalls.values import How, Touch, Watch, key_of
from dibs.core.toolcalls.verbs import RUNS, Effect, all_words, effect, words_of
from dibs.guard.dialects.tools import PATHS_MAX, ToolTarget, bad, checked, joined

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from dibs.core.toolcalls.arguments import CallArguments

_MOVES = frozenset(("move", "copy", "rename", "mv", "cp", "duplicate"))
_COPIES = frozenset(("copy", "cp", "duplicate"))
_PATCHES = frozenset(("patch", "diff", "apply"))
#: How the paths of a call are judged.
_HOW = {Effect.CHANGES: How.WRITE, Effect.UNSURE: How.MAYBE}
#: The interpreters of programs, by words of the tool's name or its argument ``language``.
_LANGUAGES = {
    **dict.fromkeys(("javascript", "js", "node", "typescript", "ts", "deno", "bun"), ("node", "-e")),
    "ruby": ("ruby", "-e"), "perl": ("perl", "-e"), "php": ("php", "-r"),
    **dict.fromkeys(("bash", "sh", "shell", "zsh"), ("bash", "-c")),
}  # fmt: skip
#: The git commands that tools of git servers run, and what their arguments mean there.
_GIT = frozenset((
    *("checkout", "switch", "restore", "reset", "stash", "merge", "rebase", "pull", "commit", "add"),
    *("rm", "mv", "clean", "revert", "push"),
))  # fmt: skip
_REFS = (
    *(
        "target",
        "branch",
        "branchname",
        "commit",
        "commithash",
        "ref",
        "revision",
        "treeish",
        "onto",
    ),
)
_GIT_FILES = ("files", "paths", "file", "path", "filepath", "filepaths", "pathspec")
_GIT_OPTIONS = {
    "hard": "--hard", "force": "--force", "all": "--all", "createbranch": "-b", "create": "-b",
    "includeuntracked": "--include-untracked", "directories": "-d", "amend": "--amend",
    "staged": "--staged", "ignored": "-x",
}  # fmt: skip
_STASH = ("pop", "apply", "drop", "clear")


def unknown(tool: str, server: str, given: Mapping[str, Any]) -> ToolTarget:
    """Return what a call of an unknown tool touches, and whether the tree is compared around it."""
    own, server = _own_name(tool, server)
    words = all_words(own, given)
    what = effect(words, given)
    found = frozenset(words)
    if what != Effect.READS and (git := _git(words, server, given)):
        return ToolTarget(command=git[0], folder=git[1], watch=Watch.ALWAYS)
    named = collect(
        given,
        moves=bool(found & _MOVES),
        copies=bool(found & _COPIES) and "move" not in found,
        patches=bool(found & _PATCHES),
    )
    if what == Effect.READS:
        reads = tuple(_touches(named.paths, How.READ))
        return ToolTarget(reads, mentions=named.mentions, watch=Watch.HELD)
    command = _command(found.union(words_of(server)), given, named)
    folder = _path(named.folder) if command else ""
    if what == Effect.WATCHED:
        return ToolTarget((), command, folder, watch=Watch.ALWAYS)
    how = _HOW[what]
    touches = (
        *_patched(named, how),
        *_touches((os.path.join(_path(named.folder), path) for path in named.paths), how),
        *_touches(named.sources, How.READ),
    )
    if len(touches) > PATHS_MAX:
        raise bad(f"the call names {len(touches)} paths (limit: {PATHS_MAX})")
    return ToolTarget(tuple(dict.fromkeys(touches)), command, folder, named.mentions, Watch.ALWAYS)


def _own_name(tool: str, server: str) -> tuple[str, str]:
    """Return a tool's name without its server's, and the server's."""
    if tool.startswith("mcp__"):
        there, _, own = tool[5:].partition("__")
        return own or there, server or there
    return (tool.removeprefix(f"mcp_{server}_") if server else tool), server


def _touches(paths: Iterator[str] | tuple[str, ...], how: str) -> Iterator[Touch]:
    for path in paths:
        plain = _path(path)
        if plain:
            yield Touch(plain, how)


def _path(text: str) -> str:
    """Return a possible path, also from a URI; empty for anything else."""
    from dibs.errors import BadInput

    try:
        return checked(text) if text else ""
    except BadInput:
        return ""


def _patched(named: CallArguments, how: str) -> Iterator[Touch]:
    """Yield what patches in the arguments touch."""
    from dibs.core.toolcalls.patches import diffed, is_patch, touched

    for text in named.patches:
        for touch in touched(text) if is_patch(text) else diffed(text):
            path = _path(os.path.join(named.folder, touch.path))
            if path:
                yield Touch(path, touch.how if how == How.WRITE else how)


def _command(words: frozenset[str], given: Mapping[str, Any], named: CallArguments) -> str:
    """Return the shell command that a call runs, if any."""
    found = list(named.commands)
    if named.code and words & RUNS:
        language = str(given.get("language", given.get("lang", ""))).lower()
        known = [_LANGUAGES[word] for word in (language, *sorted(words)) if word in _LANGUAGES]
        found += [joined([*(known or [("python3", "-c")])[0], code]) for code in named.code]
    if named.typed and words & RUNS and not found:
        found += named.typed
    return "\n".join(found)


def _git(words: list[str], server: str, given: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the git command that a tool of a git server runs, and its folder."""
    if "git" not in (*words, *words_of(server)):
        return None
    verb = next((word for word in words if word in _GIT), "")
    if "cherry" in words:
        verb = "cherry-pick"
    if not verb or {"list", "show"}.intersection(words):
        return None
    plain = {key_of(key): value for key, value in given.items()}
    line = ["git", verb, *_git_options(verb, words, plain)]
    line += [plain[key] for key in _REFS if isinstance(plain.get(key), str)][:1]
    folder = next((plain[key] for key in _FOLDERS if isinstance(plain.get(key), str)), "")
    files = [name for key in _GIT_FILES for name in _texts(plain.get(key))]
    if not folder and len(files) == 1 and os.path.isabs(files[0]) and "." not in files[0]:
        folder, files = files[0], []  # some servers call the repository ``path``
    if verb == "mv":
        files = [name for key in ("source", "destination") for name in _texts(plain.get(key))]
    if files:
        line += [*(() if verb == "mv" else ("--",)), *files]
    return joined(line), _path(folder)


_FOLDERS = (
    *("repopath", "repositorypath", "repo", "repository", "cwd", "workingdir", "directory", "dir"),
)


def _git_options(verb: str, words: list[str], plain: Mapping[str, Any]) -> Iterator[str]:
    for key, option in _GIT_OPTIONS.items():
        if plain.get(key) is True or (key == "hard" and key in words):
            yield option
    if verb == "reset" and plain.get("mode") in {"hard", "merge", "keep", "soft", "mixed"}:
        yield f"--{plain['mode']}"
    if verb == "stash":
        yield from [word for word in words if word in _STASH][:1]
    if verb == "commit":
        yield from ("-m", "x")


def _texts(value: object) -> list[str]:
    some = value if isinstance(value, list) else [value]
    return [one for one in some if isinstance(one, str) and one]
