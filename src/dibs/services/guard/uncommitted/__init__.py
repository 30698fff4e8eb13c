"""Find, save, and attribute uncommitted work that an agent's calls may change or take away."""
