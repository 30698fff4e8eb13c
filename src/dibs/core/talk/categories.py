"""What a decision can be about. Apart from the rules, because every command reads the settings."""

CATEGORIES = ("style", "architecture", "tool_access", "dependency", "testing", "general")
