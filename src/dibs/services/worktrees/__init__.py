"""Agents' worktrees, and the salvage of their work."""
