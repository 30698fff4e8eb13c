"""The pages that ``dibs help TOPIC`` prints.

A paragraph whose lines start with a space is a list of commands, or of terms, with comments; other
paragraphs are wrapped to the terminal.
"""

from __future__ import annotations

_CLAIMS = """\
A claim says: I am changing these files. Two agents never hold overlapping claims
unless both are shared. A request for several paths is granted all or nothing.

  dibs claim src/auth.py --reason "fix login"   claim a file
  dibs claim 'src/auth/**' docs/api.md          claim a glob and a file
  dibs claim --shared 'schema/*.sql'            share it with other readers
  dibs claim port:8000                          claim a named resource
  dibs who src/auth.py                          see who holds it
  dibs release --all                            release everything

Guarded agents do not need these commands: an edit claims its file, later calls
renew it, and Dibs releases it once the file is committed and the turn ends.

A claim expires 5m after its owner's last heartbeat (setting claims.ttl). Guarded
tool calls are heartbeats, and so is dibs renew. A claim on a path with uncommitted
changes does not expire while its session's process runs on this machine. Before
such a path changes owner, Dibs saves a copy and tells both owners (dibs salvage ls).

If another agent holds what you need:

  dibs claim src/auth.py --wait 5m              wait for your turn
  dibs ask src/auth.py --note "need it today"   ask the owner to release it
  dibs escalate src/auth.py                     let a human decide
  dibs revoke src/auth.py --reason "crashed"    take it away (humans only)

See also: dibs help queue, dibs help guards
"""

_QUEUE = """\
Waiting requests are served in order. A later request never overtakes an
earlier one that it conflicts with; a request for other paths is granted at once.

  dibs claim src/auth.py --wait 5m     wait for at most 5m
  dibs claim src/auth.py --queue       join the queue and return immediately
  dibs claim src/auth.py               run it again when it is your turn
  dibs status                          see the queue

A waiter that has sent no heartbeat for 30s (claims.waiter_ttl) is skipped.
After --queue, you get a message when it is your turn, and have as long to claim.

A request that would create a deadlock is denied at once, and the denial names the
cycle. Claim everything you need in one command, and this cannot happen.

After 2m of waiting (ladder.ask), Dibs sends the owner a release request. After 15m
(ladder.escalate), it asks a human to decide. 0 disables either step.

Exit status 3 means that the claim was denied or queued.

A human decides with:

  dibs decide ls --pending             list pending decisions
  dibs decide show d12                 see both sides
  dibs decide revoke d12               take the claim from its owner
  dibs decide refuse d12 --reason WHY  let the owner keep it

See also: dibs help claims
"""

_ENGINES = """\
An engine is where Dibs stores claims, tasks, messages, and the ledger. The
commands are the same on every engine.

  sqlite    the default: one file in the git directory, no server; one machine
  postgres  a PostgreSQL server (13 or newer): several machines, durable
  redis     a Redis server (6.2 or newer): several machines, fast
  git       a branch named dibs on a git remote: several machines

Set the engine in dibs.toml, or in the variable DIBS_ENGINE:

  engine = "postgresql://host/database"
  engine = "redis://host:6379/0"
  engine = "git:origin"

  dibs config engine                     show the engine in use
  dibs engine check                      check that it is safe and fast enough
  dibs engine check redis://host:6379/0  check another one before you switch
  dibs engine migrate sqlite git:origin  migrate all state to another engine

The git engine pushes to the remote, so a claim takes as long as a push. It suits
crews that make a few claims per minute.

If the store cannot be reached, Dibs says so and changes nothing. Guards then block
edits, unless guard.on_error is "allow".
"""

_GUARDS = """\
A guard blocks a write to a file that another agent holds. There are two kinds:

  agent hooks   check every edit and shell command before it runs
  git hooks     check every commit and push

An agent without hooks can claim files with the tools of the MCP server (dibs mcp);
the git hooks check its commits.

  dibs init                      install guards for the agents found here
  dibs init --dry-run            show what would change
  dibs doctor                    list guards, and agents without one
  dibs doctor --prove            test that every guard blocks a write
  dibs git status                show the git hooks
  dibs init --uninstall          remove everything

The first edit of an unclaimed file claims it (setting guard.auto_claim). Dibs
detects other writes, such as those of a script, after the command runs, reports
them to both agents, and saves the old content.

  dibs config guard.auto_claim   what an edit claims: file, directory, or off
  dibs salvage ls                list saved copies

Guards never block your own edits, only those of agents. Before an agent's call
discards your uncommitted changes, Dibs saves a copy (setting guard.people).
"""

PAGES = {"claims": _CLAIMS, "queue": _QUEUE, "engines": _ENGINES, "guards": _GUARDS}
