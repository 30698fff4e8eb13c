"""Briefings: what changed in the crew, delivered to each agent exactly once."""
