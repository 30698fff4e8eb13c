"""The Python API; programs import its names from ``dibs``."""
