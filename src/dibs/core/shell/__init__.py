"""Which files a shell command would write, decided from its text."""
