"""Run one scripted agent in its own process.

It reads one JSON object per line: {"id": 1, "words": ["claim", "a.py"]} runs a command and prints its
result ("input" is its standard input); {"beat": 1.5} sends a heartbeat every 1.5 seconds from then on.
An interrupt stops the current command but not the agent, which runs until standard input ends.
"""

from __future__ import annotations

import json
import queue
import signal
import subprocess
import sys
import threading
from typing import Any


def main(dibs: str) -> None:
    """Work until standard input ends."""
    signal.signal(signal.SIGINT, lambda *_: None)  # unlike SIG_IGN, children do not inherit this
    orders: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_read, args=(orders,), daemon=True).start()
    beat: float | None = None
    while True:
        try:
            line = orders.get(timeout=beat)
        except queue.Empty:
            subprocess.run([dibs, "renew", "--json"], check=False, capture_output=True)
            continue
        if not line:
            return
        order: dict[str, Any] = json.loads(line)
        if "beat" in order:
            beat = order["beat"]
        else:
            print(json.dumps(_run(dibs, order)), flush=True)


def _read(orders: queue.Queue[str]) -> None:
    for line in sys.stdin:
        orders.put(line)
    orders.put("")


def _run(dibs: str, order: dict[str, Any]) -> dict[str, Any]:
    done = subprocess.run(
        [dibs, *order["words"]],
        check=False,
        input=order.get("input", ""),
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    return {"id": order["id"], "status": done.returncode, "out": done.stdout, "err": done.stderr}


if __name__ == "__main__":
    main(sys.argv[1])
