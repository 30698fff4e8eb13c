"""The composition root: opens a project, chooses its engine, and provides services."""
