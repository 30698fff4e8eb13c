"""Briefings: what an agent is told about its crew, and that it is told once."""
