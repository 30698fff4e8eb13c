"""``python -m dibs``, or ``python -I …/dibs/__main__.py``, whose modules no variable changes."""

import sys

if not __package__:
    sys.path.insert(0, __file__.rpartition("/dibs/")[0])

from dibs.cli import program

program()
