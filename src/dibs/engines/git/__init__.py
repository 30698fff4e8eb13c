"""The git engine: state on a branch of a remote, updated by compare-and-swap."""
