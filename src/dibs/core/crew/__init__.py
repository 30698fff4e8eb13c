"""Rules of the crew: roles, assignment, restarts, limits, prompts, and text commands."""
