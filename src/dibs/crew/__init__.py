"""The crew: the supervisor, the runner of each agent, and how agents are driven."""
