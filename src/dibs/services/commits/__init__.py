"""Scoped commits, the gate that moves branches, and changes by owner."""
