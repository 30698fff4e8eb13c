"""What happened over time: spans, marks, and figures, computed from ledger entries."""
