"""Claims: asking, waiting, renewing, releasing, release requests, escalation."""
