"""What a decision can be about; short because the settings load it with every command."""

CATEGORIES = ("style", "architecture", "tool_access", "dependency", "testing", "general")
