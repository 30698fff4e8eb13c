"""Alerts: gather facts, decide which conditions hold, and open and resolve alerts."""
