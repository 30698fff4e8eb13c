"""Messages and groups as JSON."""

from __future__ import annotations

from dibs.core.claims.agents import HUMAN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dibs.core.talk.mail import Message
    from dibs.core.talk.recipients import Group
    from dibs.services.talk.groups import GroupView
    from dibs.services.talk.mail import Letter

    Shape = dict[str, Any]


def message(value: Message) -> Shape:
    """Shape a message; ``human`` is whether a human sent it."""
    return {
        "id": value.id, "at": value.at, "sender": value.sender or None, "role": value.role,
        "human": value.role == HUMAN, "kind": value.kind, "text": value.text, "to": value.to,
        "boxes": list(value.boxes), "reply_to": value.reply_to or None, "data": value.data,
    }  # fmt: skip


def letter(value: Letter) -> Shape:
    """Shape a message in an inbox."""
    return {
        **message(value.message), "read": value.read or None,
        "briefed": value.briefed or None,
    }  # fmt: skip


def inbox(letters: Sequence[Letter], left: int) -> Shape:
    """Shape a page of messages, and how many more there are."""
    return {"messages": [letter(one) for one in letters], "left": left}


def groups(values: Sequence[Group]) -> Shape:
    """Shape a listing of groups."""
    return {"groups": [group(one) for one in values]}


def group(value: Group) -> Shape:
    """Shape a group."""
    return {
        "name": value.name, "members": list(value.members), "roles": list(value.roles),
        "by": value.by, "at": value.at,
    }  # fmt: skip


def shown(value: GroupView) -> Shape:
    """Shape a group with its recipients and messages."""
    said = [message(m) for m in value.messages]
    return {**group(value.group), "reaches": list(value.reaches), "messages": said}
