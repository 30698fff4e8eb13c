"""Where work is stopped outside of Dibs' own commands: hooks of git."""
