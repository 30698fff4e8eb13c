"""Answers to the hooks of agents and of git: what is allowed, what happened, what was lost."""
