"""Wait for the process that replaced a server; short because a replaced server becomes it.

``python -I -S waiter.py PID``. A terminal or a service manager started the replaced server, so that
it must see a running process, and its signals must reach the new one.
"""

import os
import signal
import sys


def main(process: int) -> int:
    """Pass signals on to the process, and return its exit status."""
    ending = (signal.SIGTERM, signal.SIGHUP)
    for number in ending:
        signal.signal(number, lambda sent, _: os.kill(process, sent))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to both
    # The server blocked them before it became this program.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ending)
    while True:
        try:
            _, status = os.waitpid(process, 0)
        except ChildProcessError:
            return 0
        return os.waitstatus_to_exitcode(status) & 0xFF


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
