"""How PostgreSQL reports that a call failed, and the error that a caller sees."""

from __future__ import annotations

from dibs.engines.shared.failures import NotSent, busy
from dibs.errors import DibsError, Misconfigured, Unavailable

#: Errors that are temporary, or do not apply to another server or connection: connection failures, conflicts,
#: shutdown, startup, a standby, too many clients, and a store that was just deleted. 23505 is a
#: conflict behind a pooler whose connections have a stricter isolation level.
_PASSING = ("08", "23505", "40", "57P", "55006", "25006", "25P", "53300", "3F000", "42P01", "42883")
_STANDBY = "55000"
#: A lock or a statement took too long.
_BUSY = ("55P03", "57014")
_READ_ONLY = "session is read-only"
_NO_ROOM = ("53100", "53200", "54023")
_NO_RIGHTS = ("28", "42501")
#: Texts of a refused login; a server that refuses it returns no code.
_NO_LOGIN = (
    "authentication failed",
    "no password supplied",
    "no pg_hba.conf entry",
    "does not exist",
    "certificate",
    "does not support SSL",
)
#: Texts of libpq about a URL or a service that it cannot use.
_NO_URL = ("invalid ", "definition of service", "service file")


class ServerError(NotSent):
    """The server returned an error; the transaction is rolled back."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code

    @property
    def is_missing(self) -> bool:
        """Whether the schema, a table, or a function does not exist."""
        return self.code in {"3F000", "42P01", "42883"}


class Outdated(NotSent):
    """Another server was promoted after this one, so this one must not be used."""

    def __init__(self, timeline: str, seen: str) -> None:
        super().__init__(
            f"its timeline is {int(timeline, 16)}, but this machine has seen {int(seen, 16)},"
            " so another server was promoted since"
        )


def passes(problem: Exception) -> bool:
    """Return whether a retry can help."""
    if not isinstance(problem, ServerError):
        return not any(text in str(problem) for text in _NO_LOGIN + _NO_URL)
    return problem.code.startswith(_PASSING) or problem.code == _STANDBY


def most_specific(problems: list[str]) -> NotSent:
    """Return the failure of several servers that says most about the cause."""
    found = [NotSent(text) for text in problems]
    return max(found, key=lambda problem: (not passes(problem), _READ_ONLY in str(problem)))


def unavailable(place: object, problem: Exception) -> DibsError:
    """Return the Dibs error for a call that had no effect."""
    code, text = getattr(problem, "code", ""), " ".join(str(problem).split())
    if code in _BUSY:
        return busy(place)
    if code.startswith(_NO_RIGHTS) or (not code and not passes(problem)):
        return _misconfigured(place, text)
    if isinstance(problem, Outdated) or code in {_STANDBY, "25006"} or _READ_ONLY in text:
        return _no_primary(place, problem)
    if code in _NO_ROOM:
        return Unavailable(
            f"{place} cannot accept writes: {text}",
            code="STORAGE_FULL",
            hint="free some memory or disk space, then try again",
        )
    if code and not passes(problem):
        return Unavailable(f"{place} reported: {text} ({code})", code="POSTGRES_ERROR")
    return Unavailable(
        f"cannot reach {place}: {text}",
        code="POSTGRES_UNREACHABLE",
        hint="nothing was changed; check the URL, or try again when the server is back",
    )


def _no_primary(place: object, problem: Exception) -> Unavailable:
    if isinstance(problem, Outdated):
        return Unavailable(
            f"{place} is outdated: {problem}",
            code="POSTGRES_OUTDATED",
            hint="start the server that was promoted last, and make this one its standby",
        )
    return Unavailable(
        f"{place} is read-only: it is a standby, or default_transaction_read_only is on",
        code="POSTGRES_STANDBY",
        hint="name all servers in the URL, such as postgresql://one,two/database",
    )


def _misconfigured(place: object, text: str) -> Misconfigured:
    if any(part in text for part in _NO_URL):
        return Misconfigured(f"cannot use {place}: {text}", code="POSTGRES_URL", field="engine")
    return Misconfigured(
        f"{place} denied access: {text}", code="POSTGRES_AUTH", field="engine",
        hint="check the user, password, database, certificate, and permissions with psql",
    )  # fmt: skip
