"""The one table of settings: what each is called, where it stands, what may be written, its default."""

from __future__ import annotations

from dibs.config.parsers import (
    between,
    choice,
    count,
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
from dibs.core.talk.categories import CATEGORIES
from dibs.core.text.durations import TTL_MAX, TTL_MIN, WAIT_MAX, WAIT_MIN, check_ttl, check_wait
from dibs.core.text.names import check_branch
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Field(Record):
    """One setting."""

    name: str
    #: Where it stands in ``dibs.toml``; an empty section is the top of the file.
    section: str
    key: str
    #: What may be written, for people.
    allowed: str
    #: Turns what is written into the value, or raises ``BadInput``.
    parse: Callable[[object], Any]
    doc: str

    @property
    def variable(self) -> str:
        """The variable in the environment that sets it."""
        return "DIBS_" + self.name.upper()

    @property
    def flag(self) -> str:
        """The option on the command line that sets it, on commands that have it."""
        return "--" + self.name.replace("_", "-")

    @property
    def default(self) -> Any:
        """The value where nobody sets one."""
        return Config._field_defaults[self.name]


#: What a preset sets, below everything that is set by name.
PRESETS: dict[str, dict[str, float]] = {"fast": {"ttl": 30.0}}


def _branch_or_none(value: object) -> str:
    return check_branch(value) if value else ""


# fmt: off
FIELDS = (
    Field("engine", "", "engine", "a URL", one_line,
          "Where the state lives: redis://host:6379/0, git:origin, sqlite:///path; empty for SQLite here."),
    Field("ttl", "claims", "ttl", between(TTL_MIN, TTL_MAX), check_ttl,
          "How long a claim lives after its agent's last sign of life."),
    Field("waiter_ttl", "claims", "waiter_ttl", *span("waiter_ttl", 5.0, 3_600.0),
          "How long a place in the queue lives after its waiter's last sign of life."),
    Field("max_hold", "claims", "max_hold", *span("max_hold", 60.0, 2_592_000.0),
          "How long a claim can be kept alive at all."),
    Field("wait", "claims", "wait", between(WAIT_MIN, WAIT_MAX), check_wait,
          "How long a claim waits for its turn where the call does not say."),
    Field("broad", "claims", "broad", *choice("deny", "allow"),
          "Whether an agent may claim everything at once (**)."),
    Field("preset", "claims", "preset", *choice("", *PRESETS),
          "Values for a way of working, unless set by name; fast means a ttl of 30s."),
    Field("case", "paths", "case", *choice("insensitive", "sensitive"),
          "Whether README and readme are one path (insensitive) or two."),
    Field("ledger_limit", "ledger", "limit", *count(100, 10_000_000),
          "How many entries the ledger keeps before older ones move to monthly files."),
    Field("synchronous", "store", "synchronous", *choice("normal", "full"),
          "Whether a loss of power may undo the newest changes (normal) or none (full)."),
    Field("timeout", "store", "timeout", *span("timeout", 0.1, 600.0),
          "How long a call waits for a busy engine before it gives up; 30s with git where it is not set."),
    Field("project", "", "project", "letters, digits, . _ - (up to 64)", plain_name,
          "What clones on other machines know this project by in Redis; empty for what origin says."),
    Field("redis_replicas", "redis", "replicas", *count(0, 10),
          "How many replicas of a Redis server must have a change before it is answered."),
    Field("git_branch", "git", "branch", "a branch of the remote", check_branch,
          "Which branch of the git remote holds the state."),
    Field("git_poll", "git", "poll", *span("git_poll", 1.0, 3_600.0),
          "How often a waiter looks at the git remote."),
    Field("git_lock_age", "git", "lock_age", *span("git_lock_age", 60.0, 2_592_000.0),
          "How long a lock file that a script wrote holds, from when it was first seen."),
    Field("board_folder", "board", "folder", "a folder inside the repository", folder,
          "Where the board of tasks lies, in the main working tree."),
    Field("board_commit", "board", "commit", *flag(),
          "Whether each move of a task becomes a git commit that holds only files of the board."),
    Field("board_attempts", "board", "attempts", *count(1, 100),
          "How often a task is handed out again before it waits in error for a human."),
    Field("board_timeout", "board", "timeout", *span("board_timeout", 60.0, 2_592_000.0),
          "How long a task may be assigned or in progress before it counts as stuck."),
    Field("board_stuck", "board", "stuck", *choice("warn", "release", "error"),
          "What becomes of a stuck task after the warning: nothing, back to the others, or error."),
    Field("board_archive_after", "board", "archive_after",
          *span("board_archive_after", 0.0, 315_360_000.0),
          "How long a finished task stays in done before it is archived."),
    Field("board_claim", "board", "claim", *flag(),
          "Whether taking a task also claims its artefacts where the call does not say."),
    Field("board_logs", "board", "logs", *flag(),
          "Whether a work log is written for each finished task."),
    Field("commit_guarded", "commit", "guarded", *choice("human", "anyone"),
          "Who may commit files that steer tools, such as dibs.toml, .mcp.json and .claude/settings.json."),
    Field("gate_unclaimed", "gate", "unclaimed", *choice("allow", "deny"),
          "Whether a plain git commit of an agent may hold files that nobody has claimed."),
    Field("gate_on_error", "gate", "on_error", *choice("deny", "allow"),
          "Whether git hooks let a commit or a push pass when the store cannot be asked."),
    Field("worktree_folder", "worktree", "folder", "a folder", one_line,
          "Where worktrees of agents are made; empty for <repository>.worktrees beside the repository."),
    Field("worktree_setup", "worktree", "setup", "a command", one_line,
          "What runs in a new worktree before its agent starts, such as npm ci; no shell reads it."),
    Field("worktree_copy", "worktree", "copy", "paths, as a list", paths,
          "Ignored files that a new worktree gets a copy of, such as .env."),
    Field("worktree_link", "worktree", "link", "paths, as a list", paths,
          "Ignored files or folders that a new worktree gets a link to, such as node_modules."),
    Field("worktree_claims", "worktree", "claims", *choice("project", "worktree"),
          "Whether a claim holds in all worktrees of the repository, or in each by itself."),
    Field("worktree_port", "worktree", "port", *count(1_024, 65_000),
          "The first port that worktrees are given; each gets a range of its own."),
    Field("worktree_ports", "worktree", "ports", *count(1, 1_000),
          "How many ports each worktree is given."),
    Field("merge_into", "merge", "into", "a branch", _branch_or_none,
          "The integration branch; empty for the one that the main working tree has checked out."),
    Field("merge_test", "merge", "test", "a command", one_line,
          "What must succeed on the merged files before they land, such as make test; no shell reads it."),
    Field("merge_test_timeout", "merge", "test_timeout", *span("merge_test_timeout", 1.0, 86_400.0),
          "How long that command may take."),
    Field("merge_scope", "merge", "scope", *choice("strict", "warn"),
          "What becomes of a branch with changes that its agent had not claimed: refused, or told."),
    Field("forecast_every", "forecast", "every", *span("forecast_every", 1.0, 86_400.0),
          "How often dibs forecast --watch looks where nothing tells it of changes."),
    Field("mail_rate", "mail", "rate", *count(1, 100_000),
          "How many messages an agent may send in a minute."),
    Field("mail_keep", "mail", "keep", *span("mail_keep", 60.0, 31_536_000.0),
          "How long a message is kept after all to whom it went were told; an unread one is kept."),
    Field("ladder_ask", "ladder", "ask", *span("ladder_ask", 0.0, 86_400.0),
          "After how long a waiter asks the holder by itself; 0 for never."),
    Field("ladder_escalate", "ladder", "escalate", *span("ladder_escalate", 0.0, 604_800.0),
          "After how long a waiter puts the conflict before a human by itself; 0 for never."),
    Field("decide_confirm", "decide", "confirm", *words_of(CATEGORIES),
          "Categories in which each decision waits for somebody to confirm it; a variable only adds."),
    Field("decide_allow", "decide", "allow", *words_of(CATEGORIES),
          "Categories in which a deadline that passes in silence confirms; counts in dibs.toml alone."),
    Field("decide_deny", "decide", "deny", *words_of(CATEGORIES),
          "Categories in which a deadline that passes in silence rejects; a variable only adds."),
    Field("decide_deadline", "decide", "deadline", *span("decide_deadline", 1.0, 2_592_000.0),
          "How long a decision waits where its category says what silence means, at the least."),
    Field("brief_tokens", "brief", "tokens", *count(200, 100_000),
          "How many tokens a briefing may have; what matters most comes first."),
    Field("guard_auto_claim", "guard", "auto_claim", *choice("file", "directory", "off"),
          "What the first edit of a free file claims: the file, its folder, or nothing: it is refused."),
    Field("guard_free", "guard", "free", "patterns, as a list", patterns,
          "Files that agents write without a claim, such as build/ and *.log."),
    Field("guard_human", "guard", "human", "patterns, as a list", patterns,
          "Files that no agent writes; a human does, or takes the pattern off."),
    Field("guard_hot", "guard", "hot", "patterns, as a list", patterns,
          "Files that all need for a moment, such as CHANGELOG.md: claimed briefly, each in turn."),
    Field("guard_hot_ttl", "guard", "hot_ttl", *span("guard_hot_ttl", 1.0, 3_600.0),
          "How long a hot file stays with an agent after its last sign of life, at the most."),
    Field("guard_hot_wait", "guard", "hot_wait", *span("guard_hot_wait", 0.0, 30.0),
          "How long an edit of a hot file waits for its turn before it is refused."),
    Field("guard_reads", "guard", "reads", *flag(),
          "Whether reading a file claims it too, shared with other readers."),
    Field("guard_on_error", "guard", "on_error", *choice("deny", "allow"),
          "Whether a tool call passes when nobody can be asked."),
    Field("guard_deadline", "guard", "deadline", *span("guard_deadline", 0.1, 8.0),
          "How long a hook takes before it answers as if nobody could be asked; waits for hot files apart."),
    Field("guard_daemon", "guard", "daemon", *flag(),
          "Whether hooks start a process that answers them faster, and ends when it is idle."),
)
# fmt: on
