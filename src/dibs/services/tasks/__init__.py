"""Tasks as rows: creating, taking, finishing, handing on, delegating."""
