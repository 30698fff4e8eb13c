"""Rows of the store. The only package that knows keys and uses transactions."""
