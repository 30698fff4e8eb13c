"""The MCP server: the services as tools and resources for a model."""
