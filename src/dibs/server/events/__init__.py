"""The ledger as a stream of events, for WebSocket and SSE clients."""
