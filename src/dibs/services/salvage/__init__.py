"""Saved copies of uncommitted work: save, list, show, and restore them."""
