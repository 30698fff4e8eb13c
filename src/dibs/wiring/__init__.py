"""Telling coding agents of Dibs: their hooks, servers, instructions; planned first, undone byte for byte."""
