"""Create, list, and revoke tokens for the server.

Examples:
  dibs token new --agent alice            for the agent alice, in this project only
  dibs token new --scope read             may read everything and change nothing
  dibs token new --scope human --expires 8h
  dibs token ls
  dibs token revoke 3f9a2c
  dibs token login                        a link for the browser, valid once within a minute

A token is shown once; the server keeps only its hash. Send it as `Authorization: Bearer TOKEN`. The scopes,
each including the ones before it: read; agent (act as one agent); human (act as you, or as any agent of
yours); admin (also tokens, projects, and settings).

exit status: 0 done, 6 no such token, 77 only a human may do this, 78 others can read the token file
"""

from __future__ import annotations

from dibs.cli.support.parsing import arg
from dibs.cli.support.serving import only_humans
from dibs.errors import BadInput, NotFound, Unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from dibs.server.security.tokens import TokenRow, TokenStore

_SCOPES = ("read", "agent", "human", "admin")
#: Seconds that the server has to answer.
_PATIENCE = 10.0
_SHORTEST, _LONGEST = 1.0, 10 * 365 * 86_400.0


def run(args: Namespace) -> int:
    """Run a verb; none of them needs a running server."""
    args.act(args)
    return 0


def _new(args: Namespace) -> None:
    """Create a token, and print it once."""
    from dibs.core.claims.agents import check_own_id
    from dibs.core.text.names import check_agent_id
    from dibs.server.security.identity import TokenScope

    named = ""
    if args.agent is not None:
        named = check_own_id(check_agent_id(args.agent), human=False)
    scope = TokenScope[(args.scope or ("agent" if named else "read")).upper()]
    if named and scope is not TokenScope.AGENT:
        raise BadInput(
            "--agent is for the scope agent", field="agent", hint="omit --agent or --scope"
        )
    if scope is TokenScope.AGENT and not named:
        raise BadInput("the scope agent needs --agent", field="agent", hint="name it: --agent NAME")
    only_humans(args, "create tokens", "dibs token new")
    project, folder = _project(args) if named else ("", "")
    token, row = _store().new(
        scope, agent=named, project=project, folder=folder, lifetime=_lifetime(args.expires)
    )
    if args.json:
        _print_json({"token": token, **_shown(row)})
        return
    import sys

    print(token, flush=True)
    print(f"dibs: {_about(row)}; it is shown only this once", file=sys.stderr)


def _list(args: Namespace) -> None:
    """List the tokens that are valid."""
    rows = _store().all()
    if args.json:
        _print_json({"tokens": [_shown(row) for row in rows]})
        return
    if not rows:
        print("no tokens: create one with `dibs token new`")
        return
    import time

    from dibs.cli.support.tables import table
    from dibs.cli.support.text import clock

    now = time.time()

    def at(moment: float | None, otherwise: str) -> str:
        return otherwise if moment is None else clock(moment, now)

    cells = [
        (row.id, row.scope.name.lower(), _who(row), at(row.created, ""), at(row.used, "never"),
         at(row.expires, "never"))
        for row in rows
    ]  # fmt: skip
    print("\n".join(table(("ID", "SCOPE", "FOR", "CREATED", "LAST USED", "EXPIRES"), cells)))


def _revoke(args: Namespace) -> None:
    """Revoke a token; a running server refuses it at once."""
    only_humans(args, "revoke tokens", "dibs token revoke ID")
    row = _store().revoke(args.id)
    if args.json:
        _print_json(_shown(row))
    else:
        print(f"revoked {row.id}: {_about(row)}")


def _login(args: Namespace) -> None:
    """Print a link that signs one browser in, within a minute; the server must be running."""
    import json

    from dibs.client.connection import ServerAddress
    from dibs.local.server_files import running_server, server_folder

    only_humans(args, "sign a browser in", "dibs token login")
    info = running_server(server_folder())
    if info is None:
        raise Unavailable("the server is not running", hint="run: dibs serve")
    link = ServerAddress("unix", info.socket, 0, "").connect(_PATIENCE)
    try:
        kind = {"Content-Type": "application/json"}
        link.request("POST", "/api/v1/login", b"{}", kind)
        answer = json.loads(link.getresponse().read())
    finally:
        link.close()
    if "error" in answer:
        raise Unavailable(answer["error"]["message"], hint=answer["error"]["hint"] or "")
    if args.json:
        _print_json(answer)
    else:
        print(answer["url"])


def _project(args: Namespace) -> tuple[str, str]:
    from dibs.core.text.names import printable
    from dibs.project.location import locate
    from dibs.server.projects import project_id

    place = locate(args.repo)
    if not place.is_project:
        raise NotFound(
            f"{printable(place.repository.root)} is not a Dibs project",
            code="NO_PROJECT",
            hint="run: dibs init",
        )
    return project_id(place.repository.state), place.repository.root


def _lifetime(text: str | None) -> float | None:
    from dibs.core.text.durations import check_span

    return (
        None
        if text is None
        else check_span(text, _SHORTEST, _LONGEST, field="expires", code="SPAN")
    )


def _store() -> TokenStore:
    from dibs.local.server_files import server_folder
    from dibs.server.security.tokens import TokenStore

    return TokenStore(server_folder())


def _shown(row: TokenRow) -> dict[str, object]:
    from dibs.server.security.tokens import shape

    return shape(row)


def _who(row: TokenRow) -> str:
    import os

    from dibs.core.text.names import printable

    if row.agent:
        return f"{row.agent} in {printable(os.path.basename(row.folder))}"
    return row.kind


def _about(row: TokenRow) -> str:
    import time

    from dibs.cli.support.text import clock

    whom = f" for {_who(row)}" if row.agent else ""
    until = f", until {clock(row.expires, time.time())}" if row.expires is not None else ""
    return f"token {row.id}, scope {row.scope.name.lower()}{whom}{until}"


def _print_json(shape: object) -> None:
    from dibs.cli.support.session import print_json

    print_json(shape)


VERBS = {
    "ls": ("list tokens", (), _list),
    "new": (
        "create a token",
        (
            arg("--agent", metavar="NAME", help="the only agent that it acts as, in this project"),
            arg("--scope", choices=_SCOPES, help="what it may do (default: read, or agent)"),
            arg(
                "--expires",
                metavar="SPAN",
                help="expire after this long, such as 8h (default: never)",
            ),
        ),
        _new,
    ),
    "login": ("print a link that signs a browser in, once", (), _login),
    "revoke": ("revoke a token", (arg("id", metavar="ID", help="the token's id"),), _revoke),
}
