"""Who acts: the named agent, or else the human at this terminal."""

from __future__ import annotations

import os

from dibs.core.claims.agents import AT_TERMINAL, check_own_id
from dibs.core.text.names import (
    AGENT_ID_CHARACTERS,
    AGENT_ID_MAX,
    check_agent_id,
    is_agent_id,
    is_namesake,
)
from dibs.errors import BadInput
from dibs.local.repository import SESSIONS
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

VARIABLE = "DIBS_AGENT"

#: Variables that agents set for the commands that they run. A human's terminal in an editor has none of them.
MARKERS = (
    "CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PID", "AI_AGENT", "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_THREAD_ID", "GEMINI_CLI", "COPILOT_CLI", "OPENCODE",
    "CURSOR_AGENT", "QWEN_CODE", "AUGMENT_AGENT", "CLINE_ACTIVE", "GOOSE_TERMINAL", "AMP_CURRENT_THREAD_ID",
)  # fmt: skip

_USER_MAX, _PLACE_MAX = 40, 20
_TTY_NR_FIELD = 4  # of /proc/self/stat, counted after the command's closing parenthesis
_CONSOLE_MAJOR = 4
_FIRST_SERIAL_MINOR = 64
_FIRST_PTS_MAJOR, _LAST_PTS_MAJOR = 136, 143


#: What an identity comes from, in the order in which Dibs looks. A guarded session that ``DIBS_AGENT`` named
#: counts as its process: it may have a number after its name.
FLAG, NAMED, PROCESS, TERMINAL, LOGIN = "flag", "variable", "process", "terminal", "session"
#: The token of a request, for a command that a server runs for its owner.
BEARER = "token"


class Identity(Record):
    """The acting agent."""

    id: str
    #: Whether no agent is named, so the caller counts as the human at the keyboard.
    human: bool
    #: What the id comes from.
    source: str
    #: Who really acts, if a guarded process or a human uses another agent's name.
    by: str = ""
    #: Whether it is a human who uses the name.
    by_human: bool = False
    #: Why a caller without a name may not be a human.
    doubt: str = ""


_given: list[Identity] = []


def act_for(identity: Identity) -> None:
    """Let this process act for the owner of a token, whatever its environment says."""
    _given[:] = [identity]


def acting_agent(
    flag: str | None, environ: Mapping[str, str], state: str = "", *, needs_terminal: bool = True
) -> Identity:
    """Return who acts: ``flag``, else ``DIBS_AGENT``, else the human's terminal or session.

    An empty ``DIBS_AGENT`` counts as unset; an empty flag is refused. With the folder of a project's
    ``state``, a command that a guarded agent runs in its own shell is attributed to that agent, even if two
    sessions have the same ``DIBS_AGENT``: the second one gets a number after its name. If it uses another
    name, ``by`` is the agent itself, and ``services.claims.callers`` decides. ``needs_terminal`` says whether
    a human needs a terminal while a session runs.
    """
    if _given:
        own = _given[0]
        if flag is None:
            return own
        return Identity(_checked(flag), human=False, source=FLAG, by=own.id, by_human=own.human)
    named = environ.get(VARIABLE, "")
    agent = agent_of_process(state) if state else ""
    if flag is not None:
        wished, source = _checked(flag), FLAG
    elif named and not (agent and _is_named(agent, named)):
        wished, source = _checked_variable(named), NAMED
    else:
        wished, source = agent, PROCESS
    if agent:
        return Identity(wished, human=False, source=source, by=agent if wished != agent else "")
    if not wished:
        return _person(environ, state, needs_terminal=needs_terminal)
    if source == NAMED or named:
        return Identity(wished, human=False, source=source)
    person = _person(environ, state)
    by_human = not person.doubt
    return Identity(
        wished, human=False, source=source, by=person.id if by_human else "", by_human=by_human
    )


def check_names(flag: str | None, environ: Mapping[str, str]) -> None:
    """Refuse invalid names. The ``DIBS_AGENT`` of a guarded session may be one: its hooks have adapted it."""
    named = environ.get(VARIABLE, "")
    if flag is not None:
        _checked(flag)
    elif named and not _given:
        try:
            _checked_variable(named)
        except BadInput:
            from dibs.local.server_files import guarded_states

            if not any(map(agent_of_process, guarded_states())):
                raise


def _checked(flag: str) -> str:
    return check_own_id(check_agent_id(flag), human=False)


def _checked_variable(named: str) -> str:
    try:
        return _checked(named)
    except BadInput as error:
        raise BadInput(
            f"{VARIABLE}: {error.message}", code=error.code, hint=error.hint, field=VARIABLE
        ) from None


def _person(environ: Mapping[str, str], state: str, *, needs_terminal: bool = True) -> Identity:
    """Return the human at this terminal; without one, or in doubt, each session may be another program."""
    at_terminal = bool(_terminal())
    source = TERMINAL if at_terminal else LOGIN
    doubt = doubt_here(environ, state, needs_terminal=needs_terminal)
    known = at_terminal and not doubt
    id_ = human_id(environ) if known else human_id(environ, in_session(_session()))
    return Identity(id_, human=True, source=source, doubt=doubt)


def doubt_here(environ: Mapping[str, str], *states: str, needs_terminal: bool = True) -> str:
    """Return why a caller without a name does not count as a human; empty if it does.

    Sessions of the user's projects and of those with these state folders matter, and a human's token.
    """
    from dibs.local.server_files import guarded_states

    marker = next((name for name in MARKERS if environ.get(name)), "")
    every = dict.fromkeys((*states, *guarded_states()))
    known = [state for state in every if state and os.path.isdir(f"{state}/{SESSIONS}")]
    if not marker and not known:
        return ""
    from dibs.local.people import TOKEN, doubt_about, proves_human
    from dibs.local.processes import own_pid

    found = f"{marker} is set, so an agent runs this command" if marker else ""
    found = found or doubt_about(own_pid(), known, needs_terminal=needs_terminal)
    token = environ.get(TOKEN, "") if found else ""
    return "" if token and proves_human(token, known) else found


def in_session(session: int) -> str:
    """Return the place of a caller that is not proven to be the human at a terminal."""
    return f"s{session}"


def human_id(environ: Mapping[str, str], place: str = AT_TERMINAL) -> str:
    """Return the id of a person, who is the same one in several terminals and browsers."""
    return f"{_sanitized(login(environ), _USER_MAX)}-{_sanitized(place, _PLACE_MAX)}"


def identity_sources(
    flag: str | None, environ: Mapping[str, str], state: str = ""
) -> dict[str, str]:
    """Return the value of each source that ``acting_agent`` considers; empty if it has none."""
    return {
        FLAG: flag or "",
        **({BEARER: _given[0].id} if _given else {}),
        NAMED: environ.get(VARIABLE, ""),
        PROCESS: agent_of_process(state) if state else "",
        TERMINAL: _terminal(),
        LOGIN: str(_session()),
    }


def agent_of_process(state: str, pid: int = 0) -> str:
    """Return the guarded agent that a process, by default this one, belongs to; empty if none."""
    if not os.path.isdir(f"{state}/{SESSIONS}"):
        return ""
    from dibs.local.noted_agents import acting

    agent = acting(state, pid)
    return agent if is_agent_id(agent) else ""


def _is_named(agent: str, named: str) -> bool:
    """Return whether a session has this id because of ``DIBS_AGENT``."""
    from dibs.core.toolcalls.policy import session_name

    return is_namesake(agent, session_name("", "", named))


def host() -> str:
    """Return this machine's name; empty if the system has none."""
    return os.uname().nodename if hasattr(os, "uname") else ""


def login(environ: Mapping[str, str]) -> str:
    """Return the name of the user who is logged in."""
    name = environ.get("USER") or environ.get("LOGNAME") or environ.get("USERNAME")
    if name:
        return name
    return f"u{os.getuid()}" if hasattr(os, "getuid") else "human"


def _session() -> int:
    from dibs.local.processes import session_number

    return session_number()


def _terminal() -> str:
    """Return the name of the controlling terminal, even if all standard streams are pipes."""
    try:
        with open("/proc/self/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        device = int(fields[_TTY_NR_FIELD])
    except (OSError, ValueError, IndexError):
        return _terminal_of_streams()
    return _device_name(device) if device else ""


def _device_name(device: int) -> str:
    """Return the name of a terminal by its device number, which the kernel packs as minor, major, minor."""
    major = device >> 8 & 0xFFF
    minor = device & 0xFF | device >> 12 & 0xFFF00
    if _FIRST_PTS_MAJOR <= major <= _LAST_PTS_MAJOR:
        return f"pts-{minor + (major - _FIRST_PTS_MAJOR) * 256}"
    if major == _CONSOLE_MAJOR:
        serial = minor - _FIRST_SERIAL_MINOR
        return f"ttyS{serial}" if serial >= 0 else f"tty{minor}"
    return f"tty{major}.{minor}"


def _terminal_of_streams() -> str:
    if not hasattr(os, "ttyname"):
        return ""
    for stream in (0, 1, 2):
        try:
            return os.ttyname(stream).removeprefix("/dev/")
        except OSError:
            continue
    return ""


def _sanitized(text: str, length: int) -> str:
    letters = "".join(c if c in AGENT_ID_CHARACTERS else "-" for c in text)
    return letters.strip("._-")[:length] or "x"


assert _USER_MAX + 1 + _PLACE_MAX <= AGENT_ID_MAX
