"""The program that agents' hooks start: ``python -I -S …/dibs/guard/run.py AGENT [EVENT]``.

Started so, nothing of the user's environment can change what is loaded; we find our own packages. A script is
compiled at each start, so it is short.
"""

import gc
import sys

if __name__ == "__main__":
    gc.disable()
    here = __file__.rpartition("/guard/")[0]
    sys.path += [here.rpartition("/")[0]]
    from dibs.guard.swift import program

    program(here)
