"""Migration of all state to another engine, and measurements of a store."""
