"""The jobs of each project: what the server does on time, without being asked."""
