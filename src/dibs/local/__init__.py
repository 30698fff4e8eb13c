"""This machine: repository, identity, processes, paths, atomic file writes, file locks."""
