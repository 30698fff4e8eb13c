"""Alerts: conditions that need attention, and how an alert opens and ends. Pure: time is an argument."""
