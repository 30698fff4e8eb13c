"""The merge queue: scope first, then tests, conflicts as tasks."""
