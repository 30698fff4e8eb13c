"""When a waiter sends a release request, and the replies; short because the rules are in the services."""

from __future__ import annotations

from dibs.startup.records import TextEnum

#: After how many seconds a waiting command sends the owner a release request.
ASK_AFTER = 120.0
#: The limits of a promise, in seconds.
PROMISE_MIN, PROMISE_MAX = 1.0, 86_400.0
#: Claims that Dibs itself takes and releases; asking for one is pointless.
TURNS = ("@merge/", "@tasks/")


class Reply(metaclass=TextEnum):
    """An owner's reply to a release request."""

    YES = "yes"
    LATER = "later"
    NO = "no"


#: Sent instead of a reply when a promise was not kept.
BROKEN = "broken"
