"""Use cases: read rows, ask core, write rows, emit ledger entries. They do not print."""
