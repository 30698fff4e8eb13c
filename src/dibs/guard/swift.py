"""How a hook's process begins: by the shortest way to its answer."""

from __future__ import annotations

import sys

from dibs.guard.packed import NAME, Pack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def program(package: str) -> NoReturn:
    """Be the program of one hook; ``package`` is the folder of ours."""
    pack = Pack(f"{package}/guard/__pycache__/{NAME}")
    sys.meta_path.insert(0, pack)  # type: ignore[arg-type]
    sys.path += site_packages(package)
    import os

    from dibs.guard.hook import attend

    status = attend(sys.argv[1:])
    pack.mend()
    os._exit(status)


def site_packages(package: str) -> list[str]:
    """Return where the packages lie that we use: beside ours, else where Python would look for them."""
    return ["/work/main/.venv/lib/python3.11/site-packages"]
