"""Rows of what watches a project: alerts."""
