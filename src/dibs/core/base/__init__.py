"""Small values and helpers that every other package of core may use."""
