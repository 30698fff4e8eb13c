"""Values as JSON: one shape for each value, for every surface."""
