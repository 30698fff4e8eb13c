"""The MCP server: the tools of Dibs for agents that speak the Model Context Protocol.

Needs the extra ``mcp``. Nothing here is imported by any command but ``dibs mcp``.
"""
