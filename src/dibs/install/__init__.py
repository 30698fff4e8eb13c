"""Telling coding agents of Dibs: their hooks, servers, instructions; planned first, undone byte for byte.

``plan`` looks and changes nothing; ``apply`` carries a plan out and takes it back. ``agents`` says what goes
into which file, ``pieces`` how it goes in and comes out.
"""
