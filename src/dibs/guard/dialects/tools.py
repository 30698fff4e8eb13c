"""Find what agents' tools touch, by tables of tool names and of keys with paths or commands."""

from __future__ import annotations

import os

from dibs.core.toolcalls.values import How, Touch, Watch, key_of
from dibs.errors import BadInput
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

#: The tools that write, run commands, and read, by agent as it spells them; "" for agents without matchers.
#: ``dibs init`` builds the matchers of hooks from the same tables, so that no tool is missing there.
WRITE_TOOLS = {
    "claude": "Write Edit MultiEdit NotebookEdit",
    "codex": "apply_patch Edit Write",
    "gemini": "write_file replace",
    "": "patch create create_file edit_file editFiles search_replace str_replace_editor insert"
    " str_replace_based_edit_tool str_replace multi_replace replace_string_in_file"
    " multi_replace_string_in_file insert_edit_into_file edit_notebook edit_notebook_file reapply"
    " write_code",
}
SHELL_TOOLS = {
    "claude": "Bash PowerShell Monitor",
    "codex": "Bash shell local_shell exec_command unified_exec write_stdin",
    "gemini": "run_shell_command",
    "": "run_in_terminal run_command terminal write_bash write_powershell run_terminal_cmd"
    " execute_command container_exec exec",  # Codex also calls hooks for each call in its code
}
READ_TOOLS = {
    "claude": "Read",
    "gemini": "read_file read_many_files",
    "": "view NotebookRead read_code view_image read_notebook get_file view_file",
}
#: Tools that search folders or touch no file of the tree: they need no claim.
LOOK_TOOLS = {
    "claude": "Grep Glob",
    "gemini": "glob search_file_content grep_search list_directory",
    "": "ls list list_dir file_search code_search semantic_search web_fetch web_search fetch lsp rg"
    " agent task TodoWrite TodoRead skill AskUserQuestion ExitPlanMode create_directory mkdir"
    " ToolSearch update_plan report_intent think get_errors ask_user question kill_shell stop_bash"
    " stop_powershell",
}


def _all(table: Mapping[str, str]) -> frozenset[str]:
    return frozenset(key_of(" ".join(table.values())).split())


WRITERS, SHELLS, READERS, LOOKERS = map(_all, (WRITE_TOOLS, SHELL_TOOLS, READ_TOOLS, LOOK_TOOLS))
DELETERS = frozenset(("delete", "deletefile", "remove", "removefile", "deletepath"))

PATH_KEYS = (
    *("file_path", "notebook_path", "path", "filePath", "filepath", "absolute_path", "file"),
    *("filename", "fileName", "target_file", "targetFile", "notebookPath", "target_notebook"),
    *("relative_path", "relativePath", "old_path", "new_path", "oldPath", "newPath", "uri"),
    *("paths", "files", "filePaths", "file_paths", "dirPath", "pathname"),
)
PATCH_KEYS = ("command", "input", "patchText", "patch", "patch_text", "diff", "code")
COMMAND_KEYS = ("command", "cmd", "script", "input", "chars", "command_line", "commandLine", "code")
FOLDER_KEYS = ("workdir", "working_directory", "workingDirectory", "directory", "dir_path", "cwd")
#: Prefixes under which agents call the tools of Dibs' MCP server.
OWN = ("mcp__dibs__", "mcp__plugin_dibs_dibs__")
#: Prefixes that another server's name may continue, and the tools that are Dibs' own after them.
_NEAR_OWN = ("mcp_dibs_", "dibs-", "dibs_")
OWN_TOOLS = frozenset((
    *("claim", "wait", "release", "status", "ask", "commit", "task", "say", "decide", "brief"),
))  # fmt: skip
#: A tool that calls other tools.
BATCH = "batch"
_WATCHES = (Watch.KNOWN, Watch.HELD, Watch.ALWAYS)
_KNOWN = WRITERS | DELETERS | SHELLS | READERS | {BATCH}
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
    #: Texts that are paths if the tree contains them; only unknown tools have any.
    mentions: tuple[str, ...] = ()
    watch: str = Watch.KNOWN


def target(tool: str, arguments: object, server: str = "") -> ToolTarget:
    """Return the paths that a call touches, and its shell command."""
    name = key_of(tool)
    if (name in LOOKERS and not server) or _is_own(tool, server):
        return ToolTarget()
    given = _object(arguments, tool)
    if not server and name in _KNOWN:  # a server's tools may have the same names
        return _known(name, given, tool)
    from dibs.guard.dialects.third_party import unknown

    return unknown(tool, server, given)


def _known(name: str, given: Mapping[str, Any], tool: str) -> ToolTarget:
    if name == BATCH:
        return _batch(given, tool)
    if name in SHELLS:
        return ToolTarget(command=_command(given, tool), folder=_folder(given))
    if name in READERS:
        return ToolTarget(_touches(given, How.READ))
    return ToolTarget(_written(name, given, tool))


def _is_own(tool: str, server: str) -> bool:
    """Return whether a tool belongs to Dibs' MCP server, and not to one with a similar name."""
    if server:
        return server in {"dibs", "plugin:dibs:dibs"}
    if tool.startswith(OWN):
        return "__" not in tool.rpartition("dibs__")[2]
    return any(tool.startswith(near) and tool[len(near) :] in OWN_TOOLS for near in _NEAR_OWN)


def _batch(given: Mapping[str, Any], tool: str) -> ToolTarget:
    """Return what all calls of a batch touch: the agent has no hook for each of them."""
    calls = given.get("tool_calls")
    if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
        raise bad(f"{tool} contains no tool calls")
    if any(str(call.get("tool", "")).lower() == BATCH for call in calls):
        raise bad(f"{tool} cannot contain itself")
    found = [target(str(call.get("tool", "")), call.get("parameters")) for call in calls]
    commands = "\n".join(
        f"(cd {joined([one.folder])} && {one.command})" if one.folder else one.command
        for one in found
        if one.command
    )
    return ToolTarget(
        tuple(touch for one in found for touch in one.touches),
        commands,
        mentions=tuple(text for one in found for text in one.mentions),
        watch=max((one.watch for one in found), key=_WATCHES.index, default=Watch.KNOWN),
    )


def _folder(given: Mapping[str, Any]) -> str:
    """Return the folder that a command runs in, if the call names one."""
    for key in FOLDER_KEYS:
        value = given.get(key)
        if isinstance(value, str) and value:
            return checked(value)
    return ""


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
            return joined(value)
    if any(key in given for key in COMMAND_KEYS):
        raise bad(f"{tool}'s command is not a string")
    return ""


def joined(words: Sequence[str]) -> str:
    """Return words as a shell command."""
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
