"""Hooks over a Unix socket: the raw protocol of ``guard.agents.client``, answered with open engines."""
