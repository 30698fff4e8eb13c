"""Rules for the paths of a tool call by the settings alone, and names of sessions.

Pure. The settings make a path free for all, reserved for humans, hot (claimed briefly), or subject to claims.
Claims are checked after that; see services/guard/service.py.
"""

from __future__ import annotations

from dibs.core.claims.agents import HUMAN, is_reserved
from dibs.core.patterns.overlap import matches, overlap
from dibs.core.patterns.pattern import parse
from dibs.core.text.names import AGENT_ID_CHARACTERS, AGENT_ID_MAX
from dibs.core.toolcalls.values import How
from dibs.startup.records import Record, TextEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dibs.core.patterns.pattern import Pattern

#: How many characters of a session's or subagent's own id are in its name.
SHORT = 8
#: Dialects whose ids start with the time, so that two sessions of one minute start alike.
_LATE = frozenset({"codex", "opencode"})
#: Leaves space for a number and for a subagent's suffix.
_NAME_MAX = AGENT_ID_MAX - 2 * (SHORT + 1)
_GLOB = frozenset("*?[]{}\\/")
#: Files in the git directory that configure git or Dibs, or contain their state.
_GIT_STEERS = (
    "hooks/", "dibs/", "dibs-crew/", "config", "config.worktree", "info/attributes", "worktrees/", "refs/",
    "packed-refs", "HEAD", "FETCH_HEAD", "commondir", "dibs-pass", "dibs-pass-shm",
    "objects/info/alternates", "info/grafts",
)  # fmt: skip
#: The end of a lock's name; a killed git leaves it, and anyone may remove it.
_LOCK = ".lock"


class PathRule(metaclass=TextEnum):
    """The settings' rule for a touched path."""

    #: Anyone may write it.
    FREE = "free"
    #: Only a human may write it: the settings name it, or it configures tools.
    HUMAN = "human"
    GUARDED = "guarded"
    #: Everyone needs it briefly.
    HOT = "hot"
    #: A writer claims it.
    CLAIM = "claim"
    #: A reader claims it as shared.
    SHARE = "share"


class DeniedPath(Record):
    """A path that a call may not touch."""

    path: str
    #: ``held``, ``queued``, ``human``, ``guarded``, ``unclaimed``, ``uncopied``, or ``stopped``.
    why: str
    holder: str = ""
    #: The owner's claim, which may cover more than the path.
    pattern: str = ""
    reason: str = ""
    task: str = ""
    #: Seconds until the claim expires unless renewed.
    expires_in: float = 0.0
    #: Whether ``holder`` is only waiting for it, ahead of the caller.
    waits: bool = False
    #: Whether the claim lasts while its owner's process runs.
    while_running: bool = False


class GuardPolicy:
    """The guard's settings as rules for paths."""

    __slots__ = ("_fold", "_free", "_hot", "_human", "_parsed", "_reads", "_steering", "auto_claim")

    def __init__(
        self,
        *,
        auto_claim: str = "file",
        free: Sequence[str] = (),
        human: Sequence[str] = (),
        hot: Sequence[str] = (),
        reads: bool = False,
        steering: Callable[[str], bool] | None = None,
        fold_case: bool = True,
    ) -> None:
        self.auto_claim = auto_claim
        self._free, self._human, self._hot = free, human, hot
        self._reads = reads
        #: Returns whether a path configures tools and is reserved for humans; None if anyone may write it.
        self._steering = steering
        self._fold = fold_case
        self._parsed: dict[str, Pattern] = {}

    def fate(self, path: str, how: str = How.WRITE, *, deep: bool = False) -> str:
        """Return the rule for a path relative to the root; ``deep`` includes everything below it."""
        if how == How.READ:
            return (
                PathRule.SHARE if self._reads and not self._any(self._free, path) else PathRule.FREE
            )
        if self._steering is not None and self._steering(path):
            return PathRule.GUARDED
        if self._any(self._human, path) or (deep and self._any_beneath(self._human, path)):
            return PathRule.HUMAN
        if self._any([p for p in self._free if _is_tree(p)] if deep else self._free, path):
            return PathRule.FREE
        return PathRule.HOT if not deep and self._any(self._hot, path) else PathRule.CLAIM

    @property
    def guards(self) -> bool:
        """Whether files that configure tools are reserved for humans."""
        return self._steering is not None

    def _any(self, patterns: Iterable[str], path: str) -> bool:
        return any(self._takes(pattern, path) for pattern in patterns)

    def _takes(self, text: str, path: str) -> bool:
        name = text[3:]
        if text[:3] == "**/" and _GLOB.isdisjoint(name) and text.isascii() and path.isascii():
            # The most common form: a name in any folder.
            last = path[path.rfind("/") + 1 :]
            return last == name or (self._fold and last.lower() == name.lower())
        return matches(self._pattern(text), f"./{path}")

    def _any_beneath(self, patterns: Iterable[str], path: str) -> bool:
        from dibs.core.claims.plain_commits import pattern_of

        beneath = pattern_of(f"{path}/", fold_case=self._fold) if path else self._pattern("**")
        return any(overlap(beneath, self._pattern(text)) is not None for text in patterns)

    def _pattern(self, text: str) -> Pattern:
        known = self._parsed.get(text)
        if known is None:
            known = self._parsed[text] = parse(text, fold_case=self._fold)
        return known


def _is_tree(pattern: str) -> bool:
    return pattern.endswith(("/", "/**"))


def steers_git(path: str) -> bool:
    """Return whether a path inside the git directory configures git or Dibs."""
    lowered = path.lower()
    if lowered.endswith(_LOCK) and not lowered.startswith(("hooks/", "dibs/")):
        return False
    return any(
        lowered == name.lower().rstrip("/") or (name[-1] == "/" and lowered.startswith(name))
        for name in _GIT_STEERS
    )


# -- names


def session_name(dialect: str, session: str, named: str = "", pid: int = 0) -> str:
    """Return the preferred name of a session: its given name, or its kind of agent and its id."""
    wished = _plain(named, _NAME_MAX)
    if not wished:
        number = _number(dialect, session) or f"p{pid}"
        wished = _plain(f"{dialect}-{number}", _NAME_MAX) or "agent"
    if is_reserved(wished):
        wished = f"agent-{wished}"
    return f"{wished}-1" if is_reserved(wished) else wished


def subagent_name(dialect: str, parent: str, subagent: str) -> str:
    """Return the preferred name of a subagent."""
    number = _number(dialect, subagent) or "sub"
    return f"{parent[: AGENT_ID_MAX - 2 * SHORT]}.{number}"


def _number(dialect: str, text: str) -> str:
    """Return the most distinctive part of a session's or subagent's own id."""
    plain = "".join(c for c in text if c.isascii() and c.isalnum())
    return plain[-SHORT:] if dialect in _LATE else plain[:SHORT]


def role_of(subagent_type: str) -> str:
    """Return a subagent's role: its type as a plain word."""
    role = _plain(subagent_type, AGENT_ID_MAX)
    return "subagent" if not role or role.casefold() == HUMAN else role


def _plain(text: str, length: int) -> str:
    letters = "".join(c if c in AGENT_ID_CHARACTERS else "-" for c in text[: 4 * length])
    return letters.strip("._-")[:length].rstrip("._-")
