"""The board: keeps task files and rows consistent around every task command."""
