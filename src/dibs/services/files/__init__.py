"""The files of a working tree, with who holds them and what happened to them."""
