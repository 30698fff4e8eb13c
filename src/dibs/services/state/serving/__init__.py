"""Rows of the server: its handlers of events, and the failures that it records."""
