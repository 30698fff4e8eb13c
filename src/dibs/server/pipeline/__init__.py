"""Runs the handlers of events, each on its own."""
