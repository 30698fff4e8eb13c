"""The resident process: hooks, REST, events, alerts, and schedules, for many projects."""
