"""Rules about claims: agents, overlap of requests, coverage, escalation, the ledger."""
