"""Paths and globs: parsing, exact overlap, and how patterns are filed and found."""
