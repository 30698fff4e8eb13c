"""The program behind git hooks, and their installation."""
