"""The program behind the hooks of coding agents."""
