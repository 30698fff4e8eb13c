"""Figures, each a ratio against a floor or a peer measured in the same run. Run: ``make bench``."""
