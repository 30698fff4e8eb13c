"""Hook events and verdicts, independent of the agent.

Pure. A dialect parses a payload into a ``HookEvent``, a service answers with a ``Verdict``, and the dialect
renders it for its agent. No rule knows which agent it is dealing with.
"""

from __future__ import annotations

from dibs.startup.records import Record, TextEnum


def key_of(name: str) -> str:
    """Return a name of a tool or of an argument as it is compared: ignoring case, "_", and "-"."""
    return name.lower().replace("_", "").replace("-", "")


class EventKind(metaclass=TextEnum):
    """What has happened, or is about to."""

    #: A session started or resumed; ``HookEvent.source`` says how.
    STARTED = "started"
    #: A human or another program sent a prompt.
    PROMPTED = "prompted"
    #: A tool is about to run and can be denied.
    BEFORE = "before"
    #: A tool ran, successfully or not.
    AFTER = "after"
    #: The agent's context was compacted, so it lost what it had read.
    COMPACTED = "compacted"
    #: The agent ends its turn.
    STOPPED = "stopped"
    #: The session ended.
    ENDED = "ended"
    SUBAGENT_STARTED = "subagent_started"
    SUBAGENT_STOPPED = "subagent_stopped"
    #: Any other event; only a heartbeat.
    OTHER = "other"


class How(metaclass=TextEnum):
    """What a tool does to a path."""

    WRITE = "write"
    DELETE = "delete"
    #: Git deletes the untracked files there.
    CLEAN = "clean"
    READ = "read"
    #: The tool may write the path: it is checked as a write, but not claimed.
    MAYBE = "maybe"


class Watch(metaclass=TextEnum):
    """When to compare the tree before and after a call that may write files that it does not name."""

    #: As for a known tool: its command or its file decides.
    KNOWN = ""
    #: If the call names a file that another agent holds; the tool's name says that it only reads.
    HELD = "held"
    ALWAYS = "always"


class Touch(Record):
    """A path as a tool call names it: absolute, or relative to the agent's folder."""

    path: str
    how: str = How.WRITE
    #: Whether everything below the path is included: a folder that is removed or checked out.
    deep: bool = False


class HookEvent(Record):
    """One call of an agent's hook."""

    #: The dialect: claude, codex, gemini, copilot, cursor, opencode, vscode.
    agent: str
    moment: str
    #: The agent's own ids of the session and the subagent.
    session: str = ""
    subagent: str = ""
    #: The subagent's type, in the agent's words.
    subagent_type: str = ""
    #: The tool's name, and the id of this call.
    tool: str = ""
    call: str = ""
    touches: tuple[Touch, ...] = ()
    #: A shell command; its targets are not in ``touches``.
    command: str = ""
    #: Texts in the arguments of an unknown tool, which are paths if the working tree has them.
    mentions: tuple[str, ...] = ()
    #: When to compare the tree before and after the call; see ``Watch``.
    watch: str = Watch.KNOWN
    #: The agent's current folder.
    cwd: str = ""
    model: str = ""
    #: For a start: startup, resume, clear, compact; for an end: its reason.
    source: str = ""
    #: Whether the agent continues only because of our last answer; this time it must be allowed to stop.
    stop_active: bool = False
    #: The dialect's name for this event.
    event: str = ""
    #: Whether the model reads text at this event; if not, no briefing may be prepared.
    listens: bool = True


class Word(metaclass=TextEnum):
    """The kind of a verdict."""

    #: Nothing: the agent's own rules decide.
    PASS = "pass"  # noqa: S105
    #: The tool must not run.
    DENY = "deny"
    #: Continue, with text for the model. At the end of a turn: take another turn.
    TELL = "tell"


class Verdict(Record):
    """The answer to an event."""

    word: str = Word.PASS
    #: Text for the model: why the call is denied, or news. Untrusted text in it is already fenced.
    text: str = ""
    #: One line for the person who watches.
    note: str = ""
    #: The number of the briefing in ``text``, to be confirmed once it is printed; 0 for none.
    delivery: int = 0
    #: The agent that the briefing is for.
    reader: str = ""

    def with_text(self, other: Verdict) -> Verdict:
        """Return one answer with the text of both."""
        if Word.PASS in {self.word, other.word}:
            return other if self.word == Word.PASS else self
        return self._replace(text=f"{self.text}\n{other.text}")


class HookReply(Record):
    """The output of the hook's process."""

    stdout: str = ""
    stderr: str = ""
    status: int = 0


PASSED = Verdict()
