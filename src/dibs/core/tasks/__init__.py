"""Rules about tasks: states, dependencies, order, similarity, and what the board pages say."""
