"""A typed, synchronous client for a Dibs server.

::

    from dibs.client import Client

    with Client("https://build.example:443", token="dibs_...") as dibs:
        answer = dibs.claims.create(patterns=["src/api.py"], reason="fix login")

A denied claim is an answer, as everywhere in Dibs. Errors are the exceptions of ``dibs.errors``. It needs
nothing but the standard library.
"""

from dibs.client.client import Client
from dibs.client.connection import ServerAddress

__all__ = ["Client", "ServerAddress"]
