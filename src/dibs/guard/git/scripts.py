"""The hook scripts: small shell scripts that run the user's hook, then Dibs.

They start Python only if there is something to check. All paths except the interpreter's are relative to the
script, so a repository can be moved.
"""

from __future__ import annotations

import os
import shlex
import sys

from dibs.git.hook_scripts import BEFORE, marked
from dibs.guard.git.messages import HEADER, UNLOADABLE, WAY_OUT

HOOKS = ("pre-commit", "pre-push", "reference-transaction", "post-checkout", "post-rewrite")
#: Hooks that the user's folder may get later; our folder passes them on.
USUAL = (
    *("applypatch-msg", "pre-applypatch", "post-applypatch", "pre-merge-commit"),
    *("prepare-commit-msg", "commit-msg", "post-commit", "pre-rebase"),
    *("post-merge", "pre-auto-gc"),
)

_HEAD = """\
case $0 in */*) here=${{0%/*}} ;; *) here=. ;; esac
before={before}
"""

# If the user linked another hook to this one, run the original.
_OTHER_NAME = """\
case ${{0##*/}} in
{name} | {name}.legacy) ;;
*) [ ! -x "$before" ] || exec "$before" "$@"; exit 0 ;;
esac
"""

_ASK = """
python={python}
by_agent() {{
    [ -z "${{DIBS_AGENT-}}" ] || return 0
    pid=$PPID
    while [ "$pid" -gt 1 ] 2>/dev/null; do
        [ ! -e {state}/sessions/"$pid" ] || return 0
        [ ! -e "${{GIT_DIR:-.git}}/dibs/sessions/$pid" ] || return 0
        read -r about <"/proc/$pid/stat" || return 1
        about=${{about##*) }}
        about=${{about#* }}
        pid=${{about%% *}}
    done
    return 1
}}
dibs() {{
    why="$python is missing"
    if [ -x "$python" ]; then
        "$python" -I -S -c {code} "$@" && return
        status=$?
        [ $status = {unloadable} ] || return $status
        why="Dibs cannot be loaded"
    fi
    if [ "${{DIBS_GATE_ON_ERROR-}}" = allow ] && ! by_agent; then
        echo "dibs: warning: allowed without checking claims: $why" >&2
        return 0
    fi
    folder=$(cd "$here" && pwd)
    cat >&2 <<the_end
dibs: refused: cannot check claims: $why
  if Dibs moved, run: dibs git install
  if Dibs was uninstalled, remove its hooks: {remove}
the_end
    [ ! -e "$before" ] || echo "  your own hook is $before" >&2
    echo "{way_out}" >&2
    return 1
}}
"""

_CODE = """\
import sys
sys.path += {folders!r}
try:
    from dibs.guard.githook import program
except ImportError as error:
    print(f"dibs: {{error}}", file=sys.stderr)
    sys.exit({unloadable})
program()
"""

_FORWARD = """
[ ! -x "$before" ] || exec "$before" "$@"
"""

# A merge contains other people's changes; only the finished commit shows which are new.
_PRE_COMMIT = """
[ ! -x "$before" ] || "$before" "$@" || exit
[ -z "${{DIBS_COMMITTING-}}" ] || exit 0
git_dir=${{GIT_DIR:-.git}}
[ ! -e "$git_dir/MERGE_HEAD" ] || exit 0
git -c core.fsmonitor=false diff --cached --name-only -z --no-renames --no-ext-diff \\
    --no-textconv --no-relative --ignore-submodules=none |
    dibs pre-commit "$git_dir/{note}" "$PPID"
"""

# The pre-commit hook has already checked this update if its note is from the same git process, the branch
# moves over exactly the checked paths to a commit on top, and the store has not changed since. An update of
# HEAD alone matters if an agent takes HEAD off its branch, and one of a remote-tracking branch if it does not
# come from a fetch: commits on it count as known. A fetch over the network is the common case, so it starts
# no interpreter.
_REFERENCE_TRANSACTION = """
from_afar() {{
    [ -r "/proc/$PPID/cmdline" ] || return 0
    git config --get-regexp '^remote\\..*\\.url$' | {{
        while read -r _ url; do
            case $url in file:*) exit 1 ;; *:*) ;; *) exit 1 ;; esac
        done
    }} || return 1
    ! git config --get-regexp '^url\\..*\\.insteadof$' >/dev/null || return 1
    tr '\\0' '\\n' <"/proc/$PPID/cmdline" | {{
        read -r _
        verb=
        while read -r word; do
            case $word in
            -c | -C | --git-dir | --work-tree | --namespace | --config-env) read -r _ ;;
            -*) ;;
            *) verb=$word; break ;;
            esac
        done
        [ "$verb" = fetch ] || exit 1
        while read -r word; do
            case $word in . | file:*) exit 1 ;; esac
            [ ! -e "$word" ] || exit 1
        done
    }}
}}
has_agents() {{
    for one in {state}/sessions/* "${{GIT_DIR:-.git}}"/dibs/sessions/*; do
        [ ! -e "$one" ] || return 0
    done
    [ -n "${{DIBS_AGENT-}}" ]
}}
if [ -x "$before" ]; then
    given=$(cat) || exit
    printf '%s\\n' "$given" | "$before" "$@" || exit
    [ "$1" = prepared ] || exit 0
    exec <<lines_of_the_update
$given
lines_of_the_update
fi
[ "$1" = prepared ] || exit 0
found= rest= head= remote=
while read -r old new ref; do
    case $ref in
    refs/heads/*)
        case $new in
        *[!0]*) [ "$old" != "$new" ] || continue ;;
        esac
        found="$old $new $ref"
        break
        ;;
    refs/remotes/*)
        case $new in
        *[!0]*) [ "$old" = "$new" ] || remote="$remote$old $new $ref
" ;;
        esac
        ;;
    HEAD) [ "$old" = "$new" ] || head="$old $new $ref" ;;
    esac
done
if [ -z "$found$remote" ]; then
    [ -n "$head" ] || exit 0
    read -r now <"${{GIT_DIR:-.git}}/HEAD" || exit 0
    case $now in
    *.invalid) ;;
    ref:*) ! has_agents || {{ printf '%s\n' "$head" | dibs {name} "$PPID"; exit; }} ;;
    esac
    exit 0
fi
if [ -z "$found" ]; then
    ! has_agents || from_afar || {{ printf '%s' "$remote" | dibs {name} "$PPID"; exit; }}
    exit 0
fi
if read -r line; then
    rest=$(cat) || exit
    rest=$line"
"$rest
fi
note=${{GIT_DIR:-.git}}/{note}
if [ -z "$rest$remote" ] && [ -f "$note" ] && [ "$(git rev-parse -q --verify "$new^")" = "$old" ] &&
    cmp -s -n {size} {state}/dibs.db-shm "$note-shm" &&
    {{
        printf '%s %s\\n' "$PPID" "${{DIBS_AGENT-}}"
        git diff-tree -r -z --name-only --no-renames "$old" "$new" --
    }} 2>/dev/null | cmp -s - "$note"; then
    exit 0
fi
printf '%s\\n' "$remote$found" "$rest" | dibs {name} "$PPID"
"""

_PRE_PUSH = """
given=$(cat) || exit
lines() {{ [ -z "$given" ] || printf '%s\\n' "$given"; }}
[ ! -x "$before" ] || lines | "$before" "$@" || exit
[ -n "$given" ] || exit 0
lines | dibs {name} "$@"
"""

# The third argument is 1 if HEAD moved, and 0 for files. Nothing needs to be recorded without state.
_POST_CHECKOUT = """
[ ! -x "$before" ] || "$before" "$@" || exit
[ "$3" = 1 ] && [ -d {state} ] || exit 0
dibs {name} </dev/null 2>/dev/null
exit 0
"""

_POST_REWRITE = """
given=$(cat) || exit
[ ! -x "$before" ] || printf '%s\\n' "$given" | "$before" "$@" || exit
[ -d {state} ] || exit 0
printf '%s\\n' "$given" | dibs {name} 2>/dev/null
exit 0
"""

_BODIES = {
    "pre-commit": _PRE_COMMIT,
    "reference-transaction": _REFERENCE_TRANSACTION,
    "pre-push": _PRE_PUSH,
    "post-checkout": _POST_CHECKOUT,
    "post-rewrite": _POST_REWRITE,
}

#: The note from pre-commit to reference-transaction, in the working tree's git directory.
NOTE = "dibs-pass"


def script(name: str, *, before: str = "", beside_state: bool = False) -> str:
    """Return the text of a hook.

    ``before`` is the folder whose hooks run first; without it, the renamed hook next to the script does.
    ``beside_state`` says that the script is in a folder inside the state folder.
    """
    earlier = f'"$here"/{name}{BEFORE}'
    if before:
        earlier = shlex.quote(os.path.join(before, name))
    head = _HEAD.format(before=earlier) + _OTHER_NAME.format(name=name)
    body = _BODIES.get(name)
    if body is None:
        return marked(head + _FORWARD)
    state = '"$here"/..' if beside_state else '"$here"/../dibs'
    code = _CODE.format(folders=_folders(), unloadable=UNLOADABLE)
    ask = _ASK.format(
        python=shlex.quote(sys.executable),
        code=shlex.quote(code),
        unloadable=UNLOADABLE,
        remove=_removal(before),
        state=state,
        way_out=WAY_OUT,
    )
    return marked(head + ask + body.format(name=name, note=NOTE, size=HEADER, state=state))


def _removal(before: str) -> str:
    """Return the command that removes the hooks without Dibs, as text of a here-document."""
    if before:
        folder = "".join(f"\\{c}" if c in "\\$`" else c for c in shlex.quote(before))
        return f"git config core.hooksPath {folder}"
    return " ".join(["rm -f", *(f"'$folder/{hook}'" for hook in HOOKS)])


def _folders() -> list[str]:
    """Return the folders in which the interpreter finds Dibs and its dependencies."""
    from importlib.util import find_spec

    found: list[str] = []
    for name in ("dibs", "apsw", "hiredis", "psycopg"):
        spec = find_spec(name)
        if spec is not None and spec.origin:
            folder = os.path.dirname(os.path.dirname(os.path.abspath(spec.origin)))
            if folder not in found:
                found.append(folder)
    return found
