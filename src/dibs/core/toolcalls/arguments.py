"""Collect the paths, patches, and commands that an unknown tool's arguments may name. Pure and bounded.

Only the working tree shows whether a text is a path, so this collects candidates, and
``services/guard/argument_paths.py`` decides. Free text, such as a file's content or a prompt, is left out.
"""

from __future__ import annotations

from dibs.core.toolcalls.path_candidates import is_pathlike
from dibs.core.toolcalls.values import key_of
from dibs.core.toolcalls.verbs import COMMAND_KEYS, words_of
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

#: Limits for the depth, number, and length of values. The check after the call covers the rest.
_DEEPEST, _MOST, _LONGEST = 12, 1000, 4096
#: The longest JSON and patches inside a string.
_LONGEST_TEXT = 1 << 20
#: Words in keys whose values are paths,
_PATH_WORDS = frozenset((
    *("path", "paths", "file", "files", "filename", "filenames", "filepath", "filepaths", "pathname"),
    *("notebook", "uri", "uris"),
))  # fmt: skip
#: unless the key also has one of these.
_NOT_PATH = frozenset((
    *("content", "contents", "text", "type", "types", "extension", "extensions", "id", "ids", "size"),
    *("count", "pattern", "mask", "filter", "glob", "regex", "limit", "mode", "encoding", "symbol"),
))  # fmt: skip
#: Keys of folders in which a call works, or relative to which it names files.
_BASE_WORDS = frozenset((
    *("cwd", "workdir", "repo", "repository", "project", "workspace", "root", "base", "working"),
    *("directory", "dir", "folder"),
))  # fmt: skip
#: Keys with paths in tools that move or copy; in those that copy, the first ones are only read.
_FROM = frozenset(("source", "src", "from", "old", "original", "input"))
_TO = frozenset(("destination", "dest", "to", "dst", "target", "new", "output"))
#: Keys with free text.
_FREE = frozenset((
    *("content", "contents", "text", "body", "message", "msg", "description", "prompt", "title"),
    *("summary", "query", "q", "question", "oldstring", "newstring", "oldstr", "newstr", "oldtext"),
    *("newtext", "filetext", "newsource", "code", "snippet", "search", "replace", "replacement"),
    *("find", "regex", "needle", "thought", "thoughts", "note", "notes", "comment", "observation"),
    *("observations", "explanation", "instruction", "instructions", "reason", "context", "sql"),
    *("expression", "selector", "html", "markdown", "newcontent", "newbody", "codeedit", "function"),
    *("element", "subject", "details", "searchterm", "searchtext", "repl", "documentation", "goal"),
    *("old", "new", "answer", "response", "justification", "excerpt", "match", "keyword"),
))  # fmt: skip
#: Keys with patches.
_PATCH_KEYS = frozenset((
    *("command", "input", "patchtext", "patch", "diff", "code", "unifieddiff", "patchcontent"),
    *("patches", "diffs", "changeset"),
))  # fmt: skip
#: Keys with programs in a language that is not a shell's.
_CODE_KEYS = frozenset(("code", "source", "program", "expression", "snippet"))
#: Keys with the input of a running program.
_TYPED = frozenset(("input", "text", "keys", "chars", "data", "stdin"))


class CallArguments(Record):
    """What the arguments of a call name."""

    #: The values of keys for paths, and of keys for the source of a copy.
    paths: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    #: Other texts that may be paths, and folders.
    mentions: tuple[str, ...] = ()
    patches: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    typed: tuple[str, ...] = ()
    #: The folder for commands and relative paths.
    folder: str = ""


def collect(given: Mapping[str, Any], *, moves: bool, copies: bool, patches: bool) -> CallArguments:
    """Return the paths, patches, and commands that a call's arguments name.

    ``moves`` says that source and destination are paths, ``copies`` that the source is only read, and
    ``patches`` that any text may be a patch.
    """
    walk = _Walk(moves=moves, copies=copies, patches=patches)
    walk.table(given, 0)
    fields: dict[str, Any] = {name: tuple(texts) for name, texts in walk.found.items()}
    return CallArguments(**fields, folder=walk.folder)


class _Walk:
    """Walks through nested arguments."""

    def __init__(self, *, moves: bool, copies: bool, patches: bool) -> None:
        self._moves, self._copies, self._patches = moves, copies, patches
        self._left = _MOST
        #: The values of each field but the last one, each once.
        self.found: dict[str, dict[str, None]] = {name: {} for name in CallArguments._fields[:-1]}
        self.folder = ""

    def table(self, given: Mapping[str, Any], depth: int, above: str = "") -> None:
        """Collect from an object; ``above`` is the key whose value it is."""
        self._run(given)
        for key, value in given.items():
            if not isinstance(key, str):
                continue
            if is_pathlike(key):
                # A key that is a path has the file's content or edits as its value.
                self._add("paths" if _is_path_key(above) else "mentions", key)
                if isinstance(value, dict | list) or is_pathlike(str(value)):
                    self._value("", value, depth + 1)
            else:
                self._value(key, value, depth)

    def _add(self, field: str, *texts: str) -> None:
        self.found[field].update(dict.fromkeys(texts))

    def _run(self, given: Mapping[str, Any]) -> None:
        """Collect a command together with its arguments."""
        for key, value in given.items():
            if not isinstance(key, str) or key_of(key) not in COMMAND_KEYS:
                continue
            more = given.get("args", given.get("arguments"))
            words = value if isinstance(value, list) else [value]
            if not all(isinstance(word, str) for word in words):
                continue
            if key_of(key) in {"commands", "cmds", "scripts"}:
                self._add("commands", *words)
            elif isinstance(more, list) and all(isinstance(word, str) for word in more):
                self._add("commands", _joined([*words, *more]))
            elif isinstance(more, str):
                self._add("commands", " ".join([*words, more]))
            else:
                self._add("commands", value if isinstance(value, str) else _joined(words))

    def _value(self, key: str, value: Any, depth: int) -> None:
        if depth > _DEEPEST or self._left <= 0:
            return
        self._left -= 1
        if isinstance(value, dict):
            self.table(value, depth + 1, key)
        elif isinstance(value, list):
            for entry in value:
                self._value(key, entry, depth + 1)
        elif isinstance(value, str) and value and "\0" not in value:
            self._text(key, value, depth)

    def _text(self, key: str, value: str, depth: int) -> None:
        plain = key_of(key)
        if plain in _CODE_KEYS:
            self._add("code", value)
        if plain in _TYPED:
            self._add("typed", value)
        if (plain in _PATCH_KEYS or self._patches) and is_any_patch(value[:_LONGEST_TEXT]):
            self._add("patches", value[:_LONGEST_TEXT])
            return
        words = frozenset(words_of(key))
        ends = self._moves and bool(words & (_FROM | _TO)) and len(words) == 1
        if (plain in _FREE and not ends) or plain in COMMAND_KEYS:
            return
        if self._nested(key, value, depth) or len(value) > _LONGEST or not _is_text(value):
            return
        if self._copies and words & _FROM and (ends or words & _PATH_WORDS):
            self._add("sources", value)
        elif ends or _is_path_key(key):
            self._path(plain, value)
        else:
            self._other(words, value)

    def _other(self, words: frozenset[str], value: str) -> None:
        if words & _BASE_WORDS and not (words & _TO or self.folder or "://" in value):
            self.folder = value
        self._add("mentions", value)

    def _path(self, key: str, value: str) -> None:
        """Add the value of a key for paths; the path of the whole project is the folder of the others."""
        if _BASE_WORDS.intersection(words_of(key)) or key in _BASES:
            self.folder = self.folder or value
        elif "://" not in value or value[:5].lower() == "file:":
            self._add("paths", value)
        self._add("mentions", value)

    def _nested(self, key: str, value: str, depth: int) -> bool:
        """Collect from JSON in a string; return whether it is that."""
        if value[:1] not in "[{" or len(value) > _LONGEST_TEXT:
            return False
        from dibs.startup.quickjson import loads

        try:
            inner = loads(value)
        except (ValueError, RecursionError):
            return False
        self._value(key, inner, depth + 1)
        return isinstance(inner, dict | list)


_BASES = frozenset((
    *("repopath", "projectpath", "rootpath", "basepath", "workspacepath", "repositorypath", "rootdir"),
    *("projectdir", "workspacefolder", "workingdirectory", "repodir", "rooturi", "workspaceuri"),
    *("directorypath", "dirpath", "folderpath"),
))  # fmt: skip


def _is_path_key(key: str) -> bool:
    words = frozenset(words_of(key))
    return bool(words & _PATH_WORDS) and not words & _NOT_PATH


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _joined(words: list[str]) -> str:
    from shlex import join

    return join(words)


def is_any_patch(text: str) -> bool:
    """Return whether a text is a patch: for ``apply_patch``, or a unified diff."""
    from dibs.core.toolcalls.patches import is_diff, is_patch

    return is_patch(text) or is_diff(text)
