"""The program behind agents' hooks: read a tool call and answer it in time.

Most agents let the tool run if a hook fails. So every failure here ends in an answer: denied by default,
allowed if ``guard.on_error`` says so, and only a line of text if there is nothing to deny.
"""

from __future__ import annotations

import os

from dibs.core.toolcalls.values import PASSED, EventKind, HookReply, Watch, Word
from dibs.errors import DibsError, Unavailable, Unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from dibs.core.toolcalls.values import HookEvent, Verdict
    from dibs.guard.agents.deadline import Deadline
    from dibs.guard.dialects.base import Dialect
    from dibs.local.processes import RunningProcess
    from dibs.project.location import Location
    from dibs.project.project import Lender, Project

    Answer = tuple[HookReply, Callable[[], None] | None]

#: The largest tool call that is accepted.
INPUT_MAX = 10 * 1024 * 1024
_CHUNK = 1 << 16
#: Time limit for reading the call and the settings, which then set the limit for the rest.
DEADLINE = 4.0
#: The engine's share of the hook's time limit, so that some is left to report a timeout.
PATIENCE = 0.75
LATE = "timed out"
#: The longest reason, in characters; it may contain two paths and two URLs.
_WHY_MAX = 1000
#: In every dialect, the JSON of a denial contains this; inside a string the quotes would be escaped.
DENIES = '"deny"'
#: Printed if the answer itself cannot be printed.
UNPRINTED = "dibs: blocked: the reason could not be printed on standard output; run: dibs status"
FAILED = "dibs: blocked because the claim check failed: {}"
#: The command in the agent's settings then says which hooks to delete.
BROKEN = "dibs: blocked because Dibs is damaged in {}: {}; reinstall it and run dibs init"
ALLOWED = "dibs: allowed although the claim check failed: {}"
#: Whether the settings of the last call's project ask for a server.
wishes = {"server": False}


def attend(words: Sequence[str], given: bytes | None = None) -> int:
    """Read a call, answer it, and return the exit status: 0 or 2, or 1 if Dibs is damaged.

    ``given`` is the call, if it was already read.
    """
    from dibs.guard.agents.deadline import Deadline, Late

    process = _agent(words)
    try:
        with Deadline(DEADLINE) as deadline:
            given = read(0) if given is None else given
            said, confirm = answer(words, given, os.environ, _here(), process, deadline)
    except Late:
        said, confirm = _unheard(words, os.environ, _here(), LATE), None
    if not write(said):
        denies = DENIES in said.stdout
        if denies and not said.stderr:  # some agents allow a call whose hook fails without a line
            _written(2, UNPRINTED)
        return 2 if denies else said.status
    if confirm is not None:
        confirm()
    return said.status


def _agent(words: Sequence[str]) -> int | RunningProcess:
    """Return the agent's process, before it can die unnoticed; the hook's own number if it is not found."""
    from dibs.local.processes import agent_above, own_pid

    hook = own_pid()
    told = os.environ.get("CLAUDE_PID", "") if words[:1] == ["claude"] else ""
    return agent_above(hook, told) or hook


def read(handle: int) -> bytes:
    """Read everything, but keep only slightly more than the limit."""
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
    """Print an answer; return whether all of it was written."""
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
    process: int | RunningProcess,
    deadline: Deadline | None = None,
    lender: Lender | None = None,
) -> Answer:
    """Answer one hook call; never raises.

    ``words`` are the agent's name and optionally the event's. The caller prints the answer and then calls
    the second value, which confirms the briefing in it; an unconfirmed briefing is repeated. A ``lender``
    provides open engines; without one, they are opened for this call.
    """
    from dibs.guard.agents.deadline import Late

    dialect = heard = record = None
    wrong_store = False
    try:
        event = words[1] if len(words) > 1 else ""
        _refuse_unknown(words, given)
        dialect, heard = _hear(words[0] if words else "", _payload(given), event, environ)
        heard = heard._replace(cwd=_folder(heard.cwd) or cwd)
        verdict, confirm = _judged(heard, environ, cwd, process, deadline, lender)
        return dialect.answer(verdict, heard), confirm
    except Late:
        why = LATE
    except ImportError as error:
        package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        return HookReply(stderr=BROKEN.format(package, error), status=1), None
    except Exception as error:  # noqa: BLE001 - the top of a surface: a hook that fails guards nothing
        why = _said_of(error)
        wrong_store = isinstance(error, DibsError) and error.code == "ENGINE_MISMATCH"
        record = _record_later(error, why, (heard.cwd if heard else "", cwd), environ)
    if deadline is not None:
        deadline.off()
    if dialect is None or heard is None:
        return _unheard(words, environ, cwd, why), record
    # The store that these settings select could allow anything: on_error is about one that is unreachable.
    allowed = not wrong_store and _on_error({heard.cwd: None, cwd: None}, environ) == "allow"
    return _failed(dialect, heard, why, allowed=allowed), record


def _record_later(
    error: Exception, why: str, starts: Sequence[str], environ: Mapping[str, str]
) -> Callable[[], None] | None:
    """Return what records a failed hook in the ledger after the answer; None if the store is unreachable."""
    if isinstance(error, Unavailable | Unknown):
        return None
    from dibs.guard.agents.failures import record_failed_hook

    return lambda: record_failed_hook(error, why, starts, environ)


def _refuse_unknown(words: Sequence[str], given: bytes) -> None:
    """Refuse an unknown agent's name that a person typed; an agent's own call says which agent it is."""
    from dibs.guard.dialects import NAMES
    from dibs.guard.dialects.tools import bad

    if words and words[0] not in NAMES and not given.strip():
        raise bad(f"unknown agent {words[0]!r}; the agents are: {', '.join(NAMES)}")


def _payload(given: bytes) -> dict[str, Any]:
    from dibs.guard.dialects.tools import bad
    from dibs.startup.quickjson import loads

    if len(given) > INPUT_MAX:
        raise bad(f"the agent's call is larger than {INPUT_MAX // 1024 // 1024} MiB")
    try:
        payload = loads(given)
    except ValueError:
        what = "not valid JSON" if given.strip() else "empty"
        raise bad(f"the agent's call is {what}") from None
    if not isinstance(payload, dict):
        raise bad("the agent's call is not a JSON object")
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
    """Return the agent's current folder, or nothing if it is not a possible path."""
    try:
        return "" if b"\0" in os.fsencode(told) else told
    except UnicodeEncodeError:
        return ""


def _judged(
    heard: HookEvent,
    environ: Mapping[str, str],
    cwd: str,
    process: int | RunningProcess,
    deadline: Deadline | None,
    lender: Lender | None,
) -> tuple[Verdict, Callable[[], None] | None]:
    """Ask each project that the call touches; outside of any project the call passes."""
    from dibs.guard.agents.projects import base_project, split_by_project

    # After a call there is nothing to block, and it may be what made the settings invalid.
    lenient = heard.moment == EventKind.AFTER
    base = base_project({heard.cwd: None, cwd: None}, environ, lenient=lenient)
    if deadline is not None and base is not None:
        deadline.set(base.loaded.config.guard_deadline)
    if base is not None:
        config = base.loaded.config
        wishes["server"] = config.server_auto
    verdict, confirm = PASSED, None
    for place, share in reversed(split_by_project(heard, base, environ)):
        refused = verdict.word == Word.DENY
        # A denial cannot carry news, which would then count as delivered.
        part = share._replace(listens=False) if refused else share
        said, confirm = _asked(place, part, environ, process, deadline, lender)
        verdict = _both(verdict, said) if refused else said
    return verdict, confirm


def _both(first: Verdict, second: Verdict) -> Verdict:
    """Combine a denial with a second verdict."""
    if second.word != Word.DENY:
        return first
    return first._replace(text=f"{first.text}\n{second.text}", note=first.note or second.note)


def _asked(
    place: Location,
    heard: HookEvent,
    environ: Mapping[str, str],
    process: int | RunningProcess,
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
            return  # the briefing is repeated
        finally:
            project.close()

    return confirm


def _sound(verdict: Verdict) -> Verdict:
    """Return a verdict without lone surrogates, which strict JSON parsers reject."""
    parts = (verdict.text, verdict.note)
    text, note = (part.encode("utf-8", "replace").decode() for part in parts)
    return verdict._replace(text=text, note=note)


def _failed(dialect: Dialect, heard: HookEvent, why: str, *, allowed: bool) -> HookReply:
    """Answer a call whose check failed, as the settings prescribe."""
    writes = heard.touches or heard.command or heard.watch == Watch.ALWAYS
    if heard.moment == EventKind.BEFORE and not writes:
        return dialect.answer(PASSED, heard)  # it touches no file
    if allowed:
        return dialect.answer(PASSED, heard)._replace(stderr=ALLOWED.format(why))
    if heard.moment != EventKind.BEFORE:  # nothing to deny
        return dialect.failed(ALLOWED.format(why), heard)
    return dialect.failed(FAILED.format(why), heard)


def _unheard(words: Sequence[str], environ: Mapping[str, str], cwd: str, why: str) -> HookReply:
    """Answer a call that could not be parsed; outside of a project, let it pass."""
    from dibs.guard.dialects import NAMES, dialect

    name = words[0] if words and words[0] in NAMES else "claude"
    wanted = _on_error({cwd: None}, environ)
    if wanted == "allow":
        return HookReply(stderr=ALLOWED.format(why))
    return dialect(name).failed(FAILED.format(why), None) if wanted else HookReply()


def _on_error(starts: dict[str, None], environ: Mapping[str, str]) -> str:
    """Return ``guard.on_error``; empty without a project.

    If the settings cannot be read, only the environment counts.
    """
    try:
        from dibs.guard.agents.projects import base_project

        place = base_project(starts, environ)
    except (DibsError, OSError, ImportError):
        return environ.get("DIBS_GUARD_ON_ERROR") or "deny"
    return place.loaded.config.guard_on_error if place is not None else ""


def _said_of(error: Exception) -> str:
    """Return an error as one line, for a human or a model."""
    if isinstance(error, DibsError):
        hint = f"; {error.hint}" if error.hint else ""
        return _plain(f"{error.message.rstrip('.')}{hint}")
    if isinstance(error, OSError):
        return _plain(error.strerror or str(error))
    return _plain(f"{type(error).__name__}: {error}")


def _plain(text: str) -> str:
    from dibs.core.text.names import printable

    return printable(" ".join(text.split()))[:_WHY_MAX]


def _here() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""
