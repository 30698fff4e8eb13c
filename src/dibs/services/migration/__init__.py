"""Moving all state to another engine, and starting a new life of a store."""
