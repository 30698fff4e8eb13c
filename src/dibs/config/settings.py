"""The settings and their defaults; ``table`` says what is allowed."""

from __future__ import annotations

from dibs.startup.records import Record

#: Files that many changes touch, so that no agent can hold one for long.
HOT = tuple(
    f"**/{name}"
    for name in (
        "package-lock.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "Cargo.lock", "poetry.lock",
        "uv.lock", "pdm.lock", "Pipfile.lock", "go.sum", "composer.lock", "Gemfile.lock", "CHANGELOG.md",
    )
)  # fmt: skip
#: Settings besides those of the guard, the gate, and commits that decide what agents may do.
_ALSO_GUARDS = frozenset({"case", "merge_scope"})


def is_guard_setting(name: str) -> bool:
    """Return whether a setting decides what agents may do; agents must not change it."""
    return name.startswith(("guard_", "gate_", "commit_")) or name in _ALSO_GUARDS


class Config(Record):
    """The settings in effect. Durations are in seconds."""

    engine: str = ""
    ttl: float = 300.0
    heartbeat: float = 0.0
    max_hold: float = 43_200.0
    idle_takeover: float = 0.0
    preset: str = ""
    case: str = "insensitive"
    ledger_limit: int = 10_000
    ledger_files: str = "auto"
    synchronous: str = "normal"
    timeout: float = 5.0
    project: str = ""
    git_branch: str = "dibs"
    git_lock_age: float = 7_200.0
    board_folder: str = "work"
    board_commit: bool = False
    board_push: bool = False
    board_attempts: int = 3
    board_timeout: float = 7_200.0
    board_stuck: str = "warn"
    board_archive_after: float = 2_592_000.0
    commit_guarded: str = "human"
    gate_unclaimed: str = "allow"
    gate_on_error: str = "deny"
    worktree_folder: str = ""
    worktree_setup: str = ""
    worktree_copy: tuple[str, ...] = ()
    worktree_link: tuple[str, ...] = ()
    worktree_port: int = 4_100
    worktree_ports: int = 10
    merge_into: str = ""
    merge_test: str = ""
    merge_scope: str = "strict"
    salvage_keep: float = 0.0
    alerts_off: tuple[str, ...] = ()
    notify_desktop: bool = True
    notify_webhook: str = ""
    brief_tokens: int = 2_000
    guard_auto_claim: str = "file"
    guard_free: tuple[str, ...] = ()
    guard_human: tuple[str, ...] = ()
    guard_hot: tuple[str, ...] = HOT
    guard_reads: bool = False
    guard_on_error: str = "deny"
    guard_deadline: float = 2.0
    server_auto: bool = False
    #: Each as JSON text, so that the settings stay hashable.
    handlers_on: tuple[str, ...] = ()
    handlers_tests: bool = True
    handlers_summary: str = "lead"

    @property
    def fold_case(self) -> bool:
        """Whether names that differ only in case are the same."""
        return self.case != "sensitive"
