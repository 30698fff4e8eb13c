"""The table of settings: names, allowed values, and what each one does."""

from __future__ import annotations

from dibs.config.event_commands import event_commands
from dibs.config.parsers import (
    between,
    choice,
    count,
    engine_url,
    flag,
    folder,
    one_line,
    paths,
    patterns,
    plain_name,
    span,
    words_of,
)
from dibs.config.settings import Config
from dibs.core.alerts.kinds import ALERT_KINDS
from dibs.core.text.durations import TTL_MAX, TTL_MIN, check_ttl
from dibs.core.text.names import check_branch
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Field(Record):
    """One setting."""

    name: str
    #: Its place in ``dibs.toml``; an empty section is the top of the file.
    section: str
    key: str
    #: The allowed values, for people.
    allowed: str
    #: Returns the value for what is written, or raises ``BadInput``.
    parse: Callable[[object], Any]
    doc: str

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return "DIBS_" + self.name.upper()

    @property
    def flag(self) -> str:
        """The command-line option that sets it, on commands that have it."""
        return "--" + self.name.replace("_", "-")

    @property
    def default(self) -> Any:
        """The value if it is not set anywhere."""
        return Config._field_defaults[self.name]


#: What each preset sets; settings given by name take precedence.
PRESETS: dict[str, dict[str, float]] = {
    "fast": {"ttl": 30.0},
    "nexus": {"ttl": 30.0, "heartbeat": 10.0},
}


def _branch_or_none(value: object) -> str:
    return check_branch(value) if value else ""


# fmt: off
FIELDS = (
    Field("engine", "", "engine", "a URL", engine_url,
          "Where Dibs stores its state: postgresql://host/database, redis://host:6379/0, git:origin, or "
          "sqlite:///path. Empty, or sqlite, means SQLite in the git directory. All worktrees of a clone "
          "must use the same one."),
    Field("ttl", "claims", "ttl", between(TTL_MIN, TTL_MAX), check_ttl,
          "How long a claim lasts after its owner's last heartbeat. Existing claims keep theirs."),
    Field("heartbeat", "claims", "heartbeat", *span("heartbeat", 0.0, 3_600.0),
          "How often dibs run, the Python API, a waiting command, and an MCP server on standard input send a "
          "heartbeat; at most half of the ttl. 0 means every third of the ttl, and none from an MCP server."),
    Field("max_hold", "claims", "max_hold", *span("max_hold", 60.0, 2_592_000.0),
          "How long a claim can be renewed before it expires anyway."),
    Field("idle_takeover", "claims", "idle_takeover", *span("idle_takeover", 0.0, 2_592_000.0),
          "After how long without activity another agent may take over uncommitted files from an agent "
          "whose process still runs; 0 means never."),
    Field("preset", "claims", "preset", *choice("", *PRESETS),
          "A named set of defaults; fast sets ttl to 30s, nexus also sets heartbeat to 10s. Individual "
          "settings take precedence."),
    Field("case", "paths", "case", *choice("insensitive", "sensitive"),
          "Whether README and readme are the same path (insensitive) or two paths."),
    Field("ledger_limit", "ledger", "limit", *count(100, 10_000_000),
          "How many ledger entries stay in the store before older ones move to monthly files."),
    Field("ledger_files", "ledger", "files", *choice("auto", "off", "edits", "all"),
          "Which tool calls of guarded agents the ledger records: edits of files (edits), also reads (all), "
          "none (off), or all if dibs serve answers the hooks and none otherwise (auto)."),
    Field("synchronous", "store", "synchronous", *choice("normal", "full"),
          "Whether a power failure can undo the most recent changes (normal) or none (full)."),
    Field("timeout", "store", "timeout", *span("timeout", 0.1, 600.0),
          "How long a command waits for a busy engine before it fails. The git engine defaults to 30s."),
    Field("project", "", "project", "at most 64 letters, digits, dots, underscores, or hyphens", plain_name,
          "The name that clones on other machines share in Redis or PostgreSQL. Empty means that it is "
          "derived from the origin URL."),
    Field("git_branch", "git", "branch", "a branch of the remote", check_branch,
          "The branch on the git remote that holds the state."),
    Field("git_lock_age", "git", "lock_age", *span("git_lock_age", 60.0, 2_592_000.0),
          "How long a lock file in `current_tasks/` counts, from the time it states, else from its commit."),
    Field("board_folder", "board", "folder", "a folder inside the repository", folder,
          "The folder of the task board, in the main working tree."),
    Field("board_commit", "board", "commit", *flag(),
          "Make a git commit for each change on the task board. It contains only board files."),
    Field("board_push", "board", "push", *flag(),
          "Push the commits of the task board to the branch's upstream. Other commits are never pushed."),
    Field("board_attempts", "board", "attempts", *count(1, 100),
          "How many times a task is assigned again before it stays in error for a human."),
    Field("board_timeout", "board", "timeout", *span("board_timeout", 60.0, 2_592_000.0),
          "How long a task may be assigned or in progress before it counts as stuck."),
    Field("board_stuck", "board", "stuck", *choice("warn", "release", "error"),
          "What happens to a stuck task after the warning: nothing (warn), back to the board (release), "
          "or error."),
    Field("board_archive_after", "board", "archive_after",
          *span("board_archive_after", 0.0, 315_360_000.0),
          "How long a finished task stays in done before it is archived."),
    Field("commit_guarded", "commit", "guarded", *choice("human", "anyone"),
          "Who may commit files that configure tools, such as dibs.toml, .mcp.json, and "
          ".claude/settings.json."),
    Field("gate_unclaimed", "gate", "unclaimed", *choice("allow", "deny"),
          "Whether an agent's plain git commit may include unclaimed files."),
    Field("gate_on_error", "gate", "on_error", *choice("deny", "allow"),
          "Whether git hooks allow commits and pushes when the store is unreachable."),
    Field("worktree_folder", "worktree", "folder", "a folder", one_line,
          "Where agents' worktrees are created. Empty means <repository>.worktrees next to the repository."),
    Field("worktree_setup", "worktree", "setup", "a command", one_line,
          "A command to run in each new worktree, such as npm ci. It is not run through a shell."),
    Field("worktree_copy", "worktree", "copy", "paths, as a list", paths,
          "Ignored files to copy into each new worktree, such as .env."),
    Field("worktree_link", "worktree", "link", "paths, as a list", paths,
          "Ignored files or folders to link into each new worktree, such as node_modules."),
    Field("worktree_port", "worktree", "port", *count(1_024, 65_000),
          "The first port to assign to worktrees. Each worktree gets its own range."),
    Field("worktree_ports", "worktree", "ports", *count(1, 1_000),
          "How many ports each worktree gets."),
    Field("merge_into", "merge", "into", "a branch", _branch_or_none,
          "The branch that dibs merge merges into. Empty means the branch checked out in the main "
          "working tree."),
    Field("merge_test", "merge", "test", "a command", one_line,
          "A command that must succeed on the merged files before they land, such as make test. It is "
          "not run through a shell."),
    Field("merge_scope", "merge", "scope", *choice("strict", "warn"),
          "Whether a branch that changes files its agent had not claimed is refused (strict) or "
          "reported (warn)."),
    Field("salvage_keep", "salvage", "keep", *span("salvage_keep", 0.0, 315_360_000.0),
          "How long a server keeps copies of uncommitted work, at least a day; 0 means forever."),
    Field("alerts_off", "alerts", "off", *words_of(ALERT_KINDS),
          "Kinds of alerts that are never opened."),
    Field("notify_desktop", "notify", "desktop", *flag(),
          "Show a desktop notification when a human is needed; the server does that."),
    Field("notify_webhook", "notify", "webhook", "an https:// URL", one_line,
          "Where the server sends a signed webhook when a human is needed, once a human has accepted it."),
    Field("brief_tokens", "brief", "tokens", *count(200, 100_000),
          "How many tokens a briefing may use; the most important parts come first."),
    Field("guard_auto_claim", "guard", "auto_claim", *choice("file", "directory", "off"),
          "What the first edit of an unclaimed file claims: the file, its directory, or nothing (off), "
          "which blocks the edit."),
    Field("guard_free", "guard", "free", "patterns, as a list", patterns,
          "Files that agents may write without a claim, such as build/ and *.log."),
    Field("guard_human", "guard", "human", "patterns, as a list", patterns,
          "Files that only humans may write."),
    Field("guard_hot", "guard", "hot", "patterns, as a list", patterns,
          "Files that many agents need briefly, such as CHANGELOG.md. They are claimed for a short "
          "time, in turn."),
    Field("guard_reads", "guard", "reads", *flag(),
          "Also take a shared claim when an agent reads a file."),
    Field("guard_on_error", "guard", "on_error", *choice("deny", "allow"),
          "Whether tool calls are allowed when the store is unreachable."),
    Field("guard_deadline", "guard", "deadline", *span("guard_deadline", 0.1, 8.0),
          "How long a hook may take before it answers as if the store were unreachable. Waiting for hot "
          "files is not counted."),
    Field("server_auto", "server", "auto", *flag(),
          "Let the first hook start `dibs serve`, which makes hooks faster and does what is due on time. It "
          "exits when nothing needs it."),
    Field("handlers_on", "", "on", "tables [[on]] with event and command", event_commands,
          "Commands that `dibs serve` runs when an event happens, once a human has accepted them."),
    Field("handlers_tests", "handlers", "tests", *flag(),
          "Let `dibs serve` run merge.test on each commit and report the result, once a human has "
          "accepted it."),
    Field("handlers_summary", "handlers", "summary", *choice("lead", "human", "off"),
          "Whom `dibs serve` tells that an agent finished a task: its lead, also the human if it has no lead "
          "(human), or nobody."),
)
# fmt: on
