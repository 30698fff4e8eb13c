"""Putting mail into boxes, inside the transaction of what it tells of.

- ``mail/<id>``: a message
- ``box/<box>/<id>``: that it lies in a box; when it was read there, and acknowledged
- ``unread/<box>/<id>``: that the owner of the box has not been briefed of it

What Dibs itself says of claims is collected in the book of a step, and written once at its end: a hundred
claims that run out together are one message.
"""

from __future__ import annotations

from dibs.core.mail import HUMANS, NAMED, Message, wording
from dibs.services.book import encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.services.book import Book

MAIL, BOX, UNREAD = "mail/", "box/", "unread/"


def tell(
    book: Book, box: str, kind: str, patterns: tuple[str, ...], *, sender: str, **data: object
) -> None:
    """Let the owner of ``box`` know what became of claims; alike notices of one step become one."""
    extra = encode(data)
    book.notices.setdefault((box, kind, sender, extra), []).extend(patterns)


def write_notices(book: Book) -> None:
    """Write what was collected by ``tell``; the step has written an event, which numbers it."""
    from dibs.services.book import decode
    from dibs.services.presence import role_of

    collected, book.notices = book.notices, {}
    for place, ((box, kind, sender, extra), patterns) in enumerate(collected.items()):
        data = decode(extra)
        data["patterns"], data["count"] = patterns[:NAMED], len(patterns)
        number = message_id(book.newest, place)
        text = wording(kind, sender, patterns, data)
        role = role_of(book, sender) if sender else ""
        put(
            book,
            Message(number, book.now, sender, role, kind, text, box, (box,), number, data=data),
        )


def message_id(seq: int, place: int = 0) -> str:
    """Return the id of a message that came with the ledger entry ``seq``, the first or a later one."""
    return f"m{seq}.{place}" if place else f"m{seq}"


def row_of(message: str) -> str:
    """Return how rows name a message: so that their order is that of the messages."""
    seq, _, place = message.removeprefix("m").partition(".")
    return f"{int(seq):016d}.{int(place or 0):04d}"


def put(book: Book, message: Message) -> None:
    """Put a message into its boxes."""
    row = row_of(message.id)
    book.txn.put(f"{MAIL}{row}", encode(message._asdict()))
    for box in message.boxes:
        book.txn.put(f"{BOX}{box}/{row}", "{}")
        book.txn.put(f"{UNREAD}{box}/{row}", "{}")


def boxes_of(agent: str, *, human: bool) -> tuple[str, ...]:
    """Return the boxes that somebody reads."""
    return (agent, HUMANS) if human else (agent,)
