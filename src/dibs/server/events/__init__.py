"""The ledger as a stream of events, for WebSocket clients."""
