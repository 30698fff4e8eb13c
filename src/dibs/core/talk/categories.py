"""Categories of decisions; short because every command loads it with the settings."""

CATEGORIES = ("style", "architecture", "tool_access", "dependency", "testing", "general")
