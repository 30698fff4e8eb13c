"""Rules for messages, recipients, and decisions."""
