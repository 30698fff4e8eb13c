"""The program that agents' hooks start: ``python -I -S …/dibs/guard/run.py AGENT [EVENT]``.

Started so, nothing of the user's environment can change what is loaded; we find our own packages. A script is
compiled at each start, so this one only finds what is compiled already: see ``packed``.
"""

import gc
import sys


def starter(home):  # noqa: ANN001, ANN201, D103 - each annotation would be loaded, too
    import posix
    from _frozen_importlib_external import MAGIC_NUMBER
    from marshal import loads

    tag = sys.implementation.cache_tag
    file = posix.open(f"{home}/guard/__pycache__/hooks.{tag}.pack", posix.O_RDONLY)
    head = posix.read(file, 16)
    changed, size, code = loads(posix.read(file, int(head[4:])))
    now = posix.stat(f"{home}/guard/packed.py")
    if head[:4] != MAGIC_NUMBER or changed != now.st_mtime_ns or size != now.st_size:
        raise ValueError
    space = {"__name__": "dibs.guard.packed", "__file__": f"{home}/guard/packed.py"}
    exec(code, space)  # noqa: S102
    return space["start"], file


if __name__ == "__main__":
    gc.disable()
    package = __file__.rpartition("/guard/")[0]
    try:
        start, handle = starter(package)
    except (OSError, ValueError, TypeError, EOFError, ImportError, KeyError):
        sys.path.insert(0, package.rpartition("/")[0])
        from dibs.guard.packed import start

        handle = -1
    start(package, handle)
