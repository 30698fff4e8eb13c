"""State in Redis or Valkey: optimistic steps that one script verifies and applies."""
