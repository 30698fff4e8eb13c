"""The resident process: hooks, REST, events, MCP over HTTP, alerts, and schedules, for many projects."""
