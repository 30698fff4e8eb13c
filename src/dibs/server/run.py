"""Start the server in the background; short because hooks start it by path: ``python -I …/server/run.py``."""

import sys

if __name__ == "__main__":
    package = __file__.rpartition("/server/")[0]
    sys.path.insert(0, package.rpartition("/")[0])
    from dibs.server.process.background import main

    sys.exit(main(sys.argv[1:]))
