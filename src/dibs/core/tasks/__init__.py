"""Rules about tasks: states, dependencies, order, similarity, and the text of the board's pages."""
