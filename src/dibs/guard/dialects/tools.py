"""Find what agents' tools touch, by tables of tool names and of keys with paths or commands."""

from __future__ import annotations

import os

from dibs.core.toolcalls.values import How, Touch
from dibs.errors import BadInput
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

#: Names are compared ignoring case, "_", and "-".
WRITERS = frozenset((
    *("write", "edit", "multiedit", "notebookedit", "applypatch", "patch"),
    *("writefile", "replace", "create", "createfile", "editfile", "editfiles", "searchreplace"),
    *("strreplaceeditor", "strreplacebasededittool", "strreplace", "insert", "multireplace"),
    *("replacestringinfile", "multireplacestringinfile", "inserteditintofile"),
    *("editnotebook", "editnotebookfile", "reapply", "writecode"),
))  # fmt: skip
DELETERS = frozenset(("delete", "deletefile", "remove", "removefile", "deletepath"))
READERS = frozenset((
    *("read", "readfile", "view", "notebookread", "readcode", "readmanyfiles", "viewimage"),
    *("readnotebook", "getfile", "viewfile"),
))  # fmt: skip
#: Tools that search folders or touch no file of the tree: they need no claim.
LOOKERS = frozenset((
    *("glob", "grep", "ls", "list", "listdirectory", "listdir", "searchfilecontent", "grepsearch"),
    *("filesearch", "codesearch", "semanticsearch", "webfetch", "websearch", "fetch", "lsp", "rg"),
    *("agent", "task", "todowrite", "todoread", "skill", "askuserquestion", "exitplanmode"),
    *("createdirectory", "mkdir", "toolsearch", "updateplan", "reportintent", "think", "geterrors"),
))  # fmt: skip
SHELLS = frozenset((
    *("bash", "powershell", "shell", "localshell", "runshellcommand", "runinterminal"),
    *("runcommand", "exec", "execcommand", "unifiedexec", "terminal", "writebash", "writestdin"),
    *("writepowershell", "runterminalcmd", "executecommand", "monitor", "containerexec"),
))  # fmt: skip

PATH_KEYS = (
    *("file_path", "notebook_path", "path", "filePath", "filepath", "absolute_path", "file"),
    *("filename", "fileName", "target_file", "targetFile", "notebookPath", "target_notebook"),
    *("relative_path", "relativePath", "old_path", "new_path", "oldPath", "newPath", "uri"),
    *("paths", "files", "filePaths", "file_paths", "dirPath", "pathname"),
)
#: Keys with paths only in tools that move or copy.
MOVING_KEYS = ("source", "destination", "from", "to", "src", "dst", "target")
MOVING = frozenset(("move", "copy", "rename", "mv", "cp"))
PATCH_KEYS = ("command", "input", "patchText", "patch", "patch_text", "diff", "code")
COMMAND_KEYS = ("command", "cmd", "script", "input", "chars", "command_line", "commandLine", "code")
FOLDER_KEYS = ("workdir", "working_directory", "workingDirectory", "directory", "dir_path", "cwd")
#: An unknown tool with one of these words in its name only reads,
LOOKING = frozenset((
    *("read", "get", "list", "search", "find", "view", "show", "grep", "glob", "stat", "info"),
    *("tree", "cat", "open", "fetch", "query", "describe", "lookup", "check", "status", "diff"),
    *("log", "blame", "analyze", "analyse", "inspect", "preview", "lint", "validate", "resolve"),
))  # fmt: skip
#: unless its name also has one of these.
CHANGING = frozenset((
    *("write", "edit", "create", "delete", "remove", "move", "rename", "replace", "insert"),
    *("append", "patch", "update", "save", "copy", "set", "put", "apply", "format", "fix", "mkdir"),
))  # fmt: skip
#: Keys with a file's content: an unknown tool with a path and one of these writes.
CONTENT_KEYS = frozenset((
    *("content", "contents", "new_string", "newString", "file_text", "edits", "new_str", "newText"),
    *("replacement", "new_source", "code_edit", "new_text"),
))  # fmt: skip
#: Prefixes under which agents call the tools of Dibs' MCP server.
OWN = ("mcp__dibs__", "mcp__plugin_dibs_dibs__", "mcp_dibs_", "dibs-", "dibs_")
#: A tool that calls other tools.
BATCH = "batch"
#: Commands of an editor tool that only show a file.
_SHOWING = frozenset(("view", "read", "show"))
#: The most paths in one call.
PATHS_MAX = 2_000


def bad(message: str) -> BadInput:
    """Return the error for a payload that cannot be judged."""
    return BadInput(message, code="HOOK_PAYLOAD")


class ToolTarget(Record):
    """What a tool call touches."""

    touches: tuple[Touch, ...] = ()
    #: A shell command, and the folder that the call names for it.
    command: str = ""
    folder: str = ""


def target(tool: str, arguments: object, server: str = "") -> ToolTarget:
    """Return the paths that a call touches, and its shell command."""
    name = tool.lower().replace("_", "").replace("-", "")
    if tool.startswith(OWN) or name in LOOKERS or server == "dibs":
        return ToolTarget()
    given = _object(arguments, tool)
    if name == BATCH:
        return _batch(given, tool)
    if name in SHELLS:
        return ToolTarget(command=_command(given, tool), folder=_folder(given))
    if name in WRITERS or name in DELETERS:
        return ToolTarget(_written(name, given, tool))
    if name in READERS:
        return ToolTarget(_touches(given, How.READ))
    return _unknown(tool, server, given)


def _batch(given: Mapping[str, Any], tool: str) -> ToolTarget:
    """Return what all calls of a batch touch: the agent has no hook for each of them."""
    calls = given.get("tool_calls")
    if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
        raise bad(f"{tool} contains no tool calls")
    if any(str(call.get("tool", "")).lower() == BATCH for call in calls):
        raise bad(f"{tool} cannot contain itself")
    found = [target(str(call.get("tool", "")), call.get("parameters")) for call in calls]
    commands = "\n".join(
        f"(cd {_joined([one.folder])} && {one.command})" if one.folder else one.command
        for one in found
        if one.command
    )
    return ToolTarget(tuple(touch for one in found for touch in one.touches), commands)


def _unknown(tool: str, server: str, given: Mapping[str, Any]) -> ToolTarget:
    """Return what an unknown tool touches: from an MCP server, or newer than this version."""
    patched = _patched(given)
    if patched:
        return ToolTarget((*patched, *_touches(given, How.WRITE)))
    command = given.get("command", given.get("cmd"))
    words = frozenset(_words(tool, server))
    if words & MOVING:
        given = {**given, "paths": [given[key] for key in MOVING_KEYS if key in given]}
    touches = _touches(given, How.READ)
    if isinstance(command, str) and not touches:
        return ToolTarget(command=command, folder=_folder(given))
    writes = words & CHANGING or CONTENT_KEYS & given.keys() or not words & LOOKING
    return ToolTarget(_touches(given, How.WRITE) if writes else touches)


def _folder(given: Mapping[str, Any]) -> str:
    """Return the folder that a command runs in, if the call names one."""
    for key in FOLDER_KEYS:
        value = given.get(key)
        if isinstance(value, str) and value:
            return checked(value)
    return ""


def _words(tool: str, server: str) -> Iterator[str]:
    """Yield the words of a tool's own name in lower case, without its server's name."""
    word = ""
    own = tool.removeprefix(f"mcp_{server}_") if server else tool
    for letter in own.rpartition("__")[2]:
        if not letter.isalnum() or (letter.isupper() and word[-1:].islower()):
            yield word.lower()
            word = ""
        if letter.isalnum():
            word += letter
    yield word.lower()


def _object(arguments: object, tool: str) -> Mapping[str, Any]:
    """Return the arguments of a call; some agents send them as a string, either JSON or a patch."""
    if arguments is None:
        return {}
    if isinstance(arguments, str):
        from dibs.core.toolcalls.patches import is_patch

        if is_patch(arguments) and not arguments.lstrip().startswith("{"):
            return {"patch": arguments}
        from dibs.startup.quickjson import loads

        try:
            arguments = loads(arguments) if arguments.strip() else {}
        except (ValueError, RecursionError):
            raise bad(f"{tool}'s arguments are not valid JSON") from None
    if not isinstance(arguments, dict):
        raise bad(f"{tool}'s arguments are not an object")
    return arguments


def _command(given: Mapping[str, Any], tool: str) -> str:
    """Return a shell command; a list of words is joined with shell quoting."""
    for key in COMMAND_KEYS:
        value = given.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, list) and all(isinstance(word, str) for word in value):
            return _joined(value)
    if any(key in given for key in COMMAND_KEYS):
        raise bad(f"{tool}'s command is not a string")
    return ""


def _joined(words: list[str]) -> str:
    from shlex import join

    return join(words)


def _written(name: str, given: Mapping[str, Any], tool: str) -> tuple[Touch, ...]:
    if name.startswith("strreplace") and str(given.get("command")) in _SHOWING:
        return _touches(given, How.READ)
    how = How.DELETE if name in DELETERS else How.WRITE
    touches = (*_touches(given, how), *_patched(given))
    if not touches:
        raise bad(f"{tool} does not name a path")
    return touches


def _patched(given: Mapping[str, Any]) -> tuple[Touch, ...]:
    """Return what patches in the arguments touch."""
    from dibs.core.toolcalls.patches import is_patch, touched

    values = [given.get(key) for key in PATCH_KEYS]
    texts = [text for text in values if isinstance(text, str) and is_patch(text)]
    found = tuple(touch for text in texts for touch in touched(text))
    if texts and not found:
        raise bad("the patch does not name a path")
    return tuple(touch._replace(path=checked(touch.path)) for touch in found)


def _touches(given: Mapping[str, Any], how: str) -> tuple[Touch, ...]:
    """Return the paths in the arguments and in lists of edits, each once."""
    found = dict.fromkeys(_paths(given))
    for value in given.values():
        if isinstance(value, list):
            for entry in value:
                if isinstance(entry, dict):
                    found |= dict.fromkeys(_paths(entry))
    if len(found) > PATHS_MAX:
        raise bad(f"the call names {len(found)} paths (limit: {PATHS_MAX})")
    return tuple(Touch(path, how) for path in found)


def _paths(given: Mapping[str, Any]) -> Iterator[str]:
    for key in PATH_KEYS:
        if key not in given:
            continue
        value = given[key]
        for entry in value if isinstance(value, list) else (value,):
            if isinstance(entry, str):
                if key != "uri" or entry[:5].lower() == "file:":
                    yield checked(entry)
            elif not isinstance(entry, dict) and entry is not None:
                raise bad(f"{key} is not a path")


def checked(path: object) -> str:
    """Return a possible path; refuse anything else."""
    if isinstance(path, str) and path[:5].lower() == "file:":
        from dibs.core.patterns.spelling import file_path

        path = file_path(path, literal=True).removeprefix("./")
    if not isinstance(path, str) or not path:
        raise bad("a path is empty or not a string")
    if "\0" in path:
        raise bad("a path contains a NUL character")
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise bad("a path is not valid Unicode") from None
    return path
