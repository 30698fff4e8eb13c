"""Messages, groups and decisions."""
