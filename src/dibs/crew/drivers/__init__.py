"""Ways to drive an agent: the Agent Client Protocol, its headless mode, or standard input and output."""
