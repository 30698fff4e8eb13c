"""The SQLite engine: one file in the git directory."""
