"""The program behind the hooks of coding agents: hear what a tool is about to do, and answer in time.

A hook that fails lets the tool run in most agents. So whatever goes wrong here ends in an answer: refused by
default, passed where ``guard.on_error`` says so, and nothing but a line where there is nothing to refuse.
"""

from __future__ import annotations

import os

from dibs.core.toolcalls.values import PASSED, EventKind, HookReply, Word
from dibs.errors import DibsError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from dibs.core.toolcalls.values import HookEvent, Verdict
    from dibs.guard.agents.deadline import Deadline
    from dibs.guard.dialects.base import Dialect
    from dibs.project.engines import Location
    from dibs.project.project import Lender, Project

    Answer = tuple[HookReply, Callable[[], None] | None]

#: More than this on standard input is no call of a tool.
INPUT_MAX = 10 * 1024 * 1024
_CHUNK = 1 << 16
#: How long it takes to read the call and the settings, which say how long the rest takes.
DEADLINE = 4.0
#: The engine gives up after this part of the hook's time, so that there is some left to say so.
PATIENCE = 0.75
LATE = "nothing was found out in time"
#: A refusal has this word in every dialect of JSON, and in no text: there its quotes are escaped.
DENIES = '"deny"'
FAILED = "dibs: refused, because it cannot be checked: {}"
ALLOWED = "dibs: passed, though it cannot be checked: {}"
#: What the settings of the last call's project want besides an answer.
wishes = {"daemon": False}


def attend(words: Sequence[str], given: bytes | None = None) -> int:
    """Read what the agent says, answer it, and return the exit status: 0 or 2, never another.

    ``given`` is what the agent said, where it is read already.
    """
    from dibs.guard.agents.deadline import Deadline, Late

    try:
        with Deadline(DEADLINE) as deadline:
            given = read(0) if given is None else given
            said, confirm = answer(words, given, os.environ, _here(), os.getpid(), deadline)
    except Late:
        said, confirm = _unheard(words, os.environ, _here(), LATE), None
    if not write(said):
        return 2 if DENIES in said.stdout else said.status
    if confirm is not None:
        confirm()
    return said.status


def read(handle: int) -> bytes:
    """Read all that is given, but keep no more than one byte above the bound."""
    parts: list[bytes] = []
    size = 0
    while True:
        part = os.read(handle, _CHUNK)
        if not part:
            return b"".join(parts)
        if size <= INPUT_MAX:
            parts.append(part)
        size += len(part)


def write(said: HookReply) -> bool:
    """Write an answer out; tell whether all of it went to whoever reads it."""
    written = _written(1, said.stdout)
    return _written(2, said.stderr) and written


def _written(handle: int, text: str) -> bool:
    rest = f"{text}\n".encode("utf-8", "replace") if text else b""
    try:
        while rest:
            rest = rest[os.write(handle, rest) :]
    except OSError:
        return False
    return True


def answer(
    words: Sequence[str],
    given: bytes,
    environ: Mapping[str, str],
    cwd: str,
    process: int,
    deadline: Deadline | None = None,
    lender: Lender | None = None,
) -> Answer:
    """Answer one call of a hook; never raises.

    ``words`` are the agent's name and maybe the event's. The second value confirms what was told: whoever
    wrote the answer out calls it then, so that a message which was never seen is told again. A ``lender`` has
    engines that stay open; without one they are opened for this call.
    """
    from dibs.guard.agents.deadline import Late

    dialect = heard = None
    try:
        event = words[1] if len(words) > 1 else ""
        dialect, heard = _hear(words[0] if words else "", _payload(given), event, environ)
        heard = heard._replace(cwd=_folder(heard.cwd) or cwd)
        verdict, confirm = _judged(heard, environ, cwd, process, deadline, lender)
        return dialect.answer(verdict, heard), confirm
    except Late:
        why = LATE
    except Exception as error:  # noqa: BLE001 - the top of a surface: a hook that fails guards nothing
        why = _said_of(error)
    if deadline is not None:
        deadline.off()
    if dialect is None or heard is None:
        return _unheard(words, environ, cwd, why), None
    return _failed(dialect, heard, environ, cwd, why), None


def _payload(given: bytes) -> dict[str, Any]:
    from dibs.guard.dialects.tools import bad
    from dibs.startup.quickjson import loads

    if len(given) > INPUT_MAX:
        raise bad(f"the call is larger than {INPUT_MAX // 1024 // 1024} MiB")
    try:
        payload = loads(given)
    except ValueError:
        what = "is no JSON" if given.strip() else "is empty"
        raise bad(f"what the agent sent {what}") from None
    if not isinstance(payload, dict):
        raise bad("what the agent sent is no object")
    return payload


def _hear(
    named: str, payload: dict[str, Any], event: str, environ: Mapping[str, str]
) -> tuple[Dialect, HookEvent]:
    from dibs.guard.dialects import NAMES, dialect
    from dibs.guard.dialects.speaker import speaker

    spoken = dialect(speaker(named if named in NAMES else "claude", payload, environ))
    heard = spoken.parse(payload, event)
    return spoken, heard._replace(listens=spoken.can_tell(heard))


def _folder(told: str) -> str:
    """Return where an agent says that it stands; what cannot be a folder's name counts as not told."""
    try:
        return "" if b"\0" in os.fsencode(told) else told
    except UnicodeEncodeError:
        return ""


def _judged(
    heard: HookEvent,
    environ: Mapping[str, str],
    cwd: str,
    process: int,
    deadline: Deadline | None,
    lender: Lender | None,
) -> tuple[Verdict, Callable[[], None] | None]:
    """Ask each project that the call is about; outside of any there is nothing to say."""
    from dibs.guard.agents.projects import base_project, split_by_project

    base = base_project({heard.cwd: None, cwd: None}, environ)
    if deadline is not None and base is not None:
        deadline.set(base.loaded.config.guard_deadline)
    wishes["daemon"] = base is not None and base.loaded.config.guard_daemon
    verdict, confirm = PASSED, None
    for place, share in reversed(split_by_project(heard, base, environ)):
        refused = verdict.word == Word.DENY
        # A refusal has no room for news, which would count as told then.
        part = share._replace(listens=False) if refused else share
        said, confirm = _asked(place, part, environ, process, deadline, lender)
        verdict = _both(verdict, said) if refused else said
    return verdict, confirm


def _both(first: Verdict, second: Verdict) -> Verdict:
    """Return a refusal with what else there is to say."""
    if second.word != Word.DENY:
        return first
    return first._replace(text=f"{first.text}\n{second.text}", note=first.note or second.note)


def _asked(
    place: Location,
    heard: HookEvent,
    environ: Mapping[str, str],
    process: int,
    deadline: Deadline | None,
    lender: Lender | None,
) -> tuple[Verdict, Callable[[], None] | None]:
    from dibs.project.project import open_at

    wait = place.loaded.config.guard_deadline * PATIENCE
    project = open_at(place.with_timeout(wait, "guard.deadline"), lender)
    confirm = None
    try:
        guarding = project.guarding
        if deadline is not None:
            guarding.waits = deadline.more
        verdict = _sound(guarding.hear(heard, process, environ, tells=heard.listens))
        confirm = _confirmation(project, verdict) if verdict.delivery else None
    finally:
        if confirm is None:
            project.close()
    return verdict, confirm


def _confirmation(project: Project, verdict: Verdict) -> Callable[[], None]:
    def confirm() -> None:
        from dibs.core.claims.agents import Caller

        try:
            project.briefings.delivered(Caller(verdict.reader, "agent"), verdict.delivery)
        except (DibsError, OSError):
            return  # it is told again then
        finally:
            project.close()

    return confirm


def _sound(verdict: Verdict) -> Verdict:
    """Return a verdict without halves of characters, which strict readers of JSON refuse."""
    parts = (verdict.text, verdict.note)
    text, note = (part.encode("utf-8", "replace").decode() for part in parts)
    return verdict._replace(text=text, note=note)


def _failed(
    dialect: Dialect, heard: HookEvent, environ: Mapping[str, str], cwd: str, why: str
) -> HookReply:
    """Say that nobody could be asked, as the settings want it."""
    if heard.moment == EventKind.BEFORE and not heard.touches and not heard.command:
        return dialect.answer(PASSED, heard)  # nothing that could be anybody's
    if _on_error({heard.cwd: None, cwd: None}, environ) == "allow":
        return dialect.answer(PASSED, heard)._replace(stderr=ALLOWED.format(why))
    if heard.moment != EventKind.BEFORE:  # nothing waits to be refused
        return dialect.failed(ALLOWED.format(why), heard)
    return dialect.failed(FAILED.format(why), heard)


def _unheard(words: Sequence[str], environ: Mapping[str, str], cwd: str, why: str) -> HookReply:
    """Answer a call that nobody understood; where there is no project, it is none of our business."""
    from dibs.guard.dialects import NAMES, dialect

    name = words[0] if words and words[0] in NAMES else "claude"
    wanted = _on_error({cwd: None}, environ)
    if wanted == "allow":
        return HookReply(stderr=ALLOWED.format(why))
    return dialect(name).failed(FAILED.format(why), None) if wanted else HookReply()


def _on_error(starts: dict[str, None], environ: Mapping[str, str]) -> str:
    """Return what the settings want; nothing without a project.

    Where even settings cannot be read, only the environment counts.
    """
    try:
        from dibs.guard.agents.projects import base_project

        place = base_project(starts, environ)
    except (DibsError, OSError, ImportError):
        return environ.get("DIBS_GUARD_ON_ERROR") or "deny"
    return place.loaded.config.guard_on_error if place is not None else ""


def _said_of(error: Exception) -> str:
    """Return an error in one line for whoever reads standard error, a human or a model."""
    if isinstance(error, DibsError):
        hint = f"; {error.hint}" if error.hint else ""
        return _plain(f"{error.message.rstrip('.')}{hint}")
    if isinstance(error, OSError):
        return _plain(error.strerror or str(error))
    return _plain(f"{type(error).__name__}: {error}")


def _plain(text: str) -> str:
    from dibs.core.text.names import printable

    return printable(" ".join(text.split()))[:400]


def _here() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""
