"""The errors that Dibs raises.

::

    DibsError
    ├── BadUsage        the call is wrong: unknown option, missing argument
    ├── BadInput        a value is invalid: path, pattern, ttl, agent id, request id
    ├── NotAllowed      the caller may not do this: too broad, ended, not a human
    ├── NotFound        something does not exist: agent, claim, project
    ├── Fenced          the caller no longer holds the claim
    ├── Unknown         the change may or may not have happened
    ├── Unavailable     the engine cannot answer: disk full, read-only, unreachable, busy
    └── Misconfigured   the settings or the store are invalid

A denied claim is not an error but an answer, a value of ``core.claims``.

Codes are stable. Each class has one; an instance has a narrower one where callers need to tell cases apart.
``errors.codes`` lists them all.
"""

from __future__ import annotations


class DibsError(Exception):
    """The base class of all errors that Dibs raises on purpose."""

    code = "ERROR"
    #: The exit status of a command that fails with it.
    exit_status = 70
    #: The status of an HTTP response that reports it.
    http_status = 500
    #: Whether the same call may succeed later without any change by the caller.
    retryable = False

    def __init__(
        self, message: str, *, code: str | None = None, hint: str = "", field: str = ""
    ) -> None:
        super().__init__(message)
        self.message = message
        #: What to do next; may be empty.
        self.hint = hint
        #: The argument that is wrong, if any.
        self.field = field
        if code is not None:
            self.code = code


class BadUsage(DibsError):
    """The call is wrong."""

    code = "USAGE"
    exit_status = 64
    http_status = 400


class BadInput(DibsError):
    """A value is not allowed; nothing was changed."""

    code = "BAD_INPUT"
    exit_status = 65
    http_status = 400


class NotAllowed(DibsError):
    """The caller may not do this."""

    code = "NOT_ALLOWED"
    exit_status = 77
    http_status = 403


class NotFound(DibsError):
    """Something does not exist."""

    code = "NOT_FOUND"
    exit_status = 6
    http_status = 404


class Fenced(DibsError):
    """The caller acts on a claim that it no longer holds; nothing was changed."""

    code = "FENCED"
    exit_status = 4
    http_status = 409


class Unknown(DibsError):
    """The change may or may not have happened; repeat it with the same request id."""

    code = "UNKNOWN"
    exit_status = 5
    http_status = 504
    retryable = True


class Unavailable(DibsError):
    """The engine cannot answer now; nothing was changed."""

    code = "UNAVAILABLE"
    exit_status = 69
    http_status = 503
    retryable = True


class Misconfigured(DibsError):
    """The settings or the store are invalid."""

    code = "CONFIG"
    exit_status = 78
    http_status = 503


def system_error(error: OSError) -> Unavailable:
    """Return the error that reports an operating system error, with the file if it names one."""
    place = f"{error.filename}: " if error.filename else ""
    return Unavailable(f"operating system error: {place}{error.strerror or error}", code="SYSTEM")


def humans_only(message: str, agent: str, *, hint: str, field: str = "") -> NotAllowed:
    """Return the refusal of something reserved for humans; it says who Dibs thinks the caller is."""
    who = f"you are {agent} (see `dibs whoami -v`)"
    return NotAllowed(f"{message}; {who}", code="HUMANS_ONLY", hint=hint, field=field)
