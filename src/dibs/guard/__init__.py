"""Guards outside of Dibs' own commands: agent hooks and git hooks."""
