"""Answers to agents' hooks and git hooks."""
