"""Find what a program inside a command writes: ``python -c``, ``node -e``, and patches. Pure.

Only literal paths are recognized, and variables that were assigned one.
"""

from __future__ import annotations

import re

from dibs.core.shell.words import Arg
from dibs.core.toolcalls import patches
from dibs.core.toolcalls.values import How

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.shell.effects import ShellEffects

#: The rest of a longer program is not read.
_LONGEST = 400_000
_TEXT = r"""[rbuf]{0,2}("[^"\\\n]{0,400}"|'[^'\\\n]{0,400}')"""
_NAME = r"\$?[A-Za-z_]\w{0,80}"
_ARG = rf"(?:{_TEXT}|({_NAME}))"
_SET = re.compile(rf"({_NAME})\s{{0,9}}=\s{{0,9}}(?:(?:pathlib\.)?Path\(\s{{0,9}})?{_TEXT}")
_METHOD = re.compile(
    rf"(?:\bPath\(\s{{0,9}}{_ARG}\s{{0,9}}\)|\b({_NAME}))\s{{0,9}}\.\s{{0,9}}"
    r"(write_text|write_bytes|unlink|touch|rename|replace|rmdir|open)\s{0,9}\(([^()\n]{0,200})"
)
_GAP = r"\s{0,9}"
_DELETES = (
    r"os\.(?:remove|unlink|rmdir)|shutil\.rmtree|(?:fs\w{0,10}|promises)\.(?:unlink|rm|rmdir)(?:Sync)?"
    r"|File\.(?:delete|unlink)|FileUtils\.(?:rm|rm_f|rm_rf|rm_r)|Deno\.remove(?:Sync)?|\bunlink"
)
_WRITES = (
    r"os\.truncate|(?:fs\w{0,10}|promises)\.(?:writeFile|appendFile|truncate)(?:Sync)?"
    r"|(?:fs\.)?createWriteStream|File\.write|IO\.write|file_put_contents"
    r"|Deno\.write(?:TextFile|File)(?:Sync)?|Bun\.write|\b(?:writeFileSync|appendFileSync)"
)
_MOVES = (
    r"os\.(?:rename|replace|renames)|shutil\.move|fs\w{0,10}\.rename(?:Sync)?|File\.rename"
    r"|FileUtils\.mv|\brename"
)
_COPIES = (
    r"shutil\.copy(?:file|2|tree|fileobj)?|fs\w{0,10}\.(?:copyFile|cp)(?:Sync)?"
    r"|FileUtils\.cp(?:_r)?|\bcopy"
)
_COMMA = rf"{_GAP},{_GAP}"
#: Modes in which Python, Ruby, and Perl open a file to change it.
_MODE = r"""["'](?![rbt]{1,4}["'])[rwaxbt+]{1,4}["']"""
_RUBY_MODE = r"""["'](?:[wa]\+?b?|r\+)["']"""
_PERL_MODE = r"""["']\+?>>?[^"']{0,20}["']"""
#: Calls, and what each does to its arguments.
_CALLS = [(re.compile(text), hows) for text, hows in (
    (rf"\bopen{_GAP}\({_GAP}{_ARG}{_COMMA}(?:mode{_GAP}={_GAP})?{_MODE}", (How.WRITE,)),
    (rf"File\.open\({_GAP}{_ARG}{_COMMA}{_RUBY_MODE}", (How.WRITE,)),
    (rf"\bopen{_GAP}\(?[^,\n]{{0,60}}{_COMMA}{_PERL_MODE}{_COMMA}{_ARG}", (How.WRITE,)),
    (rf"(?:{_DELETES}){_GAP}[\s(]{_GAP}{_ARG}", (How.DELETE,)),
    (rf"(?:{_WRITES}){_GAP}[\s(]{_GAP}{_ARG}", (How.WRITE,)),
    (rf"(?:{_MOVES}){_GAP}\({_GAP}{_ARG}{_COMMA}{_ARG}", (How.DELETE, How.WRITE)),
    (rf"(?:{_COPIES}){_GAP}\({_GAP}{_ARG}{_COMMA}{_ARG}", (How.READ, How.WRITE)),
)]  # fmt: skip
_PERL_TWO = re.compile(
    r"""\bopen\s{0,9}\(?[^,\n]{0,60},\s{0,9}["']\+?>>?\s{0,9}([^"'\n>]{1,300})["']"""
)
_SHELLS = re.compile(
    r"(?:os\.system|os\.popen|subprocess\.\w{1,20}|\bexecSync|\bexec|\bsystem|\bspawnSync)\s{0,9}"
    rf"[\s(]\s{{0,9}}{_TEXT}"
)
_LISTS = re.compile(r"subprocess\.\w{1,20}\(\s{0,9}\[([^\[\]]{1,2000})\]")
_TEXTS = re.compile(_TEXT)
_CHANGED = frozenset("wax+")


def look(to: ShellEffects, text: str) -> None:
    """Collect what a program writes."""
    if len(text) > _LONGEST:
        to.unsure = True
    code = text[:_LONGEST]
    known = {m[1]: m[2][1:-1] for m in _SET.finditer(code)}
    for call, hows in _CALLS:
        for m in call.finditer(code):
            for at, how in enumerate(hows):
                _argument(to, m[2 * at + 1], m[2 * at + 2], how, known)
    for m in _PERL_TWO.finditer(code):
        to.touch(_named(m[1].strip()))
    for m in _METHOD.finditer(code):
        _method(to, m, known)
    _started(to, code)


def _argument(
    to: ShellEffects, literal: str | None, name: str | None, how: str, known: dict[str, str]
) -> None:
    """Record a path that is an argument: a string, or a variable that was assigned one."""
    path = literal[1:-1] if literal else known.get(name or "")
    if path is not None:
        to.touch(_named(path), how, deep=how == How.DELETE)
    elif name and how != How.READ:
        to.unsure = True


def _method(to: ShellEffects, m: re.Match[str], known: dict[str, str]) -> None:
    """Collect what a path's method does; a variable counts only if it has a known path."""
    literal, inner, name, verb, given = m[1], m[2], m[3], m[4], m[5]
    path = literal[1:-1] if literal else known.get(inner or name or "")
    if path is None:
        if inner and verb != "open":
            to.unsure = True
        return
    if verb == "open" and _CHANGED.isdisjoint(given.replace("mode", "")):
        return
    if verb in {"rename", "replace"}:
        texts = _TEXTS.findall(given)
        if verb == "replace" and len(texts) != 1:
            return  # a string method
        for found in texts[:1]:
            to.touch(_named(found[1:-1]))
    gone = verb in {"unlink", "rmdir", "rename", "replace"}
    to.touch(_named(path), How.DELETE if gone else How.WRITE)


def _named(path: str) -> Arg:
    """Return a path in a program; one with braces is known only at run time."""
    return Arg(path, sure="{" not in path and "$" not in path)


def _started(to: ShellEffects, code: str) -> None:
    """Process the commands that a program starts."""
    for m in _SHELLS.finditer(code):
        to.script(m[1][1:-1])
    for m in _LISTS.finditer(code):
        to.run([Arg(found[1:-1]) for found in _TEXTS.findall(m[1])])


def patched(to: ShellEffects, text: str) -> None:
    """Record the files that a patch names, in the format of git, diff, or apply_patch."""
    if patches.is_patch(text):
        for touch in patches.touched(text):
            to.touch(Arg(touch.path), touch.how)
        return
    strip = "\n+++ b/" in f"\n{text}" or "\n--- a/" in f"\n{text}"
    for line in text.splitlines():
        for sign, how in _PATCH_LINES:
            if line.startswith(sign):
                name = line[len(sign) :].split("\t")[0].strip()
                if sign in {"--- ", "+++ "} and strip and name[:2] in {"a/", "b/"}:
                    name = name[2:]
                to.touch(Arg(name), how)


_PATCH_LINES = (
    ("+++ ", How.WRITE), ("--- ", How.WRITE), ("rename from ", How.DELETE), ("rename to ", How.WRITE),
)  # fmt: skip
