"""Storage engines: each knows one technology and contains no rules; ``base`` is the interface."""
