"""What a coding agent's hook tells us, and what we answer: values that every dialect is turned into.

Pure. A dialect parses what its agent sends into a ``HookEvent``; a service answers with a ``Verdict``; the
dialect says that in the words of its agent. No rule knows which agent it speaks to.
"""

from __future__ import annotations

from dibs.startup.records import Record, TextEnum


class EventKind(metaclass=TextEnum):
    """When an agent calls: what has happened, or is about to."""

    #: A session began, or came back; ``Heard.source`` says how.
    STARTED = "started"
    #: A human or another program gave it something to do.
    PROMPTED = "prompted"
    #: A tool is about to run, and can be refused.
    BEFORE = "before"
    #: A tool ran, well or not.
    AFTER = "after"
    #: The agent has forgotten what it was told: its context was compacted.
    COMPACTED = "compacted"
    #: The agent ends its turn.
    STOPPED = "stopped"
    #: The session is over.
    ENDED = "ended"
    SUBAGENT_STARTED = "subagent_started"
    SUBAGENT_STOPPED = "subagent_stopped"
    #: Something that we have no use for; only a sign of life.
    OTHER = "other"


class How(metaclass=TextEnum):
    """What a tool does to a path."""

    WRITE = "write"
    DELETE = "delete"
    READ = "read"


class Touch(Record):
    """A path that a tool call names, as it names it: absolute, or relative to the agent's folder."""

    path: str
    how: str = How.WRITE
    #: Whether all beneath the path is meant: a folder that is removed or checked out.
    deep: bool = False


class HookEvent(Record):
    """One call of an agent's hook."""

    #: The dialect that was spoken: claude, codex, gemini, copilot, cursor, windsurf, opencode, vscode.
    agent: str
    moment: str
    #: Who calls is a session and, in it, maybe a subagent; neither is a name.
    session: str = ""
    subagent: str = ""
    #: What the subagent is for, in the agent's words.
    subagent_type: str = ""
    #: The tool's own name, and the number of this call of it.
    tool: str = ""
    call: str = ""
    touches: tuple[Touch, ...] = ()
    #: The text that a shell would run; its targets are not in ``touches``.
    command: str = ""
    #: The agent's current folder.
    cwd: str = ""
    model: str = ""
    #: Of a start: startup, resume, clear, compact; of an end: its reason.
    source: str = ""
    #: Whether the agent goes on only because we made it: it must be let go this time.
    stop_active: bool = False
    #: What the agent's dialect calls this event.
    event: str = ""
    #: Whether the model hears what is told now; where not, no briefing may be prepared.
    listens: bool = True


class Word(metaclass=TextEnum):
    """What we say to a call."""

    #: Nothing: the agent's own rules decide.
    PASS = "pass"  # noqa: S105
    #: The tool must not run.
    DENY = "deny"
    #: Go on, and know this. At the end of a turn: take one more, and know this.
    TELL = "tell"


class Verdict(Record):
    """The answer to a call."""

    word: str = Word.PASS
    #: For the model: why it is refused, or what it is told. Text of others in it is fenced already.
    text: str = ""
    #: One line for the human who watches.
    note: str = ""
    #: The briefing that ``text`` delivers; confirmed once it is written out. 0 for none.
    delivery: int = 0
    #: Whom it was delivered to.
    reader: str = ""


class HookReply(Record):
    """What the hook's process gives back to the agent."""

    stdout: str = ""
    stderr: str = ""
    status: int = 0


PASSED = Verdict()
