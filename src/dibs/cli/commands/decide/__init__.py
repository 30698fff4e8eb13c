"""Record what was decided, or ask somebody to confirm it; list, show, confirm and reject decisions.

Examples:
  dibs decide new "snake_case for columns" --category style
  dibs decide new "use httpx" --category dependency --confirm
  dibs decide new "split the parser" --confirm --by lead --rationale "..."
  dibs decide ls --pending
  dibs decide confirm d12

A decision waits until somebody decides who may: whom --by names, or a human.
Silence decides only where dibs.toml says so ([decide] allow, deny).

exit status: 0 done, 6 there is no such decision, 65 it was decided before,
77 you may not decide it
"""

from __future__ import annotations

_MAKE, _LOOK, _VOTE = "decide.make", "decide.look", "decide.vote"
VERBS = {
    "new": (_MAKE, "record a decision, or ask for one"),
    "ls": (_LOOK, "list decisions"),
    "show": (_LOOK, "show a decision, and who may decide it"),
    "confirm": (_VOTE, "confirm what waits"),
    "reject": (_VOTE, "reject what waits, and say why"),
    "comment": (_MAKE, "say something on a decision"),
    "withdraw": (_MAKE, "take back what you asked for"),
    "revoke": (_VOTE, "of a conflict: take the claim from its holder"),
    "refuse": (_VOTE, "of a conflict: leave the claim with its holder"),
}
