"""The Redis engine, also for Valkey: optimistic steps that one script verifies and applies."""
