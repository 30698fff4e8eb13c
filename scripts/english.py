"""Report wording that docs/glossary.md and CONTRIBUTING rule out, with what to write instead.

Reads Markdown pages, and the strings, docstrings, comments, and test names in Python files:

    scripts/english.py            everything that the project tracks
    scripts/english.py PATH...    some files or folders
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
EVERYWHERE = (
    "README.md",
    "CONTRIBUTING.md",
    "AGENTS.md",
    "CHANGELOG.md",
    "docs",
    "src",
    "tests",
    "scripts",
    "bench",
)
#: These files quote the patterns themselves.
SKIPPED = ("scripts/english.py", "tests/scripts/test_english.py")

#: What a native speaker would not write, and what to write instead.
PATTERNS = {
    r"(?<!there )(is|are|was|were) no (?!longer|more|way|such|\w+er\b)": "'is not a', or 'has no'",
    r"somebody|somebody's|whoever": "someone, any agent, or the noun",
    r"signs? of life": "heartbeat, or renew",
    r"shows? up|turns? up": "appear, or renew",
    r"gone in \d": "expires in",
    r"so (long|often) as|(up to|redraw) so (long|often|many)": "'at most', or 'interval'",
    r"for up to": "for at most",
    r"brought forward|bring(s|ing)? forward": "updated",
    r"mend(s|ed|ing)?": "fix",
    r"(stands?|stood|standing) (in|for|on|at|there|behind|before|beside|alone|first|inside)": "is",
    r"(lies|lay|lying|lain) (in|at|on|there|behind|beside|outside|inside|beneath|under|around)": "is",
    r"g[ai]v(e|es|en|ing) (it|them|this|that|claims|all)? ?back": "release, or return",
    r"found out|find(s|ing)? out": "detect, or learn",
    r"(is|are|was|were|be|being) told|tell(s|ing)? of|told (of|to)": "report, notify, or show",
    r"tell me (where|what|who)": "show",
    r"(hook|rule|file|word|text|line|claim|name|command|option)s? of (git|others|Dibs|another)":
        "a noun compound: git hooks, another agent's files",
    r"put(s|ting)? (\w+ )?right": "fix, or repair",
    r"tak(e|es|en|ing) (\w+ )?along": "include, or carry over",
    r"hang(s|ing)? on|hung on": "depends on",
    r"go(es)? by|went by": "follow, or use",
    r"by silence|stays? silent|falls? silent": "no heartbeat, or no reply",
    r"for ever\b": "forever",
    r"deaf (to|for)": "unaffected by",
    r"the place of the (state|store)": "where state is stored",
    r"(behavio|colo|hono|favo|neighbo)ur": "American spelling",
    r"licence|recognis\w+|initialis\w+|organis\w+|serialis\w+|normalis\w+": "American spelling",
    r"a set-up|the set-up|all the set-up|a start-up|the start-up": "setup, startup",
    r"beside (it|them|this|that|us|one|another)": "next to, or alongside",
    r"by a hand|a hand (wrote|made|moved|edited)|handmade": "manually, or a manual edit",
    r"desk(?!top)|shelf|furniture": "the standard term",
    r"not heard of|unheard of|heard of": "no heartbeat",
    r"an error of|a mistake of": "a noun compound",
    r"(its|his|their|one's) like\b": "similar ones",
    r"as was said|as is said|said of": "name the subject",
    r"to be had": "available",
    r"once for all|one for all": "once",
    r"of its own accord|by itself alone": "on its own, or only",
    r"memory was cut|cut memory": "context compaction",
    r"(who|what) (is|was) (gone|dead|late|held|changed|left|there|taken) (is|has|holds|may|can|gets)":
        "name the subject: 'a dead agent holds nothing'",
}  # fmt: skip
RULES = [
    (re.compile(rf"\b(?:{pattern})", re.IGNORECASE), advice) for pattern, advice in PATTERNS.items()
]


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield each piece of English in a file, with its line number."""
    text = path.read_text("utf-8")
    if path.suffix == ".md":
        yield from enumerate(text.splitlines(), 1)
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for offset, line in enumerate(node.value.splitlines()):
                yield node.lineno + offset, line
        elif isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield node.lineno, node.name.replace("_", " ")
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def findings(path: Path) -> Iterator[str]:
    """Yield one line for each match in a file."""
    name = path.relative_to(ROOT).as_posix()
    for number, text in texts(path):
        for rule, advice in RULES:
            if match := rule.search(text):
                yield f"{name}:{number}: '{match[0].strip()}': write {advice}"


def files(names: list[str]) -> Iterator[Path]:
    """Yield the Markdown and Python files under some paths."""
    for name in names:
        path = (ROOT / name).resolve()
        found = sorted(path.rglob("*")) if path.is_dir() else [path]
        for each in found:
            if each.suffix in {".md", ".py"} and each.relative_to(ROOT).as_posix() not in SKIPPED:
                yield each


def main(names: list[str]) -> int:
    """Print what was found; return 1 if there is anything."""
    count = 0
    for path in files(names or list(EVERYWHERE)):
        for line in findings(path):
            print(line)
            count += 1
    print(f"{count} findings" if count else "the wording is fine", file=sys.stderr)
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
