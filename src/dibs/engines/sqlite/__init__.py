"""State in one SQLite file inside the git directory."""
