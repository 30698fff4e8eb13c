"""A process that stays, and answers the hooks of agents faster than each could by itself."""
