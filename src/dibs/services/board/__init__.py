"""The board: task files and rows agree before and after every task command."""
