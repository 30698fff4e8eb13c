"""The errors that Dibs raises, as one tree.

::

    DibsError
    ├── BadUsage        the call itself is wrong: unknown option, missing argument
    ├── BadInput        a value is wrong: path, pattern, ttl, agent id, request id
    ├── NotAllowed      the caller may not do this: too broad, ended, not a human
    ├── NotFound        the thing named is not there: agent, claim, project
    ├── Fenced          the caller no longer holds what it acts on
    ├── Unknown         the change may or may not have happened; ask again
    ├── Unavailable     the engine cannot answer: disk full, read-only, gone, busy
    └── Misconfigured   the configuration or the place of the state is wrong

A claim that another agent holds is not an error but an answer, a value of ``core.claims``.

The ``code`` is stable. A class has one of its own; where callers need to tell cases of one class apart, an
instance carries a narrower one. ``errors.codes`` is the table of them all.
"""

from __future__ import annotations


class DibsError(Exception):
    """Base of everything that Dibs raises on purpose."""

    code = "ERROR"
    #: The exit status of a command that fails with it.
    exit_status = 70
    #: Whether the same call may succeed later without any change by the caller.
    retryable = False

    def __init__(
        self, message: str, *, code: str | None = None, hint: str = "", field: str = ""
    ) -> None:
        super().__init__(message)
        self.message = message
        #: What the reader can do next, as one sentence; may be empty.
        self.hint = hint
        #: Which argument is meant, where there is one.
        self.field = field
        if code is not None:
            self.code = code


class BadUsage(DibsError):
    """The call itself is wrong."""

    code = "USAGE"
    exit_status = 64


class BadInput(DibsError):
    """A value is outside of what is allowed; nothing was changed."""

    code = "BAD_INPUT"
    exit_status = 65


class NotAllowed(DibsError):
    """The caller may not do this."""

    code = "NOT_ALLOWED"
    exit_status = 77


class NotFound(DibsError):
    """The thing named is not there."""

    code = "NOT_FOUND"
    exit_status = 6


class Fenced(DibsError):
    """The caller acts on a claim that it no longer holds; nothing was changed."""

    code = "FENCED"
    exit_status = 4


class Unknown(DibsError):
    """The change may or may not have happened; repeat it with the same request id."""

    code = "UNKNOWN"
    exit_status = 5
    retryable = True


class Unavailable(DibsError):
    """The engine cannot answer now; nothing was changed."""

    code = "UNAVAILABLE"
    exit_status = 69
    retryable = True


class Misconfigured(DibsError):
    """The configuration, or the place where state lives, is wrong."""

    code = "CONFIG"
    exit_status = 78
