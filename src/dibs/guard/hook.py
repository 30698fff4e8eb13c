"""The program behind the hooks of coding agents: hear what a tool is about to do, and answer in time.

A hook that fails lets the tool run in most agents. So whatever goes wrong here ends in an answer: refused by
default, passed where ``guard.on_error`` says so, and nothing but a line where there is nothing to refuse.
"""

from __future__ import annotations

import os
import sys

from dibs.core.toolcalls import PASSED, Moment, Said
from dibs.errors import BadInput, DibsError, NotFound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, NoReturn

    from dibs.core.toolcalls import Heard, Verdict
    from dibs.guard.deadline import Deadline
    from dibs.guard.dialects import Dialect
    from dibs.opening import Place
    from dibs.project import Project

    Answer = tuple[Said, Callable[[], None] | None]

#: More than this on standard input is no call of a tool.
INPUT_MAX = 10 * 1024 * 1024
_CHUNK = 1 << 16
#: How long all takes where no settings say it, and what is left of it for settings that do.
DEADLINE = 2.0
LATE = "nothing was found out in time"


def program() -> NoReturn:
    """Be the program of one hook, and leave at once."""
    import gc

    gc.disable()
    status = attend(sys.argv[1:])
    os._exit(status)


def attend(words: Sequence[str]) -> int:
    """Read what the agent says, answer it, and return the exit status: 0 or 2, never another."""
    from dibs.guard.deadline import Deadline, Late

    try:
        with Deadline(DEADLINE) as deadline:
            given = read(0)
            said, confirm = answer(words, given, os.environ, _here(), os.getppid(), deadline)
    except Late:
        said, confirm = _unheard(words, LATE), None
    if write(said) and confirm is not None:
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


def write(said: Said) -> bool:
    """Write an answer out; tell whether all of it went."""
    try:
        for handle, text in ((2, said.stderr), (1, said.stdout)):
            rest = f"{text}\n".encode("utf-8", "replace") if text else b""
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
) -> Answer:
    """Answer one call of a hook; never raises.

    ``words`` are the agent's name and maybe the event's. The second value confirms what was told: whoever
    wrote the answer out calls it then, so that a message which was never seen is told again.
    """
    from dibs.guard.deadline import Late

    dialect = heard = None
    try:
        event = words[1] if len(words) > 1 else ""
        dialect, heard = _hear(words[0] if words else "", _payload(given), event, environ)
        heard = heard._replace(cwd=heard.cwd or cwd)
        verdict, confirm = _judged(heard, environ, cwd, process, deadline)
        return dialect.answer(verdict, heard), confirm
    except Late:
        if deadline is not None:
            deadline.off()
        why = LATE
    except Exception as error:  # noqa: BLE001 - the top of a surface: a hook that fails guards nothing
        why = _said_of(error)
    if dialect is None or heard is None:
        return _unheard(words, why), None
    return _failed(dialect, heard, environ, cwd, why), None


def _payload(given: bytes) -> dict[str, Any]:
    from dibs.core.quickjson import loads

    if len(given) > INPUT_MAX:
        raise _bad(f"the call is larger than {INPUT_MAX // 1024 // 1024} MiB")
    try:
        payload = loads(given)
    except ValueError:
        what = "is no JSON" if given.strip() else "is empty"
        raise _bad(f"what the agent sent {what}") from None
    if not isinstance(payload, dict):
        raise _bad("what the agent sent is no object")
    return payload


def _hear(
    named: str, payload: dict[str, Any], event: str, environ: Mapping[str, str]
) -> tuple[Dialect, Heard]:
    from dibs.guard.dialects import dialect
    from dibs.guard.dialects.sniff import speaker

    spoken = dialect(speaker(named if named in _names() else "claude", payload, environ))
    heard = spoken.parse(payload, event)
    return spoken, heard._replace(listens=spoken.can_tell(heard))


def _judged(
    heard: Heard, environ: Mapping[str, str], cwd: str, process: int, deadline: Deadline | None
) -> tuple[Verdict, Callable[[], None] | None]:
    """Ask the project that the agent works in; outside of any there is nothing to say."""
    place = _place(heard, environ, cwd)
    if place is None:
        return PASSED, None
    from dibs.opening import open_engine
    from dibs.project import Project

    config = place.loaded.config
    if deadline is not None:
        deadline.set(config.guard_deadline)
    project = Project(_hurried(place), open_engine(_hurried(place), anew=False))
    confirm = None
    try:
        guarding: Any = getattr(project, "guarding", None)
        if guarding is None:
            return PASSED, None
        if deadline is not None:
            guarding.waits = deadline.more
        verdict = _sound(guarding.hear(heard, process))
        confirm = _confirmation(project, verdict)
    finally:
        if confirm is None:
            project.close()
    return verdict, confirm


def _confirmation(project: Project, verdict: Verdict) -> Callable[[], None] | None:
    if not verdict.delivery:
        return None

    def confirm() -> None:
        from dibs.core.agents import Caller

        try:
            project.briefings.delivered(Caller(verdict.reader), verdict.delivery)
        except DibsError:
            return  # it is told again then
        finally:
            project.close()

    return confirm


def _place(heard: Heard, environ: Mapping[str, str], cwd: str) -> Place | None:
    """Return the project that an agent works in: where it stands, else where it was started."""
    from dibs.project import locate

    starts = (heard.cwd, cwd, *(environ.get(name, "") for name in _FOLDERS))
    for start in dict.fromkeys(start for start in starts if start):
        try:
            place = locate(start, environ)
        except NotFound:
            continue
        if _is_project(place):
            return place
    return None


_FOLDERS = ("CLAUDE_PROJECT_DIR", "COPILOT_PROJECT_DIR", "GEMINI_PROJECT_DIR")


def _is_project(place: Place) -> bool:
    """Tell whether somebody made a project here: state, settings, or an engine that lies elsewhere."""
    from dibs.opening import is_there

    settings = f"{place.repository.root}/dibs.toml"
    return bool(place.loaded.config.engine) or is_there(place) or os.path.exists(settings)


def _hurried(place: Place) -> Place:
    """Return the place with an engine that gives up before the hook has to."""
    loaded = place.loaded
    wait = min(loaded.config.timeout, loaded.config.guard_deadline * 0.75)
    config = loaded.config._replace(timeout=wait)
    origins = {**loaded.origins, "timeout": "guard.deadline"}
    return place._replace(loaded=loaded._replace(config=config, origins=origins))


def _sound(verdict: Verdict) -> Verdict:
    """Return a verdict without halves of characters, which strict readers of JSON refuse."""
    parts = (verdict.text, verdict.note)
    text, note = (part.encode("utf-8", "replace").decode() for part in parts)
    return verdict._replace(text=text, note=note)


def _failed(dialect: Dialect, heard: Heard, environ: Mapping[str, str], cwd: str, why: str) -> Said:
    """Say that nobody could be asked, as the settings want it."""
    if heard.moment == Moment.BEFORE and not heard.touches and not heard.command:
        return dialect.answer(PASSED, heard)  # nothing that could be anybody's
    if _allows(heard, environ, cwd):
        said = dialect.answer(PASSED, heard)
        return said._replace(stderr=f"dibs: passed, though it cannot be checked: {why}")
    return dialect.failed(f"dibs: refused, because it cannot be checked: {why}", heard)


def _allows(heard: Heard | None, environ: Mapping[str, str], cwd: str) -> bool:
    """Return what the settings say; where even they cannot be read, only the environment counts."""
    from dibs.project import locate

    try:
        found = locate((heard.cwd if heard else "") or cwd, environ)
    except (DibsError, OSError, ImportError):
        return environ.get("DIBS_GUARD_ON_ERROR", "") == "allow"
    return found.loaded.config.guard_on_error == "allow"


def _unheard(words: Sequence[str], why: str) -> Said:
    """Answer a call that nobody understood."""
    why = _plain(why)
    from dibs.guard.dialects import dialect

    name = words[0] if words and words[0] in _names() else "claude"
    if _allows(None, os.environ, _here()):
        return Said(stderr=f"dibs: passed, though it cannot be checked: {why}")
    return dialect(name).failed(f"dibs: refused, because it cannot be checked: {why}", None)


def _names() -> tuple[str, ...]:
    from dibs.guard.dialects import NAMES

    return NAMES


def _said_of(error: Exception) -> str:
    """Return an error in one line for whoever reads standard error, a human or a model."""
    if isinstance(error, DibsError):
        return _plain(error.message)
    if isinstance(error, OSError):
        return _plain(error.strerror or str(error))
    return _plain(f"{type(error).__name__}: {error}")


def _plain(text: str) -> str:
    from dibs.core.names import printable

    return printable(" ".join(text.split()))[:400]


def _bad(message: str) -> BadInput:
    return BadInput(message, code="HOOK_PAYLOAD")


def _here() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""
