"""Proof that each guard blocks a write, by trying one."""
