"""Rules about changed files: ownership, conflicts, merges, trailers, worktrees."""
