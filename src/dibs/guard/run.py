"""The program that agents' hooks start: ``python -I -S …/dibs/guard/run.py AGENT [EVENT]``.

These options keep the user's environment from changing what is loaded. Python compiles a script at each
start, so this one only loads compiled code; see docs/explanation/startup.md.
"""

import gc
import posix
import sys


def packed(package: str) -> tuple:  # type: ignore[type-arg] # a longer annotation costs time at each start
    """Return the pack of compiled modules and the start function; raise if the pack is unusable."""
    from _frozen_importlib_external import MAGIC_NUMBER
    from marshal import loads

    name = f"{package}/guard/__pycache__/hooks.{sys.implementation.cache_tag}.pack"
    file = posix.open(name, posix.O_RDONLY)
    start = posix.read(file, 16)
    if start[:4] != MAGIC_NUMBER:
        raise ValueError
    size = int(start[4:])
    code, entries, plain = loads(posix.read(file, size))  # noqa: S302 - ours, as .pyc files are
    space: dict = {"__name__": "dibs.startup.pack"}  # type: ignore[type-arg]
    exec(code, space)  # noqa: S102 - this is how a module is loaded
    pack = space["Pack"](package, file, 16 + size, entries, plain)
    return pack, pack.run_alone("dibs.guard.agents.start")["start"]


if __name__ == "__main__":
    gc.disable()
    for handle in range(3):
        try:
            posix.fstat(handle)
        except OSError:  # a file that is opened later must not become standard output
            posix.open("/dev/null", posix.O_RDONLY)
    package = __file__.rpartition("/guard/")[0]
    try:
        try:
            pack, start = packed(package)
        except Exception:  # noqa: BLE001 - the hook works without the pack, whatever is wrong with it
            sys.path.insert(0, package.rpartition("/")[0])
            from dibs.guard.agents.start import start
            from dibs.startup.pack import Pack

            pack = Pack(package)
        start(pack)
    except Exception as error:  # noqa: BLE001 - any status but 2 would let the tool run
        sys.stderr.write(
            f"dibs: blocked because the hook is broken: {type(error).__name__}: {error}\n"
        )
        sys.exit(1 if isinstance(error, ImportError) else 2)
