"""Worktrees of agents, and salvage of the work in them."""
