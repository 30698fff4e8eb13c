"""What makes a process start fast: the module pack, quick JSON, and ``Record``."""
