"""What a briefing says, in which order, and what is dropped when it gets too long."""
