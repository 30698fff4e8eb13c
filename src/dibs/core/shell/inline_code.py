"""Find what a program inside a command writes, for languages other than Python: ``node -e``. Pure.

Only literal paths are recognized, and variables that were assigned one.
"""

from __future__ import annotations

import re

from dibs.core.shell.words import Arg
from dibs.core.toolcalls.values import How

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.shell.effects import ShellEffects

_TEXT = r"""("[^"\\\n]{0,400}"|'[^'\\\n]{0,400}')"""
_NAME = r"\$?[A-Za-z_]\w{0,80}"
_ARG = rf"(?:{_TEXT}|({_NAME}))"
_SET = re.compile(rf"({_NAME})\s{{0,9}}=\s{{0,9}}{_TEXT}")
_GAP = r"\s{0,9}"
_FS = r"(?:fs\w{0,10}|promises|require\([^()\n]{1,40}\)|import\([^()\n]{1,40}\)\)?)"
_DELETES = (
    rf"{_FS}\.(?:unlink|rm|rmdir)|\b(?:unlink|rm|rmdir)Sync"
    r"|File\.(?:delete|unlink)|FileUtils\.(?:rm|rm_f|rm_rf|rm_r)|Deno\.remove(?:Sync)?|\bunlink"
    r"|\brmtree|\bremove_tree"
)
_WRITES = (
    rf"{_FS}\.truncate|\b(?:write|append)File|\b(?:truncate|outputFile|writeJson)Sync"
    r"|(?:fs\.)?createWriteStream|File\.write|IO\.write|file_put_contents"
    r"|Deno\.write(?:TextFile|File)(?:Sync)?|Bun\.write"
)
_MOVES = (
    rf"{_FS}\.rename|\brenameSync|File\.rename"
    r"|FileUtils\.mv|\brename|Deno\.rename(?:Sync)?"
)
_COPIES = (
    rf"{_FS}\.(?:copyFile|cp)|\b(?:copyFile|cp)Sync"
    r"|FileUtils\.cp(?:_r)?|\bcopy|Deno\.copyFile(?:Sync)?"
)
_COMMA = rf"{_GAP},{_GAP}"
#: Modes in which Ruby, Node, and Perl open a file to change it.
_MODE = r"""["'](?![rbt]{1,4}["'])[rwaxbt+]{1,4}["']"""
_PERL_MODE = r"""["']\+?>>?[^"']{0,20}["']"""
#: Calls, and what each does to its arguments.
_CALLS = [(re.compile(text), hows) for text, hows in (
    (rf"\bopen(?:Sync)?{_GAP}\({_GAP}{_ARG}{_COMMA}{_MODE}", (How.WRITE,)),
    (rf"\bopen{_GAP}\(?[^,\n]{{0,60}}{_COMMA}{_PERL_MODE}{_COMMA}{_ARG}", (How.WRITE,)),
    (rf"(?:{_DELETES}){_GAP}[\s(]{_GAP}{_ARG}", (How.DELETE,)),
    (rf"(?:{_WRITES})(?:Sync)?{_GAP}[\s(]{_GAP}{_ARG}", (How.WRITE,)),
    (rf"(?:{_MOVES}){_GAP}[\s(]{_GAP}{_ARG}{_COMMA}{_ARG}", (How.DELETE, How.WRITE)),
    (rf"(?:{_COPIES}){_GAP}\({_GAP}{_ARG}{_COMMA}{_ARG}", (How.READ, How.WRITE)),
)]  # fmt: skip
_PERL_TWO = re.compile(
    r"""\bopen\s{0,9}\(?[^,\n]{0,60},\s{0,9}["']\+?>>?\s{0,9}([^"'\n>]{1,300})["']"""
)
_SHELLS = re.compile(
    r"(?:\bexecSync|\bexec|\bsystem|\bspawnSync)\s{0,9}"
    rf"[\s(]\s{{0,9}}{_TEXT}"
)
_STARTS = re.compile(
    rf"\b(?:execFile|spawn)(?:Sync)?\(\s{{0,9}}{_TEXT}\s{{0,9}},\s{{0,9}}\[([^\[\]]{{0,2000}})\]"
)
_TEXTS = re.compile(_TEXT)
_BACKTICKS = re.compile(r"`([^`\n]{1,400})`")
#: How many times constant expressions are joined.
_ROUNDS = 12
_LIST = r"\[([^\[\]\n]{1,2000})\]"
_EACH = (
    re.compile(rf"\b(?:const|let|var|my)\s(?P<name>{_NAME})\sof\s{_LIST}"),
    re.compile(rf"{_LIST}\.forEach\(\s{{0,9}}(?:async\s)?\(?\s{{0,9}}(?P<name>{_NAME})"),
)
#: Names of the current folder.
_FOLDER = re.compile(r"\bprocess\.cwd\(\)|\b__dirname\b")
_TEMPLATE = re.compile(r"`([^`'\n]{0,400})`")
_NAME_PLUS = re.compile(r"""(\$?[A-Za-z_]\w{0,80})(\s{0,9}[+.]\s{0,9}["'])""")
_JOINS = rf"(?:\bpath\w{{0,9}}\.(?:join|resolve)|\brequire\([^()\n]{{1,40}}\)\.join|\bFile\.join)\({_GAP}"
_JOIN = re.compile(rf"({_JOINS}){_TEXT}{_COMMA}{_TEXT}")
_JOINED = re.compile(rf"{_JOINS}{_TEXT}{_GAP}\)")
_ARRAY = re.compile(
    rf"\[((?:{_GAP}{_TEXT.replace('(', '(?:', 1)}{_GAP},?){{1,20}})\]\.join\({_GAP}{_TEXT}{_GAP}\)"
    rf"|(?<![.\w])join\({_GAP}{_TEXT}{_COMMA}((?:{_GAP}{_TEXT.replace('(', '(?:', 1)}{_GAP},?){{1,20}})\)"
)
_PLUS = re.compile(rf"{_TEXT}{_GAP}[+.]{_GAP}{_TEXT}")


def look(to: ShellEffects, text: str, *, shell_quotes: bool = False) -> None:
    """Collect what a program writes; with ``shell_quotes``, text in backticks is a shell command."""
    if shell_quotes:
        for m in _BACKTICKS.finditer(text):
            to.script(m[1])
    code, known = _folded(text)
    for call, hows in _CALLS:
        for m in call.finditer(code):
            for at, how in enumerate(hows):
                _argument(to, m[2 * at + 1], m[2 * at + 2], how, known)
    for m in _PERL_TWO.finditer(code):
        to.touch(_named(m[1].strip()))
    _started(to, code)


def _folded(code: str) -> tuple[str, dict[str, list[str]]]:
    """Return a program with its constant paths joined, and the variables with known values."""
    known: dict[str, list[str]] = {}
    code = _FOLDER.sub("'.'", code)
    for _ in range(_ROUNDS):
        known = {}
        for m in _SET.finditer(code):
            known.setdefault(m[1], []).append(m[2][1:-1])
        for each in _EACH:
            for m in each.finditer(code):
                known.setdefault(m["name"], []).extend(one[1:-1] for one in _TEXTS.findall(m[0]))
        single = {name: texts[0] for name, texts in known.items() if len(texts) == 1}
        folded = _TEMPLATE.sub(lambda m, known=single: _filled(m, known), code)  # type: ignore[misc]
        folded = _NAME_PLUS.sub(lambda m, known=single: _put_in(m, known), folded)  # type: ignore[misc]
        folded = _JOIN.sub(lambda m: m[1] + "'" + m[2][1:-1] + "/" + m[3][1:-1] + "'", folded)
        folded = _JOINED.sub(r"\1", folded)
        folded = _ARRAY.sub(_glued, folded)
        folded = _PLUS.sub(lambda m: "'" + m[1][1:-1] + m[2][1:-1] + "'", folded)
        if folded == code:
            break
        code = folded
    return code, known


def _filled(m: re.Match[str], known: dict[str, str]) -> str:
    """Return a template of JavaScript as a string, if all of its variables are known."""
    text = re.sub(r"\$\{(\w{1,80})\}", lambda v: known.get(v[1], v[0]), m[1])
    return f"'{text}'" if "${" not in text and "'" not in text else m[0]


def _put_in(m: re.Match[str], known: dict[str, str]) -> str:
    """Return a variable before ``+`` and a string as its value, if that is known."""
    return f"'{known[m[1]]}'{m[2]}" if m[1] in known else m[0]


def _glued(m: re.Match[str]) -> str:
    parts = [one[1:-1] for one in _TEXTS.findall(m[1] or m[4])]
    glue = (m[2] or m[3])[1:-1]
    return "'" + glue.join(parts) + "'"


def _argument(
    to: ShellEffects, literal: str | None, name: str | None, how: str, known: dict[str, list[str]]
) -> None:
    """Record a path that is an argument: a string, or a variable that was assigned one."""
    paths = [literal[1:-1]] if literal else known.get(name or "", [])
    for path in paths:
        to.touch(_named(path), how, deep=how == How.DELETE)
    if name and not paths and how != How.READ:
        to.unsure = True


def _named(path: str) -> Arg:
    """Return a path in a program; one with braces is known only at run time."""
    return Arg(path, sure="{" not in path and "$" not in path)


def _started(to: ShellEffects, code: str) -> None:
    """Process the commands that a program starts."""
    for m in _SHELLS.finditer(code):
        to.script(m[1][1:-1])
    for m in _STARTS.finditer(code):
        to.run([Arg(found[1:-1]) for found in (m[1], *_TEXTS.findall(m[2]))])
