"""Decide from its name and its arguments' keys whether an unknown tool changes files. Pure.

Unknown tools are those of other MCP servers, and those newer than this version. Only the name tells a read
from a write before the call, so the tree is compared around any call that is not clearly a read.
"""

from __future__ import annotations

from dibs.core.toolcalls.values import key_of
from dibs.startup.records import TextEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from typing import Any


class Effect(metaclass=TextEnum):
    """What a call may do to files."""

    #: It only reads: it claims nothing, is not blocked, and the tree is not compared.
    READS = "reads"
    #: It runs or reads the paths that it names, but the tree is compared.
    WATCHED = "watched"
    #: It may write the files that it names: they are checked, but not claimed before they change.
    UNSURE = "unsure"
    #: It writes the files that it names.
    CHANGES = "changes"


#: Verbs of tools that only read
_LOOK_VERBS = frozenset((
    *("read", "get", "list", "search", "find", "view", "show", "grep", "glob", "stat", "fetch"),
    *("query", "describe", "lookup", "check", "analyze", "analyse", "inspect", "preview", "lint"),
    *("validate", "resolve", "explain", "count", "compare", "verify", "cat", "summarize", "simulate"),
    *("retrieve", "recall", "locate", "detect", "audit", "scan", "estimate", "measure", "is", "has"),
    *("navigate", "click", "wait", "hover", "think", "review", "trace", "goto", "ls", "tail", "head"),
    *("upload", "mkdir", "whoami", "ping", "suggest", "recommend", "sleep", "highlight"),
    *("parse", "tokenize", "tokenise", "hash", "checksum", "exists", "peek", "watch", "embed", "select"),
    *("critique", "summarise", "wc", "ocr", "transcribe", "play", "close", "browse"),
    *("identify", "classify", "score", "predict", "infer", "examine", "explore", "discover", "print"),
    *("enumerate", "display", "echo", "notify", "subscribe", "crawl", "scrape", "identify", "du"),
))  # fmt: skip
#: and nouns of such tools, which do not count in a name with a verb that changes something.
_LOOK_NOUNS = frozenset((
    *("info", "tree", "status", "diff", "log", "logs", "blame", "open", "definition", "definitions"),
    *("declaration", "declarations", "implementation", "implementations", "reference", "references"),
    *("diagnostic", "diagnostics", "problem", "problems", "symbol", "symbols", "outline", "usages"),
    *("completion", "completions", "signature", "overview", "snapshot", "history", "hierarchy"),
    *("callers", "callees", "metrics", "complexity", "summary", "stats", "statistics", "errors"),
    *("warnings", "explanation", "inlay", "lens", "folding", "analysis", "listing", "usage", "calls"),
    *("eslint", "mypy", "pyright", "tsc", "ruff", "pylint", "flake8", "shellcheck", "semgrep"),
    *("linter", "typecheck", "sonar", "tabs", "sequentialthinking", "ast", "imports", "graph"),
    *("callgraph", "selection", "range", "ranges", "action", "actions", "codereview", "metadata"),
    *("md5", "sha256", "existence", "size", "lines", "todos", "hints", "codelens", "context"),
    *("thinkdeep", "consensus", "precommit", "secaudit", "testgen", "content"),
))  # fmt: skip
#: Words that may be next to such a noun. Any other one may be a verb: ``accept_diff``, ``sort_imports``.
_BESIDE = frozenset((
    *("document", "workspace", "text", "type", "call", "code", "file", "files", "project", "go", "to"),
    *("git", "lsp", "language", "server", "editor", "find", "signature", "directory", "function"),
    *("unstaged", "staged", "for", "of", "in", "by", "with", "sizes", "incoming", "outgoing", "ide"),
))  # fmt: skip
#: Nouns of tools that do not write the files that a call names.
_WATCHED = frozenset((
    *("documentation", "docs", "thinking", "time", "dependencies", "dependents", "types", "schema"),
    *("coverage", "version", "help", "health", "similar", "tokens", "links", "annotations", "tables"),
    *("console", "network", "test", "tests", "debug", "debugger", "build", "compile", "index"),
    *("configuration", "project", "server", "sequential", "session", "config", "pytest", "jest"),
    *("vitest", "profile", "profiler", "benchmark", "simulator", "emulator", "device"),
    *("ask", "chat", "consult"),  # another agent, which may also write
    "claim",  # Cursor does not name the server, which may be Dibs
))  # fmt: skip
_CHANGING = frozenset((
    *("write", "edit", "create", "delete", "remove", "move", "rename", "replace", "insert", "append"),
    *("patch", "update", "save", "copy", "set", "put", "apply", "format", "fix", "add", "overwrite"),
    *("modify", "refactor", "reformat", "rewrite", "generate", "scaffold", "organize", "prepend"),
    *("truncate", "touch", "restore", "revert", "undo", "redo", "checkout", "reset", "stash", "merge"),
    *("rebase", "commit", "pull", "clean", "download", "export", "upsert", "sync", "mv", "cp", "rm"),
    *("unzip", "transform", "migrate", "substitute", "sed", "push", "swap", "change"),
    *("store", "record", "duplicate", "erase", "destroy", "unlink", "render", "translate"),
    *("formatter", "formatting", "prettier", "black", "isort", "gofmt", "rustfmt", "autoformat"),
    *("conflict", "conflicts", "unstash", "switch", "codemod", "install", "uninstall", "convert", "pub"),
    *("accept", "confirm"),
))  # fmt: skip
#: A tool whose name starts with one of these only reads, unless the name joins two verbs.
_ASKING = frozenset(("get", "list", "show", "describe", "count", "is", "has"))
#: Words that mean the same before a verb that changes something: ``preview_edit``, not ``apply_preview``.
_TRYING = frozenset(("prepare", "preview", "simulate"))
#: Tools that only create a folder, or choose one to work in.
_FOLDERS = frozenset(("directory", "folder", "dir"))
_MAKING = frozenset(("create", "make", "ensure", "add"))
_PLACES = _FOLDERS | {"workspace", "cwd", "root", "project"}
_CHOOSING = frozenset(("set", "change", "switch", "activate"))
_JOINING = frozenset(("and", "or", "then"))
#: Things other than files: tools that change them name files only as subjects.
_THINGS = frozenset((
    *("entity", "entities", "observation", "observations", "relation", "relations", "memory"),
    *("memories", "issue", "issues", "comment", "comments", "message", "messages", "ticket"),
    *("tickets", "todo", "todos", "task", "tasks", "email", "event", "events", "review", "reviews"),
    *("label", "labels", "reaction", "channel", "thought", "label", "notification", "request"),
    *("breakpoint", "breakpoints", "bookmark", "bookmarks", "branch", "tag", "release", "gist"),
))  # fmt: skip
_FILES = frozenset(("file", "files", "content", "contents"))
#: Tools that run what they are given.
RUNS = frozenset((
    *("run", "execute", "exec", "eval", "evaluate", "start", "spawn", "launch", "invoke", "interact"),
    *("shell", "terminal", "bash", "process", "python", "node", "javascript", "repl", "console"),
    *("cell", "script", "command", "commands", "stdin", "tmux", "pty", "sandbox", "interpreter"),
    *("term", "ssh", "docker", "container"),
))  # fmt: skip
#: Keys whose values are words of the tool's name: one tool, several actions.
_ACTIONS = ("action", "operation", "op", "command", "subcommand", "method", "verb", "kind", "mode")
#: The same for a tool that calls another tool.
_CALLED = ("tool", "name", "tool_name", "toolName")
#: Keys that turn a write into a trial, if they are true.
_TRIALS = frozenset(("dryrun", "preview", "previewonly", "check", "checkonly", "simulate", "noop"))
#: Keys that turn a read into a write if they are true,
_FLAGS = frozenset((
    *("fix", "write", "apply", "save", "overwrite", "inplace", "autofix", "autocorrect", "update"),
    *("replace", "fixall", "applyfixes", "applyfix", "savefile", "dofix"),
))  # fmt: skip
#: or if they have a value: the file or folder of the result.
_OUTPUTS = frozenset((
    *("output", "out", "outfile", "outdir", "save", "dest", "destination", "download", "export"),
    *("outputs", "saveto", "savepath", "target", "writes"),
))  # fmt: skip
_SAVING = frozenset((
    *("run", "evaluate", "install", "pdf", "screenshot", "save", "download", "code", "video", "export"),
    "generate",
))  # fmt: skip
_BROWSERS = frozenset(("browser", "puppeteer"))
#: Tools that save their output to a file if they get its name.
_CAPTURES = frozenset(("browser", "puppeteer", "screenshot", "snapshot", "pdf"))
#: Keys with SQL.
_STATEMENTS = frozenset(("query", "sql", "statement"))
#: The first words of statements and SQLite commands that change a database or write to a file.
_SQL_CHANGES = frozenset({
    "insert", "update", "delete", "replace", "create", "drop", "alter", "vacuum", "reindex",
    ".import", ".restore", ".recover", "copy", "export", "truncate", "merge", "upsert", "attach", "detach",
    "call", "exec", "execute", "load", "unload", "import", "backup", "restore", "rename", "grant", "revoke",
    "install", "optimize", "refresh",
})  # fmt: skip
#: The first words of statements that read, and the words with which they write.
_SQL_READS = frozenset({
    "select", "show", "explain", "describe", "desc", "with", "values", "table", "pragma",
})  # fmt: skip
_SQL_WRITES = frozenset({
    "into", "insert", "update", "delete", "merge", "writefile", "lo_export", "load_extension",
})  # fmt: skip
_PRAGMAS = ("table", "index", "foreign", "function", "integrity", "quick", "database", "collation")
#: A longer text is not read as SQL.
_LONGEST_SQL = 8192
#: Keys with the content of a file.
CONTENT_KEYS = frozenset((
    *("content", "contents", "newstring", "filetext", "edits", "newstr", "newtext", "replacement"),
    *("newsource", "codeedit", "newcontent", "filecontent", "newcode", "sourcecode", "newbody"),
))  # fmt: skip
#: Keys with commands.
COMMAND_KEYS = frozenset((
    *("command", "cmd", "script", "commands", "cmds", "commandline", "shellcommand", "bash", "shell"),
    *("argv", "scripts", "shellscript", "exec"),
))  # fmt: skip


def words_of(name: str) -> Iterator[str]:
    """Yield the words of a name in lower case: ``readFile``, ``read_file``, and ``read-file`` have two."""
    word = ""
    for letter in name:
        if not letter.isalnum() or (letter.isupper() and word[-1:].islower()):
            if word:
                yield word.lower()
            word = ""
        if letter.isalnum():
            word += letter
    if word:
        yield word.lower()


def all_words(name: str, given: Mapping[str, Any]) -> list[str]:
    """Return the words of a tool's own name and of the action that its arguments choose."""
    found = list(words_of(name))
    for key in (*_ACTIONS, *(_CALLED if "tool" in found or "mcp" in found else ())):
        value = given.get(key)
        if isinstance(value, str) and len(value) < 40 and " " not in value.strip():  # noqa: PLR2004
            found += words_of(value)
    return found


def effect(words: Collection[str], given: Mapping[str, Any]) -> str:
    """Return what a call of a tool whose name has these words may do to files."""
    keys = {key_of(key) for key in given}
    named = _by_name(list(words))
    if named == Effect.READS:
        return _suspicious(frozenset(words), given, keys)
    if any(value is True and key_of(key) in _TRIALS for key, value in given.items()):
        return Effect.WATCHED
    if named == Effect.UNSURE and keys & CONTENT_KEYS:
        return Effect.CHANGES
    return named


def _by_name(words: list[str]) -> str:
    found = frozenset(words)
    changes, looks = found & _CHANGING, found & _LOOK_VERBS
    if _only_asks(words, found):
        return Effect.READS
    if not changes and _looks(words):
        return Effect.READS
    if found & _THINGS and not found & _FILES:
        return Effect.WATCHED
    if not changes and found & (RUNS | _WATCHED | _LOOK_NOUNS):
        return Effect.WATCHED
    return Effect.CHANGES if changes and not looks else Effect.UNSURE


def _looks(words: list[str]) -> bool:
    """Return whether a name without a verb that changes something says that it reads."""
    part: set[str] = set()
    for word in (*words, "and"):
        if word not in _JOINING:
            part.add(word)
        elif not part & _LOOK_VERBS and not (
            part & _LOOK_NOUNS and part <= _LOOK_NOUNS | _WATCHED | _BESIDE
        ):
            return False
        else:
            part = set()
    return True


def _only_asks(words: list[str], found: frozenset[str]) -> bool:
    """Return whether a name says that nothing changes, or only a folder or a page in a browser."""
    if found & _JOINING:
        return False
    makes, chooses = found & _FOLDERS and found & _MAKING, found & _PLACES and found & _CHOOSING
    if (makes or chooses) and not found & _FILES:
        return True
    if found & _BROWSERS and not found & (_SAVING | _FILES):
        return True
    if words[:2] == ["convert", "to"]:
        return True  # it returns the result, unless an argument says where to write it
    first = next((word for word in words if word in _TRYING | _CHANGING), "")
    tries = first in _TRYING and bool(found & _CHANGING)
    return tries or not _ASKING.isdisjoint(words[:1])


def _suspicious(words: frozenset[str], given: Mapping[str, Any], keys: Collection[str]) -> str:
    """Return the effect of a tool whose name says that it reads, by its arguments."""
    flags = (key_of(key) for key, value in given.items() if value is True)
    if any(key in _FLAGS for key in flags):
        return Effect.CHANGES
    texts = [key for key, value in given.items() if isinstance(value, str) and value]
    if any(_OUTPUTS.intersection(words_of(key)) for key in texts):
        return Effect.UNSURE
    if words & _CAPTURES and any(key_of(key) == "filename" for key in texts):
        return Effect.UNSURE
    for key in texts:
        kind = key_of(key)  # a query may also be free text
        if kind in _STATEMENTS and changes_database(given[key], unless_read=kind != "query"):
            return Effect.WATCHED
    if COMMAND_KEYS.intersection(keys) and not all(_is_action(given, key) for key in given):
        return Effect.WATCHED
    return Effect.WATCHED if CONTENT_KEYS.intersection(keys) else Effect.READS


def changes_database(text: str, *, unless_read: bool = False) -> bool:
    """Return whether a statement or an SQLite command in a text changes the database or writes a file.

    With ``unless_read``, everything counts that is not known to read.
    """
    import re

    if len(text) > _LONGEST_SQL:
        return True
    plain = re.sub(r"--[^\n]*|/\*!\d*|/\*.*?\*/|'[^']*'", " '' ", text.lower(), flags=re.DOTALL)
    for statement in plain.split(";"):
        lines = [line.split() for line in statement.replace("(", " ( ").splitlines()]
        words = [word for line in lines for word in line if word not in {"(", "''"}]
        if any(line and line[0] in _SQL_CHANGES for line in (words, *lines)):
            return True
        if words and words[0] in _SQL_READS:
            sets = "=" in statement or (
                "(" in statement and not "".join(words[1:2]).startswith(_PRAGMAS)
            )
            if not _SQL_WRITES.isdisjoint(words) or (words[0] == "pragma" and sets):
                return True
        elif words and unless_read:
            return True
    return False


def _is_action(given: Mapping[str, Any], key: str) -> bool:
    """Return whether a value is not a command but the name of an action."""
    value = given[key]
    if key_of(key) not in COMMAND_KEYS:
        return True
    return isinstance(value, str) and " " not in value.strip() and len(value) < 40  # noqa: PLR2004
