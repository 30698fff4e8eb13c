"""Where state is stored. An engine knows one technology and no rule; ``base`` is the port."""
