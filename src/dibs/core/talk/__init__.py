"""Rules about messages, recipients and decisions."""
