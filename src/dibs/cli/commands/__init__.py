"""One module or package for each command."""
