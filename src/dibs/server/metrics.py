"""What Prometheus reads: how requests were answered, and the state of each project when it asks."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily

from dibs.core.alerts.kinds import ALERT_KINDS
from dibs.errors import DibsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from prometheus_client import Metric

    from dibs.server.projects import Projects

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
#: Upper limits, in seconds, of the latency classes.
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0)


class Metrics:
    """Counts requests; labels have few values: routes, statuses, and projects of this server."""

    def __init__(self, projects: Projects) -> None:
        self._projects = projects
        #: The number of clients of the event streams.
        self.clients: Callable[[], int] = lambda: 0
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "dibs_requests", "Requests by route and status", ["route", "status"],
            registry=self._registry,
        )  # fmt: skip
        self._latency = Histogram(
            "dibs_request_seconds", "Seconds until the answer, by route", ["route"],
            buckets=_BUCKETS, registry=self._registry,
        )  # fmt: skip
        self._registry.register(self)
        self._known: dict[tuple[str, int], tuple[Counter, Histogram]] = {}

    def seen(self, route: str, status: int, seconds: float) -> None:
        """Count one answer."""
        found = self._known.get((route, status))
        if found is None:
            found = self._requests.labels(route, str(status)), self._latency.labels(route)
            self._known[route, status] = found
        found[0].inc()
        found[1].observe(seconds)

    def text(self) -> bytes:
        """Return all metrics; called in a thread."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """Yield the state of the projects now; one whose engine does not answer is only down."""
        labels = ["project"]
        families = {
            name: GaugeMetricFamily(f"dibs_{name}", text, labels=labels)
            for name, text in {
                "engine_up": "Whether the engine answers",
                "claims": "Live claims",
                "waiters": "Agents and people in the queue",
                "agents": "Agents and people that have not ended",
                "events": "The number of the newest ledger entry",
                "decisions_pending": "Decisions that wait for an answer",
            }.items()
        }
        alerts = GaugeMetricFamily("dibs_alerts", "Open alerts by kind", labels=["project", "kind"])
        for served in self._projects.all():
            key = [served.id]
            families["engine_up"].add_metric(key, 0.0)
            with suppress(DibsError, OSError):
                project = served.project()
                seen = project.overview()
                newest = project.engine.wait(0, 0)
                kinds = [alert.kind for alert in project.alerts.all()]
                families["engine_up"].samples.pop()
                counts = {
                    "engine_up": 1, "claims": len(seen.claims), "waiters": len(seen.queue),
                    "agents": len(seen.agents), "events": newest,
                    "decisions_pending": len(seen.undecided),
                }  # fmt: skip
                for name, count in counts.items():
                    families[name].add_metric(key, count)
                for kind in ALERT_KINDS:
                    alerts.add_metric([served.id, kind], kinds.count(kind))
        clients = GaugeMetricFamily("dibs_stream_clients", "Clients of the event streams")
        clients.add_metric([], self.clients())
        yield from (*families.values(), alerts, clients)
