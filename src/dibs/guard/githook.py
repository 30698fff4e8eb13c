"""Where installed git hooks look for their program; short because their text names this module."""

from dibs.guard.git.program import program

__all__ = ["program"]
