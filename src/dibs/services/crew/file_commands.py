"""The text commands about files: lock, unlock, and commit them."""

from __future__ import annotations

from dibs.core.briefing.activity import listed
from dibs.core.claims.rules import MAX_TEXT, Granted
from dibs.core.text.durations import show_span
from dibs.core.text.untrusted import UntrustedText, clean, path, word
from dibs.errors import BadInput
from dibs.services.commits.scope import names_and_patterns
from dibs.services.commits.values import CommitDenied, CommitRequest
from dibs.services.crew.command_replies import NEXT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.core.claims.coverage import Blocked
    from dibs.core.claims.rules import Outcome
    from dibs.core.patterns.pattern import Pattern
    from dibs.core.text.untrusted import Part
    from dibs.services.crew.command_call import CommandCall, Handler, Lines

#: How many files a line names.
_FILES = 10


def _file(call: CommandCall) -> Pattern:
    """Return the path or glob that a lock is about; tasks are not locked by hand."""
    pattern = call.services.tree.resolve(call.text("filePath"))
    if pattern.scheme == "task":
        raise BadInput("LOCK_FILE is for files, not for tasks", field="filePath")
    return pattern


def _lock_file(call: CommandCall) -> Lines:
    outcome = call.services.claims.claim(
        call.caller, [_file(call)], reason=call.text("reason"), shows_left=True
    )
    if not isinstance(outcome, Granted):
        return _lock_denied(outcome)
    lines: Lines = [("Lock acquired ✓",)]
    for left in outcome.left[:_FILES]:
        age = show_span(max(1, round(left.age)))
        file = path(left.path, left.agent)
        lines.append(("Warning: ", file, f" has uncommitted changes of {left.agent}, {age} old"))
    return lines


def _lock_denied(outcome: Outcome) -> Lines:
    assert not isinstance(outcome, Granted)
    first = min(outcome.conflicts, key=lambda conflict: conflict.expires_in, default=None)
    if first is None:
        by = getattr(outcome, "by", "") or "a human"
        return [("Lock denied — refused by ", word(by, "dibs")), _elsewhere("")]
    left = f"expires in {show_span(max(1, round(first.expires_in)))}"
    if first.while_running:
        left = "does not expire while its process runs"
    how = "waited for" if first.ticket else "held"
    why: tuple[Part, ...] = ()
    if first.reason:
        why = (", reason: ", UntrustedText(first.reason, first.holder))
    about = (f"{first.holder} holds ", path(first.held, first.holder), *why)
    lines: Lines = [(f"Lock denied — {how} by {first.holder} ({left})",)]
    return [*lines, *([] if first.ticket else [about]), _elsewhere(first.holder)]


def _elsewhere(holder: str) -> tuple[Part, ...]:
    ask = ', or ask its owner with DIBS {"tool": "ask", "paths": ["PATH"]}' if holder else ""
    return (f"Do not edit it. Work on something else and print LOCK_FILE again later{ask}",)


def _unlock_file(call: CommandCall) -> Lines:
    services = call.services
    released = services.holdings.release(call.caller, [_file(call)])
    left = [one.path for one in services.holdings.left(call.caller.id, released)]
    lines: Lines = [("Lock released ✓",)]
    if left:
        again = "to commit them, lock them again"
        lines.append(("Warning: released with uncommitted changes: ", *_files(left), f" ({again})"))
    return lines


def _files(paths: Iterable[str], origin: str = "files") -> list[Part]:
    return listed(list(paths), origin, most=_FILES)


def _commit(call: CommandCall) -> Lines:
    tree = call.services.tree
    names, texts = names_and_patterns(tree.repository, call.texts("files"))
    patterns = tuple(tree.resolve(text) for text in texts)
    request = CommitRequest(
        call.text("message"), patterns, tuple(names), inherited=bool(call.fields.get("inherited"))
    )
    made = call.services.commits.commit(call.caller, request)
    if isinstance(made, CommitDenied):
        reason = UntrustedText(made.reason, "files", MAX_TEXT)
        versions = [line for item in made.blocked for line in _versions(item)]
        return [("COMMIT refused: ", reason, f" — {NEXT[made.code]}"), *versions]
    subject = clean(call.text("message").strip().partition("\n")[0])
    lines: Lines = [(f"COMMIT succeeded: {made.commit[:7]} {subject}",)]
    missing = [*dict.fromkeys((*made.unchanged, *made.ignored))]
    if missing:
        expected = f"Warning: {len(missing)} expected file(s) not found in commit: "
        lines.append((expected, *_files(missing)))
    if made.nobody:
        loose = _files(file.path for file in made.nobody)
        lines.append(("Warning: not committed, because nobody has locked them: ", *loose))
    for one in made.included:
        whose = one.agent or "a person"
        lines.append((f"Warning: it includes uncommitted lines of {whose}: ", *_files([one.path])))
    if made.late:
        lines.append(("Warning: a lock expired during the commit: review it",))
    return lines


def _versions(item: Blocked) -> Lines:
    """Return the lines of the other version of a path, and the agent's own."""
    lines: Lines = []
    if item.landed:
        theirs = UntrustedText("\n".join(item.landed), item.holder or "files", MAX_TEXT)
        lines.append((f"{item.holder or 'committed'}: ", theirs))
    if item.yours:
        lines.append(("yours: ", UntrustedText("\n".join(item.yours), "files", MAX_TEXT)))
    return lines


HANDLERS: dict[str, Handler] = {
    "LOCK_FILE": _lock_file,
    "UNLOCK_FILE": _unlock_file,
    "COMMIT": _commit,
}
