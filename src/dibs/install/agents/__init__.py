"""How each coding agent is set up."""
