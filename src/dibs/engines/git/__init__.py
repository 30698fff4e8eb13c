"""State on a branch of a git remote, moved by compare-and-swap."""
