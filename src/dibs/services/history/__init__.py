"""The history of a project."""
