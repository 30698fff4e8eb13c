"""Groups of redis-servers: a sentinel with its primary, and a cluster."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING

from tests.servers.processes import until
from tests.servers.redis import RedisServer

if TYPE_CHECKING:
    from collections.abc import Iterator

SLOTS = 16_384


class Sentinel(RedisServer):
    """One sentinel that watches ``primary``, and promotes its replica when it fails."""

    name = "dibs"

    def __init__(
        self, folder: str | os.PathLike[str], primary: RedisServer, *, down_after: float = 0.5
    ) -> None:
        super().__init__(folder)
        self._primary = primary
        self._down_after = round(down_after * 1000)

    def command(self) -> list[str]:
        """Use redis-server itself: redis-sentinel is the same program."""
        path = os.path.join(self.folder, "sentinel.conf")
        if not os.path.exists(path) or not self._knows(path):
            with open(path, "w", encoding="utf-8") as file:
                file.write("\n".join([*self._settings(), ""]))
        return ["redis-server", path, "--sentinel"]

    def _knows(self, path: str) -> bool:
        """Return whether the sentinel's state file belongs to this port."""
        with open(path, encoding="utf-8") as file:
            return f"port {self.port}\n" in file.read()

    def _settings(self) -> list[str]:
        lines = [f"port {self.port}", "bind 127.0.0.1", "daemonize no", f"dir {self.folder}"]
        lines += [f"sentinel monitor {self.name} 127.0.0.1 {self._primary.port} 1"]
        if self._primary.password:
            lines += [f"sentinel auth-pass {self.name} {self._primary.password}"]
        lines += [f"sentinel down-after-milliseconds {self.name} {self._down_after}"]
        return [*lines, f"sentinel failover-timeout {self.name} 3000"]

    def start(self) -> Sentinel:
        """Start, and wait until it has found the primary and its current replicas."""
        super().start()
        if self._primary.running:
            expected = self._primary.info("replication")["connected_slaves"]
            until(lambda: len(self.replicas()) >= expected, "the sentinel knows the replicas")
        return self

    def replicas(self) -> list[object]:
        """Return the replicas that the sentinel knows."""
        return list(self.call("SENTINEL", "REPLICAS", self.name))

    def primary_port(self) -> int:
        """Return the primary's port, according to the sentinel."""
        return int(self.call("SENTINEL", "GET-MASTER-ADDR-BY-NAME", self.name)[1])

    def await_failover(self, seconds: float = 30.0) -> int:
        """Wait until another server is primary; return its port."""
        before = self._primary.port
        until(lambda: self.primary_port() != before, "a failover", seconds)
        return self.primary_port()


class Cluster:
    """A cluster of primaries without replicas; one node with all slots is a cluster too."""

    def __init__(self, folder: str | os.PathLike[str], nodes: int = 3, *options: str) -> None:
        lines = ["cluster-enabled yes", "cluster-config-file nodes.conf"]
        lines += ["cluster-node-timeout 2000", "databases 1", *options]
        self.nodes = [
            RedisServer(os.path.join(os.fspath(folder), f"node{number}"), *lines)
            for number in range(nodes)
        ]
        self._open = ExitStack()

    @property
    def ports(self) -> list[int]:
        """The nodes' ports."""
        return [node.port for node in self.nodes]

    def start(self) -> Cluster:
        """Start the nodes, assign the slots, connect the nodes, and wait until all agree."""
        for number, node in enumerate(self.nodes):
            self._open.enter_context(node)
            node.call("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
            for some in _portions(number, len(self.nodes)):
                node.call("CLUSTER", "ADDSLOTS", *some)
            node.call("CLUSTER", "MEET", "127.0.0.1", self.nodes[0].port)
        for node in self.nodes:
            until(lambda node=node: self._agrees(node), "the cluster is whole")
        return self

    def _agrees(self, node: RedisServer) -> bool:
        info = node.call("CLUSTER", "INFO").split()
        return {"cluster_state:ok", f"cluster_known_nodes:{len(self.nodes)}"} <= set(info)

    def close(self) -> None:
        """Stop all nodes."""
        self._open.close()

    def __enter__(self) -> Cluster:
        """Start."""
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(self, *_: object) -> None:
        """Stop all nodes."""
        self.close()


def _portions(number: int, nodes: int) -> Iterator[list[int]]:
    """Yield the slots of one node in batches."""
    mine = range(number * SLOTS // nodes, (number + 1) * SLOTS // nodes)
    for at in range(0, len(mine), 1024):
        yield list(mine[at : at + 1024])
