"""How PostgreSQL reports that a call failed, and the error that a caller sees."""

from __future__ import annotations

from dibs.engines.shared.failures import NotSent, busy
from dibs.errors import DibsError, Misconfigured, Unavailable

#: The schema, a table, or a function does not exist.
MISSING = ("3F000", "42P01", "42883")
#: A code of our own: another server was promoted after this one, so this one must not be used.
OUTDATED = "outdated"
#: Errors that are temporary, or do not apply to another server or connection: connection failures, conflicts,
#: shutdown, startup, a standby, too many clients, and a store that was just deleted. 23505 is a
#: conflict behind a pooler whose connections have a stricter isolation level.
_PASSING = (
    *("08", "23505", "40", "57P", "55006", "25006", "25P", "53300", "55000"), *MISSING, OUTDATED,
)  # fmt: skip
#: Causes: the codes that mean it (or how they start), parts of texts from libpq, which have no code, and the
#: error. The first that matches applies; if several servers fail, the one that says most about the cause.
_CAUSES: tuple[tuple[tuple[str, ...], tuple[str, ...], DibsError], ...] = (
    ((), ("invalid ", "definition of service", "service file", "configuration parameter",
      "startup parameter"),
     Misconfigured("cannot use {}: {}", code="POSTGRES_URL", field="engine")),
    (("28", "42501"),
     ("authentication failed", "no password supplied", "no pg_hba.conf entry", "does not exist",
      "certificate", "does not support SSL"),
     Misconfigured("{} denied access: {}", code="POSTGRES_AUTH", field="engine",
                   hint="check the user, password, database, certificate, and permissions with psql")),
    (("55P03", "57014"), (), busy("{}")),
    ((OUTDATED,), (),
     Unavailable("{} is outdated: {}", code="POSTGRES_OUTDATED",
                 hint="start the server that was promoted last, and make this one its standby")),
    (("55000", "25006"), ("session is read-only",),
     Unavailable("{} is read-only: it is a standby, or default_transaction_read_only is on",
                 code="POSTGRES_STANDBY", hint="name all servers in the URL, such as postgresql://one,two/database")),
    (("53100", "53200", "54023"), (),
     Unavailable("{} cannot accept writes: {}", code="STORAGE_FULL",
                 hint="free some memory or disk space, then try again")),
    (_PASSING, ("",),
     Unavailable("cannot reach {}: {}", code="POSTGRES_UNREACHABLE",
                 hint="nothing was changed; check the URL, or try again when the server is back")),
    (("",), (), Unavailable("{} reported: {} ({})", code="POSTGRES_ERROR")),
)  # fmt: skip


class ServerError(NotSent):
    """The server returned an error; the transaction is rolled back."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


def passes(problem: Exception) -> bool:
    """Return whether a retry can help."""
    if isinstance(problem, ServerError):
        return problem.code.startswith(_PASSING)
    return not isinstance(_CAUSES[_cause(problem)][2], Misconfigured)


def most_specific(problems: list[str]) -> NotSent:
    """Return the failure of several servers that says most about the cause."""
    return min(map(NotSent, problems), key=_cause)


def unavailable(place: object, problem: Exception) -> DibsError:
    """Return the Dibs error for a call that had no effect."""
    error = _CAUSES[_cause(problem)][2]
    words = (place, " ".join(str(problem).split()), getattr(problem, "code", ""))
    message = error.message.format(*words)
    return type(error)(message, code=error.code, hint=error.hint, field=error.field)


def _cause(problem: Exception) -> int:
    code, text = getattr(problem, "code", ""), str(problem)
    found = (
        code.startswith(codes) if code else any(part in text for part in texts)
        for codes, texts, _ in _CAUSES
    )  # fmt: skip
    return [*found].index(True)
