"""Find the files that a shell command would write, from its text alone."""
