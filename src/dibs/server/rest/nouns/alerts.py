"""Alerts."""

from __future__ import annotations

from typing import Any

from dibs.server.rest.routes import ApiRoute, Body, Call, Listing, NoBody, Text
from dibs.server.security.identity import TokenScope
from dibs.shapes import alerts as shapes


class AlertListing(Listing, frozen=True):
    """Which alerts to list."""

    all: bool = False


class ReasonBody(Body, frozen=True):
    """Why an alert is acknowledged."""

    reason: Text = ""


def listing(call: Call, body: AlertListing) -> Any:
    """Return the open alerts, or all that are kept, newest first."""
    found = call.project.alerts.all(resolved=body.all)
    return call.page(
        body, "alerts", map(shapes.alert, found), lambda one: int(one["id"][1:]), newest_first=True
    )


def show(call: Call, _: NoBody) -> Any:
    """Return one alert."""
    return {"alert": shapes.alert(call.project.alerts.show(call.path["id"]))}


def acknowledge(call: Call, body: ReasonBody) -> Any:
    """Acknowledge an alert."""
    done = call.project.alerts.acknowledge(call.caller, [call.path["id"]], body.reason)
    return {"acknowledged": [shapes.alert(one) for one in done]}


def check(call: Call, _: NoBody) -> Any:
    """Run the rules now."""
    alerts = call.project.alerts
    return shapes.checked(alerts.check(), alerts.all())


ROUTES = (
    ApiRoute(
        "GET", "/alerts", "alerts.list", "List the open alerts, or all of the newest 100",
        "alerts:alert* next_cursor?", listing, AlertListing, scope=TokenScope.READ,
    ),
    ApiRoute(
        "GET", "/alerts/{id}", "alerts.show", "Show an alert", "alerts show", show, scope=TokenScope.READ,
    ),
    ApiRoute(
        "POST", "/alerts/{id}/ack", "alerts.acknowledge", "Acknowledge an alert",
        "alerts ack", acknowledge, ReasonBody,
    ),
    ApiRoute(
        "POST", "/alerts/check", "alerts.check", "Run the rules of all alerts now",
        "alerts check", check,
    ),
)  # fmt: skip
