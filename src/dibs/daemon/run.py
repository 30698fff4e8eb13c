"""Start the daemon: ``python -I …/daemon/run.py``; short because hooks start it by path."""

import sys

if __name__ == "__main__":
    package = __file__.rpartition("/daemon/")[0]
    sys.path.insert(0, package.rpartition("/")[0])
    from dibs.daemon.server import main

    sys.exit(main(package))
