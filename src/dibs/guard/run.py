"""The program that agents' hooks start: ``python -I -S …/dibs/guard/run.py AGENT [EVENT]``.

Started so, nothing of the user's environment can change what is loaded; we find our own packages. A script is
compiled at each start, so this one only finds what is compiled already: see ``packed``.
"""

import gc
import sys


def pack_of(home: str) -> str:
    """Return where the file of modules lies."""
    return f"{home}/guard/__pycache__/hooks.{sys.implementation.cache_tag}.pack"


def starter(home: str) -> tuple:  # type: ignore[type-arg] # a longer one would be built at each start
    """Return how to start, and the open file of modules."""
    import posix
    from _frozen_importlib_external import MAGIC_NUMBER
    from marshal import loads

    file = posix.open(pack_of(home), posix.O_RDONLY)
    head = posix.read(file, 16)
    if head[:4] != MAGIC_NUMBER:
        raise ValueError
    source = f"{home}/startup/pack.py"
    changed, size, code = loads(posix.read(file, int(head[4:])))  # noqa: S302 - as compiled files are
    now = posix.stat(source)
    # A folder that was copied has the file of the other one, whose modules may change apart from ours.
    if (changed, size, code.co_filename) != (now.st_mtime_ns, now.st_size, source):
        raise ValueError
    space = {"__name__": "dibs.startup.pack", "__file__": source}
    exec(code, space)  # noqa: S102 - this is how a module is loaded
    return space["start"], file


def give_up(error: Exception, home: str) -> None:
    """Refuse. Maybe the file of modules is damaged: the next hook goes without it, and writes it anew."""
    import posix

    try:
        why = f"{type(error).__name__}: {error}"
        posix.write(2, f"dibs: refused, because the hook is broken: {why}\n".encode())
        posix.unlink(pack_of(home))
    finally:
        posix._exit(2)  # noqa: SLF001


if __name__ == "__main__":
    gc.disable()
    package = __file__.rpartition("/guard/")[0]
    try:
        try:
            start, handle = starter(package)
        except Exception:  # noqa: BLE001 - what a damaged file does, nobody knows
            sys.path.insert(0, package.rpartition("/")[0])
            from dibs.startup.pack import start

            handle = -1
        start(package, handle)
    except Exception as error:  # noqa: BLE001 - any status but 2 would let the tool run
        give_up(error, package)
