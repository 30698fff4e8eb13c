"""The PostgreSQL engine: for several machines, with failover that loses nothing."""
