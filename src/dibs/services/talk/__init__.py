"""Messages, groups, and decisions."""
