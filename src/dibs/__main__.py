"""``python -m dibs``."""

from dibs.cli import program

program()
