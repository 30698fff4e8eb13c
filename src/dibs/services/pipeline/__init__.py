"""Handlers of events: what runs when something is written to the ledger."""
