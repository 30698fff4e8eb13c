"""Rules for tool calls: what a call touches, and whether it may."""
