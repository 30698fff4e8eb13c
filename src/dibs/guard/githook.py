"""The entry point that installed git hooks import by name; short because it must not move."""

from dibs.guard.git.program import program

__all__ = ["program"]
