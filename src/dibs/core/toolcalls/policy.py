"""What an agent may do at a tool call, who it is, and what it is told when it may not.

Pure. A call names paths. Each has a fate by the settings alone: free for all, for humans only, needed by all
for a moment, or to be claimed. What claims say of it comes after that; see services/guard/service.py.
"""

from __future__ import annotations

from dibs.core.claims.agents import HUMAN
from dibs.core.patterns.overlap import matches, overlap
from dibs.core.patterns.pattern import parse
from dibs.core.text.names import AGENT_ID_CHARACTERS, AGENT_ID_MAX
from dibs.core.toolcalls.values import How
from dibs.startup.records import Record, TextEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dibs.core.patterns.pattern import Pattern

#: How much of a session's or a subagent's own id is in the name that it gets.
SHORT = 8
#: Dialects whose ids begin with the time, so that two sessions of one minute begin alike.
_LATE = frozenset({"codex", "opencode"})
#: Room for the number, and for the name of a subagent behind that of its parent.
_NAME_MAX = AGENT_ID_MAX - 2 * (SHORT + 1)
_GLOB = frozenset("*?[]{}\\/")
#: Files in the git directory that configure git or Dibs, or hold their state.
_GIT_STEERS = ("hooks/", "dibs/", "config", "config.worktree", "info/attributes", "worktrees/")


class PathRule(metaclass=TextEnum):
    """What the settings say of a path that is touched."""

    #: Anyone may write it.
    FREE = "free"
    #: Only a human writes it: the settings name it, or it steers tools.
    HUMAN = "human"
    GUARDED = "guarded"
    #: All need it for a moment.
    HOT = "hot"
    #: A writer claims it.
    CLAIM = "claim"
    #: Readers claim it, shared.
    SHARE = "share"


class DeniedPath(Record):
    """One path that a call may not touch."""

    path: str
    #: ``held``, ``queued``, ``human``, ``guarded``, ``unclaimed`` or ``stopped``.
    why: str
    holder: str = ""
    #: What the holder has claimed, which may be more than the path.
    pattern: str = ""
    reason: str = ""
    task: str = ""
    #: In how many seconds it is free if the holder stays silent.
    expires_in: float = 0.0
    #: Whether the holder only waits for it, before the caller.
    waits: bool = False


class GuardPolicy:
    """The settings of the guard, ready to be asked."""

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
        #: Tells whether a path steers tools, where that is for humans; None where anybody may write it.
        self._steering = steering
        self._fold = fold_case
        self._parsed: dict[str, Pattern] = {}

    def fate(self, path: str, how: str = How.WRITE, *, deep: bool = False) -> str:
        """Return the fate of a path from the root of the repository; ``deep`` means all beneath it."""
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

    def _any(self, patterns: Iterable[str], path: str) -> bool:
        return any(self._takes(pattern, path) for pattern in patterns)

    def _takes(self, text: str, path: str) -> bool:
        name = text[3:]
        if text[:3] == "**/" and _GLOB.isdisjoint(name) and text.isascii() and path.isascii():
            # The commonest shape: a name in whatever folder.
            last = path[path.rfind("/") + 1 :]
            return last == name or (self._fold and last.lower() == name.lower())
        return matches(self._pattern(text), f"./{path}")

    def _any_beneath(self, patterns: Iterable[str], path: str) -> bool:
        beneath = self._pattern(f"./{path}/" if path else "**")
        return any(overlap(beneath, self._pattern(text)) is not None for text in patterns)

    def _pattern(self, text: str) -> Pattern:
        known = self._parsed.get(text)
        if known is None:
            known = self._parsed[text] = parse(text, fold_case=self._fold)
        return known


def _is_tree(pattern: str) -> bool:
    return pattern.endswith(("/", "/**"))


def steers_git(path: str) -> bool:
    """Tell whether a path inside of the git directory steers git or Dibs."""
    lowered = path.lower()
    return any(
        lowered == name or (name[-1] == "/" and lowered.startswith(name)) for name in _GIT_STEERS
    )


# -- who it is


def session_name(dialect: str, session: str, named: str = "", pid: int = 0) -> str:
    """Return the id that a session wishes for: what its human named it, else its agent and its number."""
    wished = _plain(named, _NAME_MAX)
    if not wished:
        number = _number(dialect, session) or f"p{pid}"
        wished = _plain(f"{dialect}-{number}", _NAME_MAX) or "agent"
    first = wished.replace(".", "-").replace("_", "-").partition("-")[0].casefold()
    return f"agent-{wished}" if first == HUMAN or wished == "all" else wished


def subagent_name(dialect: str, parent: str, subagent: str) -> str:
    """Return the id that a subagent wishes for."""
    number = _number(dialect, subagent) or "sub"
    return f"{parent[: AGENT_ID_MAX - 2 * SHORT]}.{number}"


def _number(dialect: str, text: str) -> str:
    """Return the part of a session's or a subagent's own id that tells it apart best."""
    plain = "".join(c for c in text if c.isascii() and c.isalnum())
    return plain[-SHORT:] if dialect in _LATE else plain[:SHORT]


def role_of(subagent_type: str) -> str:
    """Return the role of a subagent: what it is for, in a plain word."""
    role = _plain(subagent_type, AGENT_ID_MAX)
    return "subagent" if not role or role.casefold() == HUMAN else role


def _plain(text: str, length: int) -> str:
    letters = "".join(c if c in AGENT_ID_CHARACTERS else "-" for c in text[: 4 * length])
    return letters.strip("._-")[:length].rstrip("._-")
