"""The process itself: its lock, its sockets, its start, and its end."""
