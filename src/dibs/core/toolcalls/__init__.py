"""Rules about the tool calls of agents: what a call touches, and whether it may."""
