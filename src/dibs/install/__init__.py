"""Set up coding agents: hooks, MCP servers, and instructions; planned first, removed byte for byte.

``plan`` changes nothing; ``apply`` applies a plan and undoes it; ``purge`` deletes the state. ``agents``
knows what each agent needs, ``entries`` adds and removes it, ``inspect`` finds it, ``prove`` tests it.
"""
