"""Installation for coding agents: hooks, MCP servers and instructions; planned first, undone byte for byte.

``plan`` changes nothing; ``apply`` applies a plan and undoes it. ``agents`` says what each agent needs in
which file, ``entries`` how it is added and removed, ``inspect`` what is there, ``prove`` whether it works.
"""
