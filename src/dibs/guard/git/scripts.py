"""The texts of the hooks: small shell scripts that run what was there before, then ask Dibs.

They start no interpreter where there is nothing to ask. What they name is found from where they lie, but for
the interpreter, so a repository can be moved.
"""

from __future__ import annotations

import os
import shlex
import sys

from dibs.git.hook_scripts import BEFORE, marked
from dibs.guard.git.messages import HEADER, WAY_OUT

LOCAL = ("pre-commit", "pre-push", "reference-transaction")
SERVER = ("pre-receive", "update")
#: Hooks that a folder of hooks may get later, so that a folder in front of it passes them on.
USUAL = (
    *("applypatch-msg", "pre-applypatch", "post-applypatch", "pre-merge-commit"),
    *("prepare-commit-msg", "commit-msg", "post-commit", "pre-rebase", "post-checkout"),
    *("post-merge", "post-rewrite", "pre-auto-gc"),
)

_HEAD = """\
case $0 in */*) here=${{0%/*}} ;; *) here=. ;; esac
before={before}
"""

# Somebody's link from another hook to this one means the hook that was here.
_OTHER_NAME = """\
case ${{0##*/}} in
{name} | {name}.legacy) ;;
*) [ ! -x "$before" ] || exec "$before" "$@"; exit 0 ;;
esac
"""

# Nothing that a pusher sets opens a server.
_ALONE = "unset DIBS_GATE_ON_ERROR\n"

_ASK = """
python={python}
dibs() {{
    if [ ! -x "$python" ]; then
        if [ "${{DIBS_GATE_ON_ERROR-}}" = allow ]; then
            echo "dibs: let pass, though $python is gone: run dibs git install again" >&2
            return 0
        fi
        echo "dibs: refused, because $python is gone: run dibs git install again" >&2
        echo "{way_out}" >&2
        return 1
    fi
    "$python" -I -S -c {code} "$@"
}}
"""

_CODE = """\
import os, sys
sys.path += {folders!r}
try:
    from dibs.guard.githook import program
except ImportError as error:
    why = f"Dibs cannot be loaded ({{error}}): run dibs git install again"
    if os.environ.get("DIBS_GATE_ON_ERROR") == "allow":
        print(f"dibs: let pass, though {{why}}", file=sys.stderr)
        sys.exit(0)
    sys.exit(f"dibs: refused, because {{why}}\\n{way_out}")
program()
"""

_HAND_ON = """
[ ! -x "$before" ] || exec "$before" "$@"
"""

# A merge brings what others did; which of it is new, only the finished commit can tell.
_PRE_COMMIT = """
[ ! -x "$before" ] || "$before" "$@" || exit
[ -z "${{DIBS_COMMITTING-}}" ] || exit 0
git_dir=${{GIT_DIR:-.git}}
[ ! -e "$git_dir/MERGE_HEAD" ] || exit 0
git -c core.fsmonitor=false diff --cached --name-only -z --no-renames --no-ext-diff \\
    --no-textconv --no-relative --ignore-submodules=none |
    dibs pre-commit "$git_dir/{note}" "$PPID"
"""

# The note of pre-commit holds if it is of the same git process, if the branch now moves over exactly the
# paths that were asked about, and if the store has not changed since: then nobody has to be asked again.
_REFERENCE_TRANSACTION = """
if [ -x "$before" ]; then
    given=$(cat) || exit
    printf '%s\\n' "$given" | "$before" "$@" || exit
    [ "$1" = prepared ] || exit 0
    exec <<lines_of_the_update
$given
lines_of_the_update
fi
[ "$1" = prepared ] || exit 0
found= rest=
while read -r old new ref; do
    case $ref in
    refs/heads/*)
        case $new in
        *[!0]*) [ "$old" = "$new" ] || {{ found="$old $new $ref"; break; }} ;;
        esac
        ;;
    esac
done
[ -n "$found" ] || exit 0
if read -r line; then
    rest=$(cat) || exit
    rest=$line"
"$rest
fi
note=${{GIT_DIR:-.git}}/{note}
if [ -z "$rest" ] && [ -f "$note" ] && cmp -s -n {size} {state}/dibs.db-shm "$note-shm" &&
    {{
        printf '%s %s\\n' "$PPID" "${{DIBS_AGENT-}}"
        git diff-tree -r -z --name-only --no-renames "$old" "$new" --
    }} 2>/dev/null | cmp -s - "$note"; then
    exit 0
fi
printf '%s\\n' "$found" "$rest" | dibs reference-transaction
"""

_LINES = """
given=$(cat) || exit
lines() {{ [ -z "$given" ] || printf '%s\\n' "$given"; }}
[ ! -x "$before" ] || lines | "$before" "$@" || exit
[ -n "$given" ] || exit 0
lines | dibs {name} "$@"
"""

_ARGUMENTS = """
[ ! -x "$before" ] || "$before" "$@" || exit
dibs {name} "$@" </dev/null
"""

_BODIES = {
    "pre-commit": _PRE_COMMIT,
    "reference-transaction": _REFERENCE_TRANSACTION,
    "pre-push": _LINES,
    "pre-receive": _LINES,
    "update": _ARGUMENTS,
}

#: What pre-commit leaves for the update of the branch, in the git directory of the working tree.
NOTE = "dibs-pass"


def script(name: str, *, before: str = "", beside_state: bool = False) -> str:
    """Return the text of a hook.

    ``before`` is the folder whose hooks run first; without one, it is what was renamed. ``beside_state`` is
    for a folder of hooks inside of the state's own.
    """
    earlier = f'"$here"/{name}{BEFORE}'
    if before:
        earlier = shlex.quote(os.path.join(before, name))
    head = _HEAD.format(before=earlier) + _OTHER_NAME.format(name=name)
    body = _BODIES.get(name)
    if body is None:
        return marked(head + _HAND_ON)
    state = '"$here"/..' if beside_state else '"$here"/../dibs'
    way_out = WAY_OUT
    if name in SERVER:
        head, way_out = head + _ALONE, "  whoever keeps the server has to do that"
    code = shlex.quote(_CODE.format(folders=_folders(), way_out=way_out))
    ask = _ASK.format(python=shlex.quote(sys.executable), code=code, way_out=way_out)
    return marked(head + ask + body.format(name=name, note=NOTE, size=HEADER, state=state))


def _folders() -> list[str]:
    """Return where the interpreter finds Dibs and what it needs, without looking through packages."""
    from importlib.util import find_spec

    found: list[str] = []
    for name in ("dibs", "apsw", "hiredis"):
        spec = find_spec(name)
        if spec is not None and spec.origin:
            folder = os.path.dirname(os.path.dirname(os.path.abspath(spec.origin)))
            if folder not in found:
                found.append(folder)
    return found
