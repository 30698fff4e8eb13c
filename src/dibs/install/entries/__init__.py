"""Edits of other programs' settings files that can be undone byte for byte."""
