"""Commands against a server on another machine: the side that asks, and the side that acts."""
