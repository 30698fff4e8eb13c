"""The program that agents' hooks start: ``python -I -S …/dibs/guard/run.py AGENT [EVENT]``.

Started so, nothing of the user's environment can change what is loaded; we find our own packages.
"""

import os
import sys

if __name__ == "__main__":
    _package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    sys.path[0] = os.path.dirname(_package)
    import site

    site.main()
    from dibs.guard.hook import program

    program()
