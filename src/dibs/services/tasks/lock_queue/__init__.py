"""The lock-file queue: tasks and lock files on the branch that scripts and Dibs agents share."""
