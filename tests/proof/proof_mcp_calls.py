"""Calls of other MCP servers' tools: writes to ``src/a.py``, which another agent holds, and harmless calls.

``{root}`` is the working tree. Names and arguments are those of real servers where there is one.
"""

from __future__ import annotations

from typing import Any

PATH = "{root}/src/a.py"
URI = "file://{root}/src/a.py"
DIFF = "--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-old\n+new\n"
PATCH = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-old\n+new\n*** End Patch\n"
EDITS = [{"oldText": "old", "newText": "new"}]
RANGE = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}

Call = tuple[str, dict[str, Any]]

#: Writes that are blocked before they happen.
BLOCKED: tuple[Call, ...] = (
    # file servers
    ("mcp__filesystem__write_file", {"path": PATH, "content": "x"}),
    ("mcp__filesystem__edit_file", {"path": "src/a.py", "edits": EDITS}),
    ("mcp__filesystem__move_file", {"source": "src/a.py", "destination": "b.py"}),
    ("mcp__filesystem__move_file", {"source": "free.py", "destination": PATH}),
    ("mcp__fs__copy_file", {"source": "free.py", "destination": "src/a.py"}),
    ("mcp__fs__delete_directory", {"path": "{root}/src", "recursive": True}),
    ("mcp__fs__remove", {"paths": ["free.py", "src/a.py"]}),
    ("mcp__fs__file", {"action": "write", "path": "src/a.py", "data": "x"}),
    ("mcp__fs__write_files", {"files": [{"path": "free.py", "content": ""}, {"path": PATH, "content": ""}]}),
    ("mcp__fs__write_files", {"files": {"free.py": "x", "src/a.py": "x"}}),
    ("mcp__fs__bulk", {"operations": [{"type": "put", "where": {"location": "src/a.py"}, "content": "x"}]}),
    ("mcp__desktop-commander__edit_block", {"file_path": PATH, "old_string": "a", "new_string": "b"}),
    ("mcp__desktop-commander__write_file", {"path": "src\\a.py", "content": "x", "mode": "append"}),
    ("mcp__text-editor__edit_text_file_contents", {"files": [{"path": PATH, "patches": [{"contents": ""}]}]}),
    ("mcp__editor__str_replace_editor", {"command": "str_replace", "path": PATH, "old_str": "a"}),
    ("mcp__fs__append_line", {"location": "src/a.py:12:3", "line": "x"}),
    ("mcp__fs__insert_at", {"position": "src/a.py#L12", "value": "x"}),
    ("mcp__fs__touch_all", {"list": "free.py, src/a.py"}),
    ("mcp__fs__delete_files", {"pattern": "src/*.py"}),
    ("mcp__fs__truncate", {"glob": "**/a.py"}),
    ("mcp__fs__write_in", {"directory": "src", "name": "a.py", "content": "x"}),
    ("mcp__fs__rename", {"old_path": "src/a.py", "new_path": "src/b.py"}),
    ("mcp__fs__rename", {"from": "src/a.py", "to": "src/b.py"}),
    ("mcp__fs__swap", {"pair": ["free.py", "src/a.py"]}),
    ("mcp__fs__sync", {"mapping": {"free.py": "src/a.py"}}),
    ("mcp__fs__frobnicate", {"path": "src/a.py"}),
    ("mcp__fs__frobnicate", {"options": {"deep": [{"deeper": {"target": PATH}}]}}),
    ("mcp__fs__frobnicate", {"arguments": '{"nested": ["src/a.py"]}'}),
    ("mcp__fs__frobnicate", {"spec": '[{"path": "src/a.py"}]'}),
    ("mcp__fs__frobnicate", {"where": "${workspaceFolder}/src/a.py"}),
    ("mcp__fs__frobnicate", {"where": "src/../src/./a.py"}),
    ("mcp__fs__frobnicate", {"where": "link.py"}),
    # language servers
    ("mcp__lsp__rename", {"uri": URI, "position": {"line": 1}, "newName": "b"}),
    ("mcp__lsp__apply_edit", {"edit": {"changes": {URI: [{"range": RANGE, "newText": "x"}]}}}),
    ("mcp__lsp__workspace_apply_edit", {"documentChanges": [
        {"textDocument": {"uri": URI, "version": 1}, "edits": [{"range": RANGE, "newText": "x"}]}]}),
    ("mcp__lsp__apply_edit", {"documentChanges": [{"kind": "rename", "oldUri": URI, "newUri": "b"}]}),
    ("mcp__lsp__format_document", {"textDocument": {"uri": URI}}),
    ("mcp__lsp__organize_imports", {"uri": "file:///{root}/src/%61.py"}),
    ("mcp__lint__lint", {"path": "src/a.py", "fix": True}),
    ("mcp__lsp__code_actions", {"uri": "vscode-file://{root}/src/a.py", "apply": True}),
    # serena, JetBrains
    ("mcp__serena__replace_symbol_body", {"name_path": "f", "relative_path": "src/a.py", "body": "x"}),
    ("mcp__serena__insert_after_symbol", {"name_path": "f", "relative_path": "src/a.py", "body": "x"}),
    ("mcp__serena__replace_regex", {"relative_path": "src/a.py", "regex": "a", "repl": "b"}),
    ("mcp__serena__create_text_file", {"relative_path": "src/a.py", "content": "x"}),
    ("mcp__jetbrains__replace_text_in_file", {"pathInProject": "src/a.py", "oldText": "a", "newText": "b"}),
    ("mcp__jetbrains__reformat_file", {"path": "src/a.py", "projectPath": "{root}"}),
    ("mcp__jetbrains__create_new_file", {"pathInProject": "src/a.py", "text": "x", "overwrite": True}),
    # patches
    ("mcp__patch__apply_patch", {"patch": PATCH}),
    ("mcp__patch__apply_diff", {"diff": DIFF}),
    ("mcp__patch__apply", {"content": DIFF}),
    ("mcp__patch__frobnicate", {"unified_diff": DIFF.replace("a/src", "src").replace("b/src", "src")}),
    ("mcp__patch__apply_diff", {"diff": "diff --git a/src/a.py b/src/a.py\ndeleted file mode 100644\n"}),
    ("mcp__patch__apply_diff", {"root": "{root}/src", "diff": DIFF.replace("src/", "")}),
    # notebooks
    ("mcp__jupyter__insert_cell", {"notebook_path": "src/n.ipynb", "cell_source": "x"}),
    ("mcp__jupyter__overwrite_cell_source", {"notebook": "src/n.ipynb", "cell_index": 0, "cell_source": "x"}),
    # git
    ("mcp__git__git_checkout", {"repo_path": "{root}", "branch_name": "older"}),
    ("mcp__git__git_reset", {"repo_path": "{root}", "mode": "hard"}),
    ("mcp__git__git_stash", {"path": "{root}"}),
    ("mcp__git__git_restore", {"repo_path": "{root}", "files": ["src/a.py"]}),
    ("mcp__git__git_rm", {"repo_path": "{root}", "paths": ["src/a.py"], "force": True}),
    ("mcp__git__git_mv", {"repo_path": "{root}", "source": "src/a.py", "destination": "b.py"}),
    ("mcp__git__git_merge", {"repo_path": "{root}", "branch": "side"}),
    ("mcp__git__checkout", {"target": "older"}),
    # shells and programs
    ("mcp__shell__execute_command", {"command": "echo x > src/a.py"}),
    ("mcp__shell__run", {"command": "rm", "args": ["-f", "src/a.py"]}),
    ("mcp__shell__run", {"cmd": ["sed", "-i", "s/a/b/", "src/a.py"]}),
    ("mcp__shell__run_all", {"commands": ["ls", "rm src/a.py"]}),
    ("mcp__shell__run_script", {"script": "cd src\necho x > a.py\n"}),
    ("mcp__shell__run", {"steps": [{"command": "rm src/a.py"}]}),
    ("mcp__serena__execute_shell_command", {"command": "rm a.py", "cwd": "{root}/src"}),
    ("mcp__desktop-commander__start_process", {"command": "rm src/a.py", "timeout_ms": 100}),
    ("mcp__desktop-commander__interact_with_process", {"pid": 1, "input": "rm src/a.py\n"}),
    ("mcp__python__execute_python", {"code": "open('src/a.py', 'w').write('x')"}),
    ("mcp__code__run_code", {"language": "javascript", "code": "fs.writeFileSync('src/a.py', '')"}),
    # what browsers and others save
    ("mcp__playwright__browser_take_screenshot", {"filename": "src/a.py"}),
    ("mcp__playwright__browser_snapshot", {"filename": "{root}/src/a.py"}),
    ("mcp__puppeteer__puppeteer_screenshot", {"name": "x", "path": "src/a.py"}),
    ("mcp__pandoc__convert-contents", {"contents": "x", "output_file": "src/a.py"}),
    ("mcp__web__fetch", {"url": "http://x/", "output_path": "src/a.py"}),
    ("mcp__web__download", {"url": "http://x/", "to": "src/a.py"}),
    ("mcp__db__export_table", {"table": "t", "destination": "src/a.py"}),
    ("mcp__github__create_or_update_file", {"owner": "o", "repo": "r", "path": "src/a.py", "content": "x"}),
    # tools that call tools
    ("mcp__proxy__call_tool", {"name": "filesystem__write_file", "args": {"path": PATH, "content": "x"}}),
    ("mcp__x__mcp_call", {"tool": "write_file", "arguments": {"path": "src/a.py", "content": "x"}}),
    # servers with names like ours
    ("mcp__dibs-evil__write", {"path": "src/a.py"}),
    ("mcp__dibs_notes__put", {"path": "src/a.py"}),
)  # fmt: skip

#: Writes whose arguments do not show the file; they are found by comparing the tree.
DETECTED: tuple[Call, ...] = (
    ("mcp__fs__frobnicate", {}),
    ("mcp__fs__apply_last_suggestion", {"id": 7}),
    ("mcp__fs__write", {"handle": 3, "content": "x"}),
    ("mcp__fs__undo", {}),
    ("mcp__jetbrains__execute_run_configuration", {"configurationName": "build"}),
    ("mcp__tests__run_tests", {"path": "src/a.py"}),
    ("mcp__shell__run", {"command": "python3 writer.py"}),
    ("mcp__python__execute_python", {"code": "import writer"}),
    ("mcp__serena__write_memory", {"memory_file_name": "x", "content": "src/a.py is odd"}),
    ("mcp__tasks__complete_task", {"id": "T-1"}),
    ("mcp__fs__read_file", {"path": "src/a.py", "content": "x"}),
    ("mcp__fs__write", {"parts": ["src", "a", "py"]}),
    ("mcp__fs__edit_file", {"path": "src/a.py", "edits": EDITS, "dryRun": True}),
    ("mcp__fs__process", {"directory": "src"}),
    ("mcp__vscode__run_vscode_command", {"command": "editor.action.formatDocument"}),
    (
        "mcp__codex__codex",
        {"prompt": "edit src/a.py", "cwd": "{root}", "sandbox": "workspace-write"},
    ),
    ("mcp__playwright__browser_generate_playwright_test", {"name": "x", "steps": []}),
    ("mcp__dart__pub", {"command": "get", "roots": [{"root": "file://{root}"}]}),
    # names that say that they read
    ("mcp__chrome__take_snapshot", {"filePath": "src/a.py"}),
    ("mcp__lint__lint", {"paths": ["src/a.py"], "options": {"fix": True}}),
    ("mcp__lint__eslint", {"args": ["--fix", "src/a.py"]}),
    ("mcp__fs__open_file", {"path": "src/a.py", "mode": "w"}),
    ("mcp__duckdb__query", {"query": "COPY t TO 'src/a.py'"}),
    ("mcp__figma__get_image", {"nodeId": "1", "dirForAssetWrites": "{root}/src"}),
    ("mcp__web__fetch_to_file", {"url": "https://x/", "file": PATH}),
    ("mcp__format__frobnicate_project", {"projectPath": "{root}"}),
    ("mcp__x__frobnicate", {"encoded": "c3JjL2EucHk="}),
    # names in which another word than the reading one may be the verb
    ("mcp__lsp__perform_code_action", {"id": 3}),
    ("mcp__ide__accept_diff", {"tab_name": "a.py"}),
    ("mcp__lsp__optimize_imports", {"scope": "project"}),
    ("mcp__lsp__sort_imports", {}),
    ("mcp__editor__indent_lines", {"buffer": 1}),
    ("mcp__todo__mark_todos_done", {}),
    ("mcp__ui__apply_preview", {"id": 9}),
    ("mcp__ui__confirm_preview", {"id": 9}),
    ("mcp__release__prepare_release", {"version": "2.0"}),
    ("mcp__fs__upload_and_extract", {"archive": "x.zip"}),
    ("mcp__fs__create_files_in_folder", {"id": 3}),
    ("mcp__fs__set_project_file", {"id": "a"}),
    ("mcp__browser__browser_write_file", {"handle": 1}),
    ("mcp__agents__ask-codex", {"prompt": "edit it", "cd": "{root}"}),
)

PROSE = "Look at src/a.py and `src/a.py:12`: it writes {root}/src/a.py."
#: Calls that change nothing: none is blocked, and none claims anything.
HARMLESS: tuple[Call, ...] = (
    # language servers
    ("mcp__lsp__hover", {"uri": URI, "line": 1, "character": 2}),
    ("mcp__lsp__definition", {"filePath": PATH, "line": 1}),
    ("mcp__lsp__go_to_definition", {"file": "src/a.py", "symbol": "f"}),
    ("mcp__lsp__references", {"uri": URI, "position": {"line": 1}}),
    ("mcp__lsp__find_references", {"path": PATH}),
    ("mcp__lsp__diagnostics", {"uri": URI}),
    ("mcp__lsp__diagnostics", {"uri": URI, "content": "unsaved"}),
    ("mcp__ide__getDiagnostics", {"uri": URI}),
    ("mcp__lsp__document_symbols", {"textDocument": {"uri": URI}}),
    ("mcp__lsp__workspace_symbols", {"query": "src/a.py"}),
    ("mcp__lsp__completion", {"uri": URI, "position": {"line": 1}}),
    ("mcp__lsp__signature_help", {"uri": URI}),
    ("mcp__lsp__call_hierarchy", {"uri": URI}),
    ("mcp__lsp__textDocument/hover", {"textDocument": {"uri": URI}}),
    ("mcp__lsp__prepareRename", {"uri": URI}),
    ("mcp__lsp__prepareCallHierarchy", {"uri": URI}),
    ("mcp__lsp__preview_rename", {"uri": URI, "newName": "b"}),
    ("mcp__lsp__semantic_tokens", {"uri": URI}),
    ("mcp__mcp-language-server__content", {"filePath": PATH}),
    ("mcp__lsp__type_definition", {"path": "src/a.py"}),
    ("mcp__lsp__outline", {"path": "src/a.py"}),
    ("mcp__lsp__explain", {"path": "src/a.py", "line": 3}),
    ("mcp__lint__lint", {"path": "src/a.py"}),
    ("mcp__lint__lint", {"path": "src/a.py", "fix": False}),
    ("mcp__eslint__eslint", {"files": ["src/a.py"]}),
    ("mcp__code__count_lines", {"path": "src"}),
    ("mcp__code__complexity", {"path": "src/a.py"}),
    ("mcp__code__parse", {"path": "src/a.py"}),
    ("mcp__code__dump_ast", {"path": "src/a.py"}),
    ("mcp__code__file_exists", {"path": PATH}),
    ("mcp__code__checksum", {"path": PATH}),
    ("mcp__lsp__textDocument/codeAction", {"textDocument": {"uri": URI}}),
    ("mcp__lsp__selection_range", {"uri": URI}),
    ("mcp__lsp__close_document", {"uri": URI}),
    ("mcp__zen__codereview", {"relevant_files": [PATH], "step": PROSE}),
    ("mcp__zen__thinkdeep", {"relevant_files": [PATH], "step": PROSE}),
    ("mcp__zen__precommit", {"path": "{root}", "relevant_files": [PATH]}),
    ("mcp__zen__consensus", {"relevant_files": [PATH], "step": PROSE}),
    ("mcp__gopls__go_file_context", {"file": PATH}),
    ("mcp__markitdown__convert_to_markdown", {"uri": URI}),
    ("mcp__proxy__call_tool", {"name": "filesystem__read_file", "args": {"path": PATH}}),
    # serena
    ("mcp__serena__find_symbol", {"name_path": "f", "relative_path": "src/a.py"}),
    ("mcp__serena__find_referencing_symbols", {"name_path": "f", "relative_path": "src/a.py"}),
    ("mcp__serena__get_symbols_overview", {"relative_path": "src/a.py"}),
    ("mcp__serena__search_for_pattern", {"substring_pattern": "x", "relative_path": "src"}),
    ("mcp__serena__list_dir", {"relative_path": "src", "recursive": True}),
    ("mcp__serena__find_file", {"file_mask": "*.py", "relative_path": "src"}),
    ("mcp__serena__read_memory", {"memory_file_name": "x"}),
    ("mcp__serena__write_memory", {"memory_file_name": "x", "content": PROSE}),
    ("mcp__serena__activate_project", {"project": "{root}"}),
    ("mcp__serena__think_about_task_adherence", {}),
    # file servers
    ("mcp__filesystem__read_text_file", {"path": PATH}),
    ("mcp__filesystem__read_multiple_files", {"paths": [PATH, "free.py"]}),
    ("mcp__filesystem__list_directory", {"path": "{root}/src"}),
    ("mcp__filesystem__directory_tree", {"path": "{root}"}),
    ("mcp__filesystem__search_files", {"path": "{root}", "pattern": "*.py"}),
    ("mcp__filesystem__get_file_info", {"path": PATH}),
    ("mcp__filesystem__list_allowed_directories", {}),
    ("mcp__filesystem__create_directory", {"path": "{root}/src/new"}),
    ("mcp__filesystem__edit_file", {"path": PATH, "edits": EDITS, "dryRun": True}),
    ("mcp__desktop-commander__read_file", {"path": PATH, "offset": 0}),
    ("mcp__desktop-commander__start_search", {"path": "{root}", "pattern": "x", "searchType": "content"}),
    ("mcp__desktop-commander__list_processes", {}),
    ("mcp__fs__copy_file", {"source": PATH, "destination": "/tmp/x"}),
    ("mcp__editor__text_editor", {"command": "view", "path": PATH}),
    # GitHub, and others that talk
    ("mcp__github__get_file_contents", {"owner": "o", "repo": "r", "path": "src/a.py"}),
    ("mcp__github__search_code", {"query": "src/a.py in:path"}),
    ("mcp__github__create_issue", {"title": "src/a.py", "body": PROSE}),
    ("mcp__github__add_issue_comment", {"issue_number": 1, "body": PROSE}),
    ("mcp__github__add_comment_to_pending_review", {"path": "src/a.py", "line": 1, "body": "x"}),
    ("mcp__github__create_pull_request", {"title": "x", "head": "side", "base": "main", "body": PROSE}),
    ("mcp__github__list_commits", {"owner": "o", "repo": "r", "path": "src/a.py"}),
    ("mcp__slack__post_message", {"channel": "docs", "text": PROSE}),
    ("mcp__memory__create_entities", {"entities": [{"name": "src/a.py", "observations": [PROSE]}]}),
    ("mcp__memory__add_observations", {"observations": [{"entityName": "src/a.py", "contents": [PROSE]}]}),
    ("mcp__memory__search_nodes", {"query": "src/a.py"}),
    ("mcp__memory__read_graph", {}),
    ("mcp__sequential-thinking__sequentialthinking", {"thought": PROSE, "thoughtNumber": 1}),
    ("mcp__todo__add_todo", {"title": "fix src/a.py", "file": "src/a.py"}),
    ("mcp__x__ask", {"q": "src/a.py"}),
    # documentation, web, browsers, databases, time
    ("mcp__context7__resolve-library-id", {"libraryName": "a"}),
    ("mcp__context7__get-library-docs", {"context7CompatibleLibraryID": "/src/a.py"}),
    ("mcp__fetch__fetch", {"url": "https://example.com/src/a.py"}),
    ("mcp__playwright__browser_navigate", {"url": "https://example.com/"}),
    ("mcp__playwright__browser_snapshot", {}),
    ("mcp__playwright__browser_click", {"element": "src/a.py", "ref": "e1"}),
    ("mcp__playwright__browser_type", {"ref": "e1", "text": PROSE}),
    ("mcp__playwright__browser_file_upload", {"paths": [PATH]}),
    ("mcp__playwright__browser_console_messages", {}),
    ("mcp__puppeteer__puppeteer_fill", {"selector": "#a", "value": "src/a.py"}),
    ("mcp__postgres__query", {"sql": "SELECT 'src/a.py'"}),
    ("mcp__time__get_current_time", {"timezone": "America/New_York"}),
    ("mcp__time__convert_time", {"source_timezone": "Z", "target_timezone": "Europe/Berlin", "time": "1:00"}),
    # JetBrains
    ("mcp__jetbrains__get_file_text_by_path", {"pathInProject": "src/a.py"}),
    ("mcp__jetbrains__find_files_by_glob", {"globPattern": "**/*.py"}),
    ("mcp__jetbrains__search_in_files_by_text", {"searchText": "x", "directoryToSearch": "src"}),
    ("mcp__jetbrains__get_file_problems", {"filePath": "src/a.py"}),
    ("mcp__jetbrains__open_file_in_editor", {"filePath": "src/a.py"}),
    ("mcp__jetbrains__get_symbol_info", {"filePath": "src/a.py", "line": 1}),
    ("mcp__tests__run_tests", {"path": "src/a.py"}),
    # git
    ("mcp__git__git_status", {"repo_path": "{root}"}),
    ("mcp__git__git_diff", {"repo_path": "{root}", "target": "main"}),
    ("mcp__git__git_diff_unstaged", {"repo_path": "{root}"}),
    ("mcp__git__git_log", {"repo_path": "{root}", "max_count": 3}),
    ("mcp__git__git_show", {"repo_path": "{root}", "revision": "HEAD"}),
    ("mcp__git__git_stash", {"mode": "list", "path": "{root}"}),
    ("mcp__git__git_set_working_dir", {"path": "{root}"}),
    ("mcp__git__git_blame", {"repo_path": "{root}", "path": "src/a.py"}),
    ("mcp__git__git_branch", {"repo_path": "{root}", "branch_type": "local"}),
    ("mcp__shell__execute_command", {"command": "cat src/a.py"}),
    # Dibs' own tools, if the agent does not name the server
    ("MCP:claim", {"paths": ["src/a.py"], "wait": "5m"}),
    ("MCP:ask", {"path": "src/a.py"}),
)  # fmt: skip


def filled(value: Any, root: str) -> Any:
    """Return arguments with the folder of the working tree, also in keys."""
    if isinstance(value, dict):
        return {filled(key, root): filled(inner, root) for key, inner in value.items()}
    if isinstance(value, list):
        return [filled(inner, root) for inner in value]
    return value.replace("{root}", root) if isinstance(value, str) else value
