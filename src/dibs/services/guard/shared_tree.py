"""Find the agents that depend on a working tree's branch, and tell them when its history changes."""

from __future__ import annotations

from dibs.core.claims.ledger import Kind
from dibs.core.claims.shared_tree import HEAD, HeldHere
from dibs.core.patterns.overlap import overlap
from dibs.core.talk.mail import MailKind
from dibs.core.text.names import few
from dibs.local.repository import checked_out
from dibs.services.state.mailbox import tell
from dibs.services.state.own_claims import claims_of
from dibs.services.state.presence import arrive
from dibs.services.state.sessions import session_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.core.claims.agents import Caller
    from dibs.core.claims.history import LandedCommit
    from dibs.core.claims.rules import Claim
    from dibs.services.state.rows import Rows

#: The deepest nesting of subagents.
_DEEPEST = 16
#: How many commits the ledger names.
_TOLD = 20


def others_in(rows: Rows, agent: str, tree: str) -> list[HeldHere]:
    """Return the live claims of other agents in a working tree: on files, and on ``@git/HEAD``."""
    found = []
    for _, claim in rows.claims():
        pattern = rows.pattern(claim.pattern)
        matters = not pattern.scheme or overlap(rows.pattern(HEAD), pattern) is not None
        if not matters or not is_in(rows, claim, tree) or are_related(rows, claim.agent, agent):
            continue
        left = rows.deadline(claim) - rows.now
        if left > 0:
            running = rows.is_while_running(claim)
            found.append(
                HeldHere(claim.agent, claim.pattern, claim.reason, claim.task, left, running)
            )
    return found


def is_in(rows: Rows, claim: Claim, tree: str) -> bool:
    """Return whether a claim's agent works in a working tree, or nobody knows in which one."""
    here = rows.tree_name(tree)
    if claim.tree == here:
        return True
    found = session_of(rows, claim.agent)
    other_clone = claim.tree and not claim.tree.startswith(here.removesuffix(tree))
    if found is None or other_clone:
        return not claim.tree
    return found[1].works_in(tree)


def are_related(rows: Rows, one: str, other: str) -> bool:
    """Return whether two ids are the same agent, or belong to one agent and its subagents."""
    return one == other or _first(rows, one) == _first(rows, other)


def _first(rows: Rows, agent: str) -> str:
    """Return the agent at the top of a chain of subagents."""
    for _ in range(_DEEPEST):
        known = rows.agent(agent)
        if known is None or not known.parent:
            break
        agent = known.parent
    return agent


def forget_branch(rows: Rows, agent: str, tree: str) -> None:
    """Forget on which branch an agent claimed files in a working tree: it is about to move HEAD itself."""
    _put_branch(rows, agent, tree, "")


def note_branch(rows: Rows, agent: str) -> None:
    """Record the branch for the claims of an agent that has moved HEAD itself."""
    _put_branch(rows, agent, rows.tree, checked_out(rows.tree))


def _put_branch(rows: Rows, agent: str, tree: str, branch: str) -> None:
    name = rows.tree_name(tree)
    for _, claim in claims_of(rows, agent):
        if claim.tree == name and bool(claim.branch) != bool(branch):
            rows.put_claim(claim._replace(branch=branch), rows.pattern(claim.pattern))


def tell_moved(rows: Rows, caller: Caller, tree: str) -> None:
    """Record that HEAD moved in a working tree: for the mover's own claims, and for the others there."""
    branch, here = checked_out(tree), rows.tree_name(tree)
    for _, claim in claims_of(rows, caller.id):
        if claim.tree == here and claim.branch != branch:
            rows.put_claim(claim._replace(branch=branch), rows.pattern(claim.pattern))
    others = sorted({held.holder for held in others_in(rows, caller.id, tree)})
    if not others:
        return
    _meet(rows, caller)
    name = branch.removeprefix("refs/heads/")
    rows.emit(
        caller.id, caller.role, Kind.HEAD_MOVED,
        f"{caller.id} checked out {name} where {few(others)} {'works' if len(others) == 1 else 'work'}",
        tree=here, branch=branch, holders=others,
    )  # fmt: skip
    for agent in others:
        claimed = {claim.branch for _, claim in claims_of(rows, agent) if claim.tree == here}
        told = "returned" if branch in claimed else "checkout"
        tell(
            rows, agent, MailKind.FOREIGN_WRITE, (name,),
            sender=caller.id, told=told, sure=True, other=tree,
        )  # fmt: skip


def _meet(rows: Rows, caller: Caller) -> None:
    """Register a person whom Dibs may never have seen, so that messages name a human and not an agent."""
    if caller.human:
        arrive(rows, caller)


def tell_removed(
    rows: Rows, caller: Caller, ref: str, commits: Sequence[LandedCommit], *, saved: str = ""
) -> None:
    """Record that landed commits were or would have been removed; tell their agents if they were.

    ``saved`` has commits that an agent has removed; without it, the agent was refused.
    """
    branch = ref.removeprefix("refs/heads/")
    names = [commit.oid for commit in commits[:_TOLD]]
    what = few([f"{commit.oid[:10]} by {commit.agent}" for commit in commits])
    if not (caller.human or saved):
        rows.emit(
            caller.id, caller.role, Kind.COMMIT_REFUSED,
            f"Dibs refused a branch update: it would remove {what} from {branch}",
            commits=names, ref=ref,
        )  # fmt: skip
        return
    _meet(rows, caller)
    rows.emit(
        caller.id, caller.role, Kind.HISTORY_REWRITTEN, f"{caller.id} removed {what} from {branch}",
        commits=names, ref=ref, **({"salvage": saved} if saved else {}),
    )  # fmt: skip
    why = f"it is still in {saved}" if saved else ""
    for commit in commits[:_TOLD]:
        if commit.agent != caller.id:
            tell(
                rows, commit.agent, MailKind.FOREIGN_WRITE, (f"commit {commit.oid[:10]}",),
                sender=caller.id, told="removed", sure=True, other=branch, reason=why,
            )  # fmt: skip
    if saved:
        tell(
            rows, caller.id, MailKind.FOREIGN_WRITE, tuple(f"commit {name[:10]}" for name in names),
            sender=commits[0].agent, told="remover", sure=True, other=branch, reason=why,
        )  # fmt: skip
