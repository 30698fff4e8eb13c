"""The MCP server: Dibs tools for agents that use the Model Context Protocol.

Needs the extra ``mcp``. Only ``dibs mcp`` imports it.
"""
