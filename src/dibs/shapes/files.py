"""Files as JSON."""

from __future__ import annotations

from dibs.shapes import claims

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.core.changes.file_tree import FileNode
    from dibs.services.files.service import FileDetails, FileListing

    Shape = dict[str, Any]

#: The answers, as lines of the contract.
LISTING = "folder:path seq:int total:file_node nodes:file_node* more:int"
DETAILS = (
    "file:file_node seq:int tracked:bool change? holders:held_claim* queue:queued_ticket*"
    " forecast:forecast_agents* log:entry*"
)


def node(value: FileNode) -> Shape:
    """Shape a file, or a folder with its counts."""
    return {
        "path": value.path, "name": value.path.rpartition("/")[2], "folder": value.folder,
        "files": value.files, "bytes": value.bytes,
        "owners": [{"agent": agent, "files": count} for agent, count in value.owners],
        "claims": value.claims, "waiting": value.waiting, "contention": value.contention,
        "conflicts": value.conflicts, "changed": value.changed, "missing": value.missing,
    }  # fmt: skip


def listing(value: FileListing) -> Shape:
    """Shape a folder, or the files that a search found."""
    return {
        "folder": value.folder, "seq": value.seq, "total": node(value.total),
        "nodes": [node(one) for one in value.nodes], "more": value.more,
    }  # fmt: skip


def details(value: FileDetails) -> Shape:
    """Shape one file."""
    return {
        "file": node(value.node), "seq": value.seq, "tracked": value.tracked,
        "change": value.change or None,
        "holders": [claims.held(one) for one in value.holders],
        "queue": [claims.queued(one) for one in value.queue],
        "forecast": [{"agents": list(one.agents)} for one in value.conflicts],
        "log": [claims.entry(one) for one in value.entries],
    }  # fmt: skip
