"""Messages and groups."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from dibs.server.rest.routes import (
    ApiRoute,
    Body,
    Call,
    Listing,
    Name,
    NoBody,
    SomeNames,
    Text,
)
from dibs.server.security.identity import TokenScope
from dibs.shapes import mail as shapes

Members = Annotated[list[Name], Meta(max_length=1_000, description="agents, `human`, or role:NAME")]


class MessageBody(Body, frozen=True):
    """A message: to someone, or a reply."""

    text: Text
    to: Annotated[Name, Meta(description="an agent, a group, a role, `all`, or `human`")] = ""
    reply_to: Annotated[Name, Meta(description="the message that this one answers")] = ""


def say(call: Call, body: MessageBody) -> Any:
    """Send a message."""
    message = call.project.mail.say(
        call.caller,
        body.to,
        body.text,
        reply_to=body.reply_to,
        request_id=call.request_id,
    )
    return shapes.message(message)


class InboxQuery(Listing, frozen=True):
    """Which messages to list; by default, the unread ones."""

    all: Annotated[bool, Meta(description="include messages that you have read")] = False
    sent: Annotated[bool, Meta(description="messages that you sent")] = False


def inbox(call: Call, body: InboxQuery) -> Any:
    """Return your messages, oldest first; this marks nothing as read."""
    found = call.project.mail.inbox(call.caller, everything=body.all, sent=body.sent)
    page = call.page(body, "letters", enumerate(found), lambda pair: _number(pair[1].message.id))
    letters = page.pop("letters")
    left = len(found) - letters[-1][0] - 1 if letters else 0
    return {**shapes.inbox([letter for _, letter in letters], left), **page}


def _number(id_: str) -> tuple[int, ...]:
    """Return the numbers of a message id; one that is sent with another has two: ``m41.1``."""
    return tuple(map(int, id_[1:].split(".")))


def show(call: Call, _: NoBody) -> Any:
    """Return one message that you sent or received; this does not mark it as read."""
    return shapes.inbox(call.project.mail.some(call.caller, [call.path["id"]]), 0)


class ReadBody(Body, frozen=True):
    """Which messages to read; by default, the oldest unread ones."""

    ids: Annotated[list[Name], Meta(max_length=1_000)] = []


def read(call: Call, body: ReadBody) -> Any:
    """Return unread messages, oldest first, and mark them as read."""
    mail = call.project.mail
    letters, left = mail.page(call.caller, body.ids)
    mail.read(call.caller, [letter.message.id for letter in letters if not letter.read])
    return shapes.inbox(letters, left)


def list_groups(call: Call, body: Listing) -> Any:
    """Return the groups by name."""
    groups = shapes.groups(call.project.groups.all())["groups"]
    return call.page(body, "groups", groups, lambda group: group["name"])


class GroupBody(Body, frozen=True):
    """A group."""

    name: Name
    members: Members = []


class MembersBody(Body, frozen=True):
    """Members of a group."""

    members: SomeNames


def new_group(call: Call, body: GroupBody) -> Any:
    """Create a group."""
    return shapes.group(call.project.groups.new(call.caller, body.name, body.members))


def show_group(call: Call, _: NoBody) -> Any:
    """Return a group's members, the agents it reaches now, and its last messages."""
    return shapes.shown(call.project.groups.show(call.path["name"]))


def add_members(call: Call, body: MembersBody) -> Any:
    """Add members to a group."""
    return shapes.group(call.project.groups.add(call.caller, call.path["name"], body.members))


def remove_members(call: Call, body: MembersBody) -> Any:
    """Remove members from a group."""
    return shapes.group(call.project.groups.remove(call.caller, call.path["name"], body.members))


def drop_group(call: Call, _: NoBody) -> Any:
    """Delete a group; messages sent to it stay in the inboxes."""
    return shapes.group(call.project.groups.drop(call.caller, call.path["name"]))


ROUTES = (
    ApiRoute(
        "POST", "/messages", "messages.send", "Send a message to an agent, role, group, or everyone",
        "say", say, MessageBody, statuses=(201,), keeps_ids=True,
    ),
    ApiRoute(
        "GET", "/messages", "messages.list", "List your unread messages, or all of them",
        "inbox", inbox, InboxQuery, scope=TokenScope.READ,
    ),
    ApiRoute(
        "GET", "/messages/{id}", "messages.show", "Show one of your messages",
        "inbox", show, scope=TokenScope.READ,
    ),
    ApiRoute(
        "POST", "/messages/read", "messages.read", "Read your messages, and mark them as read",
        "inbox", read, ReadBody,
    ),
    ApiRoute(
        "GET", "/groups", "groups.list", "List groups",
        "group ls", list_groups, Listing, scope=TokenScope.READ,
    ),
    ApiRoute(
        "POST", "/groups", "groups.create", "Create a group",
        "group new", new_group, GroupBody, statuses=(201,),
    ),
    ApiRoute(
        "GET", "/groups/{name}", "groups.show", "Show a group's members and recent messages",
        "group show", show_group, scope=TokenScope.READ,
    ),
    ApiRoute("DELETE", "/groups/{name}", "groups.drop", "Delete a group", "group drop", drop_group),
    ApiRoute(
        "POST", "/groups/{name}/add", "groups.add", "Add members to a group",
        "group add", add_members, MembersBody,
    ),
    ApiRoute(
        "POST", "/groups/{name}/remove", "groups.remove", "Remove members from a group",
        "group rm", remove_members, MembersBody,
    ),
)  # fmt: skip
